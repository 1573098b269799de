"""A run's job may be repeated in a further round, for some of its cases; findings that a maintainer accepted."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("jobs", schema=None) as batch_op:
        batch_op.add_column(sa.Column("round", sa.Integer(), nullable=False, server_default="0"))
        batch_op.add_column(sa.Column("only", sa.JSON(), nullable=False, server_default="[]"))
        batch_op.drop_constraint("uq_jobs_run_id_pool", type_="unique")
        batch_op.create_unique_constraint("uq_jobs_run_id_pool_round", ["run_id", "pool", "round"])
    op.create_table(
        "waivers",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("repository", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("codes", sa.JSON(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("by", sa.String(), nullable=False),
        sa.Column("own", sa.Boolean(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("until", sa.Double(), nullable=False),
        sa.Column("ended", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_waivers")),
    )
    with op.batch_alter_table("waivers", schema=None) as batch_op:
        batch_op.create_index("ix_waivers_repository_number", ["repository", "number"], unique=False)


def downgrade() -> None:
    with op.batch_alter_table("waivers", schema=None) as batch_op:
        batch_op.drop_index("ix_waivers_repository_number")
    op.drop_table("waivers")
    op.execute(sa.text("DELETE FROM results WHERE job_id IN (SELECT id FROM jobs WHERE round > 0)"))
    op.execute(sa.text("DELETE FROM attempts WHERE job_id IN (SELECT id FROM jobs WHERE round > 0)"))
    op.execute(sa.text("DELETE FROM jobs WHERE round > 0"))
    with op.batch_alter_table("jobs", schema=None) as batch_op:
        batch_op.drop_constraint("uq_jobs_run_id_pool_round", type_="unique")
        batch_op.create_unique_constraint("uq_jobs_run_id_pool", ["run_id", "pool"])
        batch_op.drop_column("only")
        batch_op.drop_column("round")
