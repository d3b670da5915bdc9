"""The ledger of model calls, what a message cost, and an order of runs for those who list them."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the two tables of the ledger; what is there costs nothing, as far as is known."""
    _spend()
    op.create_table(
        "spend_days",
        sa.Column("pipeline", sa.Text, primary_key=True),
        sa.Column("day", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("micro_usd", sa.BigInteger, nullable=False),
    )
    op.add_column("messages", sa.Column("cost_micro_usd", sa.BigInteger, nullable=False, server_default="0"))
    op.create_index("runs_by_time", "runs", ["tenant", "created_ms", "run_id"])


def _spend() -> None:
    op.create_table(
        "spend",
        sa.Column("run_id", sa.Text, primary_key=True),
        sa.Column("step", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("attempt", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("pipeline", sa.Text, nullable=False),
        sa.Column("day", sa.Integer, nullable=False),
        sa.Column("tenant", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("conversation_id", sa.Text, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("estimated", sa.Boolean, nullable=False),
        sa.Column("micro_usd", sa.BigInteger, nullable=False),
        sa.Column("input_tokens", sa.BigInteger, nullable=False),
        sa.Column("output_tokens", sa.BigInteger, nullable=False),
        sa.Column("cache_read_tokens", sa.BigInteger, nullable=False),
        sa.Column("cache_write_tokens", sa.BigInteger, nullable=False),
        sa.Column("created_ms", sa.BigInteger, nullable=False),
        sa.Column("settled_ms", sa.BigInteger),
    )
    op.create_index("spend_of_days", "spend", ["day", "pipeline"])
