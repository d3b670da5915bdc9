"""A turn may stand in the place of an earlier one."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add which run supersedes a message, and which run another one replaces."""
    op.add_column("messages", sa.Column("superseded_by", sa.Text))
    op.add_column("runs", sa.Column("replaces", sa.Text))
