"""Turns of a real API through a real nginx with the deployment's configuration, read by curl."""

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from tests.clients.service import browser, service
from tests.clients.turns import GAP_MS, LONG, question
from tests.nginx import front
from tests.servers import Server

pytestmark = [pytest.mark.long, pytest.mark.timeout(90)]

# Both settings of the place turned round, and the header not heeded. Without compression nginx would pass on what comes in
# chunks, as our answers do, however it buffers.
GATHERED = {
    "proxy_buffering off;": "proxy_buffering on; proxy_ignore_headers X-Accel-Buffering;",
    "gzip off;": "gzip on; gzip_types text/event-stream;",
}
SPOKEN = len(LONG.split(" "))  # pieces of text, each said after a gap
# A tenth of the deployment's comments to its timeout, as there; the tool is silent for longer than both.
IMPATIENT = {"proxy_read_timeout 150s;": "proxy_read_timeout 2s;"}


@dataclass(frozen=True, slots=True)
class Arrived:
    """What curl printed, with the seconds at which it did, and how it ended: 0 is well."""

    lines: list[tuple[float, str]]
    code: int

    @property
    def pieces(self) -> int:
        """In how many lots the text came: what came within half a gap is one."""
        at = [seconds for seconds, line in self.lines if line == "event: text-delta"]
        return 1 + sum(later - earlier > GAP_MS / 2_000 for earlier, later in pairwise(at))


async def curl(url: str, name: str) -> Arrived:
    """Ask for a turn with `curl --no-buffer`, as a browser does: it takes compressed answers."""
    asked = ("--data", json.dumps({"message": question(name)}), "--compressed")
    process = await asyncio.create_subprocess_exec(
        "curl", "--no-buffer", "--silent", f"{url}/api/chat", *asked, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    lines = [(time.monotonic(), line.decode().rstrip("\n")) async for line in process.stdout]
    return Arrived(lines, await process.wait())


async def through_nginx(
    folder: Path, valkey: Server, name: str, changes: Mapping[str, str], **settings: str
) -> Arrived:
    # Not before the API answers: an impatient proxy would not wait for it to start.
    async with service(folder, valkey, **settings) as url, browser(url):
        with front(folder, url.removeprefix("http://"), changes=changes) as proxy:
            return await curl(proxy.url, name)


async def test_frames_arrive_one_by_one(tmp_path: Path, valkey: Server) -> None:
    """REQ-Y12 FR57: at least half of them alone, on a machine that may be busy."""
    arrived = await through_nginx(tmp_path, valkey, "text", {})

    assert (arrived.lines[-2][1], arrived.code) == ("data: [DONE]", 0)
    assert arrived.pieces > SPOKEN / 2


async def test_with_buffering_forced_on_they_arrive_in_lumps(tmp_path: Path, valkey: Server) -> None:
    """FR57: the test above can fail."""
    arrived = await through_nginx(tmp_path, valkey, "text", GATHERED)

    assert (arrived.lines[-2][1], arrived.code) == ("data: [DONE]", 0)
    assert arrived.pieces < SPOKEN / 4


async def test_a_tool_may_be_silent_for_longer_than_the_proxy_waits(tmp_path: Path, valkey: Server) -> None:
    """FR56 REQ-B21"""
    arrived = await through_nginx(tmp_path, valkey, "silent", IMPATIENT, TURNKEEP_COMMENT_MS="200")

    assert (arrived.lines[-2][1], arrived.code) == ("data: [DONE]", 0)
    assert [line for _, line in arrived.lines].count(": hb") >= 10


async def test_without_comments_the_proxy_cuts_the_line(tmp_path: Path, valkey: Server) -> None:
    """FR56: the test above can fail."""
    arrived = await through_nginx(tmp_path, valkey, "silent", IMPATIENT, TURNKEEP_COMMENT_MS="60000")

    lines = [line for _, line in arrived.lines]
    assert ("event: tool-input-available" in lines, "event: finish" in lines) == (True, False)
