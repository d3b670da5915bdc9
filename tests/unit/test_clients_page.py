"""docs/clients.md has a line for each client of the matrix, and no other. What the lines say is compared where the clients run."""

from tests.clients.matrix import CLIENTS
from tests.clients.table import rows


def test_the_page_of_clients_has_the_rows_of_the_matrix() -> None:
    assert [row.split(" | ")[0].removeprefix("| ") for row in rows()] == [client.name for client in CLIENTS]
