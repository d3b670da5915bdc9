"""The matrix as the table of docs/clients.md: `python -m tests.clients.table` prints it, and a test compares the two."""

import sys

from tests.clients.matrix import CLIENTS, REVISIONS, TURNS


def table() -> str:
    """One row a client, one column a turn. A tick is a test that ran: three cuts, and the stored message at the end."""
    columns = (*TURNS, *REVISIONS)
    head = ["client", "version", *columns]
    rows = [
        [client.name, client.version, *("✓" if turn in client.turns else "–" for turn in columns)] for client in CLIENTS
    ]
    return "\n".join(_line(cells) for cells in [head, ["---"] * len(head), *rows])


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.stdout.write(f"{table()}\n")
