"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "approvals",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("repository", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("sha", sa.String(), nullable=False),
        sa.Column("by", sa.String(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_approvals")),
        sa.UniqueConstraint("repository", "number", "sha", name=op.f("uq_approvals_repository_number_sha")),
    )
    op.create_table(
        "checks",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("repository", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("sha", sa.String(), nullable=False),
        sa.Column("note", sa.String(), nullable=False),
        sa.Column("facts", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_checks")),
        sa.UniqueConstraint("repository", "sha", name=op.f("uq_checks_repository_sha")),
    )
    op.create_table(
        "deliveries",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("guid", sa.String(), nullable=False),
        sa.Column("headers", sa.JSON(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("received", sa.Double(), nullable=False),
        sa.Column("processed", sa.Double(), nullable=True),
        sa.Column("note", sa.String(), nullable=False),
        sa.Column("retry_at", sa.Double(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_deliveries")),
        sa.UniqueConstraint("guid", name=op.f("uq_deliveries_guid")),
    )
    with op.batch_alter_table("deliveries", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_deliveries_processed"), ["processed"], unique=False)

    op.create_table(
        "nodes",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("pool", sa.String(), nullable=False),
        sa.Column("repositories", sa.JSON(), nullable=False),
        sa.Column("key_hash", sa.String(), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("revoked", sa.Double(), nullable=True),
        sa.Column("distrusted_since", sa.Double(), nullable=True),
        sa.Column("seen", sa.Double(), nullable=True),
        sa.Column("outdated", sa.Boolean(), nullable=False),
        sa.Column("facts", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_nodes")),
        sa.UniqueConstraint("key_hash", name=op.f("uq_nodes_key_hash")),
        sa.UniqueConstraint("name", name=op.f("uq_nodes_name")),
    )
    with op.batch_alter_table("nodes", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_nodes_pool"), ["pool"], unique=False)

    op.create_table(
        "outbox",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("item", sa.String(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("repository", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("remote_id", sa.String(), nullable=False),
        sa.Column("wanted", sa.Integer(), nullable=False),
        sa.Column("posted", sa.Integer(), nullable=False),
        sa.Column("tried", sa.Boolean(), nullable=False),
        sa.Column("renewed", sa.Boolean(), nullable=False),
        sa.Column("sending_until", sa.Double(), nullable=False),
        sa.Column("posted_at", sa.Double(), nullable=True),
        sa.Column("retry_at", sa.Double(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("error", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_outbox")),
        sa.UniqueConstraint("item", "subject", name=op.f("uq_outbox_item_subject")),
    )
    op.create_table(
        "pulls",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("repository", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("author", sa.String(), nullable=False),
        sa.Column("open", sa.Boolean(), nullable=False),
        sa.Column("head", sa.String(), nullable=False),
        sa.Column("head_repository", sa.String(), nullable=False),
        sa.Column("base_ref", sa.String(), nullable=False),
        sa.Column("clone_url", sa.String(), nullable=False),
        sa.Column("private", sa.Boolean(), nullable=False),
        sa.Column("welcome", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pulls")),
        sa.UniqueConstraint("repository", "number", name=op.f("uq_pulls_repository_number")),
    )
    op.create_table(
        "runs",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("repository", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("head", sa.String(), nullable=False),
        sa.Column("gate", sa.Boolean(), nullable=False),
        sa.Column("gate_key", sa.String(), nullable=True),
        sa.Column("priority", sa.String(), nullable=False),
        sa.Column("new", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("started", sa.Double(), nullable=True),
        sa.Column("ended", sa.Double(), nullable=True),
        sa.Column("cancelled", sa.String(), nullable=False),
        sa.Column("verdict", sa.String(), nullable=False),
        sa.Column("report", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runs")),
        sa.UniqueConstraint("gate_key", name=op.f("uq_runs_gate_key")),
    )
    with op.batch_alter_table("runs", schema=None) as batch_op:
        batch_op.create_index("ix_runs_repository_head", ["repository", "head"], unique=False)
        batch_op.create_index("ix_runs_repository_number", ["repository", "number"], unique=False)
        batch_op.create_index(batch_op.f("ix_runs_state"), ["state"], unique=False)

    op.create_table(
        "asks",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("delivery_id", sa.Integer(), nullable=False),
        sa.Column("repository", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("comment_id", sa.Integer(), nullable=True),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("new", sa.JSON(), nullable=False),
        sa.Column("sender", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("settled", sa.Double(), nullable=True),
        sa.Column("reply", sa.String(), nullable=False),
        sa.Column("facts", sa.JSON(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=True),
        sa.Column("retry_at", sa.Double(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["delivery_id"], ["deliveries.id"], name=op.f("fk_asks_delivery_id")),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_asks_run_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_asks")),
        sa.UniqueConstraint("repository", "comment_id", "ordinal", name=op.f("uq_asks_repository_comment_id_ordinal")),
    )
    with op.batch_alter_table("asks", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_asks_run_id"), ["run_id"], unique=False)
        batch_op.create_index("ix_asks_state_id", ["state", "id"], unique=False)

    op.create_table(
        "jobs",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("repository", sa.String(), nullable=False),
        sa.Column("pool", sa.String(), nullable=False),
        sa.Column("priority", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("ending", sa.String(), nullable=False),
        sa.Column("created", sa.Double(), nullable=False),
        sa.Column("hinted", sa.Double(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("attempt_id", sa.String(), nullable=False),
        sa.Column("enumeration", sa.LargeBinary(), nullable=True),
        sa.Column("total", sa.Integer(), nullable=True),
        sa.Column("outcome", sa.LargeBinary(), nullable=True),
        sa.Column("ended", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_jobs_run_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
        sa.UniqueConstraint("run_id", "pool", name=op.f("uq_jobs_run_id_pool")),
    )
    with op.batch_alter_table("jobs", schema=None) as batch_op:
        batch_op.create_index("ix_jobs_state_pool", ["state", "pool"], unique=False)

    op.create_table(
        "attempts",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("job_id", sa.String(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("node_id", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("phase", sa.String(), nullable=False),
        sa.Column("telemetry", sa.JSON(), nullable=False),
        sa.Column("claimed", sa.Double(), nullable=False),
        sa.Column("lease", sa.Double(), nullable=False),
        sa.Column("ended", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_attempts_job_id")),
        sa.ForeignKeyConstraint(["node_id"], ["nodes.id"], name=op.f("fk_attempts_node_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_attempts")),
        sa.UniqueConstraint("job_id", "ordinal", name=op.f("uq_attempts_job_id_ordinal")),
    )
    with op.batch_alter_table("attempts", schema=None) as batch_op:
        batch_op.create_index("ix_attempts_state_lease", ["state", "lease"], unique=False)

    op.create_table(
        "results",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("job_id", sa.String(), nullable=False),
        sa.Column("attempt_id", sa.String(), nullable=False),
        sa.Column("case_id", sa.String(), nullable=False),
        sa.Column("tunables", sa.String(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("received", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["attempt_id"], ["attempts.id"], name=op.f("fk_results_attempt_id")),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_results_job_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_results")),
        sa.UniqueConstraint("job_id", "case_id", "tunables", name=op.f("uq_results_job_id_case_id_tunables")),
    )


def downgrade() -> None:
    op.drop_table("results")
    with op.batch_alter_table("attempts", schema=None) as batch_op:
        batch_op.drop_index("ix_attempts_state_lease")

    op.drop_table("attempts")
    with op.batch_alter_table("jobs", schema=None) as batch_op:
        batch_op.drop_index("ix_jobs_state_pool")

    op.drop_table("jobs")
    with op.batch_alter_table("asks", schema=None) as batch_op:
        batch_op.drop_index("ix_asks_state_id")
        batch_op.drop_index(batch_op.f("ix_asks_run_id"))

    op.drop_table("asks")
    with op.batch_alter_table("runs", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_runs_state"))
        batch_op.drop_index("ix_runs_repository_number")
        batch_op.drop_index("ix_runs_repository_head")

    op.drop_table("runs")
    op.drop_table("pulls")
    op.drop_table("outbox")
    with op.batch_alter_table("nodes", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_nodes_pool"))

    op.drop_table("nodes")
    with op.batch_alter_table("deliveries", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_deliveries_processed"))

    op.drop_table("deliveries")
    op.drop_table("checks")
    op.drop_table("approvals")
