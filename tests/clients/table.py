"""The matrix as the table of docs/clients.md: what was seen, nothing that was meant.

`make clients` drives every client and writes the table into the page. The tests that drive them compare
their client's line with the page's, so that it can say neither more nor less than the last run.
"""

import asyncio
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.clients.driving import Driven, driven
from tests.clients.matrix import CLIENTS, COLUMNS, Client
from tests.clients.node import NodeClient
from tests.clients.service import service
from tests.servers import running_server

PAGE = Path(__file__).parents[2] / "docs/clients.md"


def line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


HEAD = line(["client", "packages", *COLUMNS])


def row(client: Client, answers: Driven) -> str:
    """A client's line. A tick: cut three times, and the stored message at the end. A dash: it has no words for that turn."""
    cells = [("✓" if answers.passed(turn) else "✗") if turn in answers.held else "-" for turn in COLUMNS]
    return line([client.name, ", ".join(_versions(client)) or "this repository's", *cells])


def rows() -> list[str]:
    """The page's lines."""
    _, _, table = PAGE.read_text().partition(f"{HEAD}\n")
    return table.partition("\n\n")[0].splitlines()[1:]


async def record() -> None:
    """Drive every client and write what was seen into the page."""
    table = [HEAD, line(["---"] * (len(COLUMNS) + 2))]
    with TemporaryDirectory(prefix="clients-") as folder, running_server("valkey", append_only=True) as valkey:
        async with service(Path(folder), valkey) as url:
            table += [row(client, await driven(url, client, client.turns)) for client in CLIENTS]
    before, _, rest = PAGE.read_text().partition(HEAD)
    after = rest.partition("\n\n")[2]
    PAGE.write_text(before + "\n".join([*table, "", after]))


def _versions(client: Client) -> list[str]:
    installed = client.drive.version if isinstance(client.drive, NodeClient) else version
    return [f"{package} {installed(package)}" for package in client.packages]


if __name__ == "__main__":
    asyncio.run(record())
