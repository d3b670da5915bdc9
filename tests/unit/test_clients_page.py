"""docs/clients.md says what the matrix runs."""

from pathlib import Path

from tests.clients.table import table

ROOT = Path(__file__).parents[2]


def test_the_table_of_clients_is_the_matrix() -> None:
    assert table() in (ROOT / "docs/clients.md").read_text()
