"""Answers declined as too long are counted apart from outages; GitHub's comment ids have outgrown 32 bits."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("outbox", sa.Column("declined", sa.Integer(), nullable=False, server_default="0"))
    with op.batch_alter_table("asks", schema=None) as batch_op:
        batch_op.alter_column("comment_id", existing_type=sa.Integer(), type_=sa.BigInteger(), existing_nullable=True)


def downgrade() -> None:
    with op.batch_alter_table("asks", schema=None) as batch_op:
        batch_op.alter_column("comment_id", existing_type=sa.BigInteger(), type_=sa.Integer(), existing_nullable=True)
    with op.batch_alter_table("outbox", schema=None) as batch_op:
        batch_op.drop_column("declined")
