"""Runs know whether their log has its end, not only whether their answer is stored.

A process may die between the two. What ended before this was looked after by nobody who could tell, and counts as finished.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the time at which a run was found to be finished, and let the index hold the runs that are not."""
    op.add_column("runs", sa.Column("finished_ms", sa.BigInteger))
    op.execute("UPDATE runs SET finished_ms = ended_ms")
    op.drop_index("runs_unfinished", "runs")
    unfinished = sa.text("finished_ms IS NULL")
    op.create_index("runs_unfinished", "runs", ["updated_ms"], sqlite_where=unfinished, postgresql_where=unfinished)
