"""Conversations, their messages, and runs.

Written out, not derived from `records.schema`: a migration says what was done on that day, whatever the schema says later.
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the three tables."""
    _conversations()
    _messages()
    _runs()


def _conversations() -> None:
    op.create_table(
        "conversations",
        sa.Column("tenant", sa.Text, primary_key=True),
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("active_run_id", sa.Text),
        sa.Column("next_sequence", sa.Integer, nullable=False),
        sa.Column("created_ms", sa.BigInteger, nullable=False),
        sa.Column("updated_ms", sa.BigInteger, nullable=False),
        sa.Column("deleted_ms", sa.BigInteger),
    )
    op.create_index("conversations_of_owner", "conversations", ["tenant", "owner", "updated_ms"])


def _messages() -> None:
    op.create_table(
        "messages",
        sa.Column("tenant", sa.Text, primary_key=True),
        sa.Column("conversation_id", sa.Text, primary_key=True),
        sa.Column("sequence", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("parts", sa.Text, nullable=False),
        sa.Column("provider", sa.Text),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("outcome", sa.Text, nullable=False),
        sa.Column("usage", sa.Text, nullable=False),
        sa.Column("created_ms", sa.BigInteger, nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant", "conversation_id"], ["conversations.tenant", "conversations.id"], ondelete="CASCADE"
        ),
    )


def _runs() -> None:
    op.create_table(
        "runs",
        sa.Column("run_id", sa.Text, primary_key=True),
        sa.Column("tenant", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("conversation_id", sa.Text, nullable=False),
        sa.Column("assistant", sa.Text, nullable=False),
        sa.Column("user_message_id", sa.Text, nullable=False),
        sa.Column("message_id", sa.Text, nullable=False),
        sa.Column("sequence", sa.Integer, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("transport", sa.Text, nullable=False),
        sa.Column("memory", sa.Boolean, nullable=False),
        sa.Column("created_ms", sa.BigInteger, nullable=False),
        sa.Column("updated_ms", sa.BigInteger, nullable=False),
        sa.Column("ended_ms", sa.BigInteger),
    )
    unfinished = sa.text("ended_ms IS NULL")
    op.create_index("runs_unfinished", "runs", ["updated_ms"], sqlite_where=unfinished, postgresql_where=unfinished)
