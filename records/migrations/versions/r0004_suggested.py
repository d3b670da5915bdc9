"""Messages keep the prompts that were suggested after them, where those came too late for the run's log."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; what is there was followed by none."""
    op.add_column("messages", sa.Column("suggested", sa.Text))
