"""Files that messages attach, and conversations that know when nothing is left of them but their row.

A conversation that was deleted before this is erased like any other, and its row stays from then on.
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the times of a deletion's two ends, the index of what is still to be erased, and the tables of files."""
    op.add_column("conversations", sa.Column("forgotten_ms", sa.BigInteger))
    op.add_column("conversations", sa.Column("erased_ms", sa.BigInteger))
    due = sa.text("deleted_ms IS NOT NULL AND erased_ms IS NULL")
    op.create_index("conversations_to_erase", "conversations", ["deleted_ms"], sqlite_where=due, postgresql_where=due)
    op.create_table(
        "files",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("tenant", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("media_type", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("size", sa.Integer, nullable=False),
        sa.Column("touched_ms", sa.BigInteger, nullable=False),
    )
    op.create_index("files_of_owner", "files", ["tenant", "owner"])
    op.create_index("files_by_age", "files", ["touched_ms"])
    op.create_table(
        "file_content",
        sa.Column("file_id", sa.Text, sa.ForeignKey("files.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("content", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "file_uses",
        sa.Column("tenant", sa.Text, primary_key=True),
        sa.Column("conversation_id", sa.Text, primary_key=True),
        sa.Column("file_id", sa.Text, sa.ForeignKey("files.id", ondelete="CASCADE"), primary_key=True),
    )
    op.create_index("file_uses_of_file", "file_uses", ["file_id"])
