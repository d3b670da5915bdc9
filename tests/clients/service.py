"""The API as a process of its own, with scripted turns, over a Valkey of the test's. Turns run inline: no Temporal is there."""

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2

from records.migrate import upgrade
from tests.clients.turns import write_turns
from tests.deployment import ROOT, SECRETS, leashed
from tests.servers import Server

SECONDS = 30


class Browser:
    """A session. `cookie` is what a client of others' sends along."""

    def __init__(self, client: httpx2.AsyncClient) -> None:
        self.client = client

    @property
    def cookie(self) -> str:
        return f"turnkeep_session={self.client.cookies['turnkeep_session']}"

    async def stored(self, conversation: str) -> list[dict[str, Any]]:
        """The conversation's messages as clients hold them."""
        answer = await self.client.get(f"/api/conversations/{conversation}/messages")
        assert answer.status_code == 200, answer.text
        return [{name: one[name] for name in ("id", "role", "parts")} for one in answer.json()["messages"]]


@asynccontextmanager
async def service(folder: Path, valkey: Server, go_on: int | None = None, /, **settings: str) -> AsyncIterator[str]:
    """The address of a running API, with its state in the folder. `go_on` is the end of the pipe that lets the held turn go on."""
    turns = folder / "turns"
    turns.mkdir()
    write_turns(turns)
    database = f"sqlite:///{folder}/records.sqlite3"
    await upgrade(database)
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listener:
        environment = {
            "PATH": os.defpath,
            "HOME": str(folder),
            "TURNKEEP_STATE_DIR": str(folder),
            "TURNKEEP_DATABASE_URL": database,
            "TURNKEEP_REDIS_URL": f"unix://{valkey.address.path}",
            "TURNKEEP_REDIS_PREFIX": folder.name[:32],
            "TURNKEEP_SCRIPTS": str(turns),
            "CHAT_MODEL": "demo",
            "CHAT_DISPATCH": "off",
            **SECRETS,
            **settings,
        }
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        passed = [listener.fileno(), *([] if go_on is None else [go_on])]
        command = leashed(sys.executable, "-m", "tests.clients.process", *map(str, passed))
        with (folder / "api.log").open("w") as log:
            process = subprocess.Popen(command, cwd=ROOT, env=environment, pass_fds=passed, stdout=log, stderr=log)
    try:
        # The socket listens already: a request waits until the process takes it.
        yield url
    finally:
        process.terminate()
        await asyncio.to_thread(process.wait, SECONDS)


@asynccontextmanager
async def browser(url: str) -> AsyncIterator[Browser]:
    """A browser with a session of its own."""
    async with httpx2.AsyncClient(base_url=url, timeout=SECONDS) as client:
        await client.get("/api/conversations")
        yield Browser(client)
