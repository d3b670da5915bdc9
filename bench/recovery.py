"""How long a reader hears nothing when something dies, and how soon a stop reaches the model. Real processes on this machine.

    python -m bench.recovery [--kills N] [--turns N] [--only NAME]… [--json FILE]

The model is behind the wire of the Messages API and says a word every 20 ms for as long as it is listened to, so a turn has no
boundary to go on from: the worst case. Milliseconds; percentiles over all turns that were hit. A silence ends with the first
frame of the next attempt (`data-recovering`, then `reset-step`), which withdraws what was said before.
"""

import argparse
import asyncio
import os
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from uuid import uuid4

import httpx2
from temporalio.client import Client as Temporal

from app.settings import Settings
from app.stack.output import Output
from app.stack.parts.own import worker
from app.stack.reclaim import reclaiming
from app.stack.supervisor import Supervisor
from bench.figures import percentile, spread
from bench.processes import deploy, serving_api
from bench.report import Bound, Check, Row, Section, as_json, as_text
from tests.gateway import Gateway
from tests.servers import Server, running_server
from tests.stack.reading import FrameReader, asking
from tests.stack.screen import Screen
from tests.temporal import temporal_server
from workflows.connection import connect

NAMES: Final = ("kill", "terminate", "heartbeat", "stop", "redis")
PATIENCE: Final = 60.0
WORDS: Final = 10  # said before anything dies


@dataclass(slots=True)
class Turn:
    """A reader and what came when: seconds of the monotonic clock and the frame's type."""

    reader: FrameReader
    seen: list[tuple[float, str]] = field(default_factory=list)
    frames: list[bytes] = field(default_factory=list)
    more: asyncio.Condition = field(default_factory=asyncio.Condition)

    @property
    def run_id(self) -> str:
        return self.reader.response.headers["x-chat-run-id"]

    async def read(self) -> None:
        async for frame in self.reader:
            kind = frame.partition(b"event: ")[2].partition(b"\n")[0].decode()
            async with self.more:
                self.frames.append(frame)
                self.seen.append((time.monotonic(), kind))
                self.more.notify_all()

    async def until(self, kind: str, times: int = 1) -> int:
        """Wait until it came so often. Its place among all that came."""

        def places() -> list[int]:
            return [at for at, (_, seen) in enumerate(self.seen) if seen == kind]

        async with self.more, asyncio.timeout(PATIENCE):
            await self.more.wait_for(lambda: len(places()) >= times)
        return places()[times - 1]


@dataclass(kw_only=True)
class House:
    """The deployment under test."""

    client: httpx2.AsyncClient
    temporal: Temporal
    gateway: Gateway
    valkey: Server
    screen: Screen

    @asynccontextmanager
    async def talking(self, turns: int) -> AsyncIterator[list[Turn]]:
        """So many turns in the middle of their text; stopped at the end."""
        async with AsyncExitStack() as stack, asyncio.TaskGroup() as group:
            begun = [
                Turn(await stack.enter_async_context(asking(self.client, "Talk.", conversation_id=str(uuid4()))))
                for _ in range(turns)
            ]
            for turn in begun:
                group.create_task(turn.read())
            for turn in begun:
                await turn.until("text-delta", WORDS)
            yield begun
            for turn in begun:
                await self.stop(turn)
                await turn.until("finish")

    async def stop(self, turn: Turn) -> None:
        answer = await self.client.post(f"/api/chat/{turn.reader.handle}/stop")
        assert answer.status_code < 300, answer.text

    async def executing(self, turn: Turn) -> int:
        """The process that runs it."""
        description = await self.temporal.get_workflow_handle(turn.run_id).describe()
        return int(description.raw_description.pending_activities[0].last_worker_identity.split("@")[0])

    async def hit(self, turns: list[Turn], number: signal.Signals) -> tuple[float, list[Turn]]:
        """Send the signal to the worker of the first of them. When, and whose turns it had."""
        victims = [await self.executing(turn) for turn in turns]
        ready = self.screen.getvalue().count("is ready")
        at = time.monotonic()
        os.kill(victims[0], number)
        struck = [turn for turn, victim in zip(turns, victims, strict=True) if victim == victims[0]]
        self._expected = ready + 1
        return at, struck

    async def whole_again(self) -> None:
        """Wait until there are as many workers as before."""
        await self.screen.shows("is ready", self._expected)


async def silences(house: House, turns: int, number: signal.Signals) -> list[float]:
    """Milliseconds without a frame, of each turn that the signal's victim had."""
    async with house.talking(turns) as talking:
        at, struck = await house.hit(talking, number)
        found = []
        for turn in struck:
            place = await turn.until("data-recovering")
            # A worker that was asked to leave goes on for a while: its reader's silence begins with its last frame.
            since = at if number is signal.SIGKILL else turn.seen[place - 1][0]
            found.append((turn.seen[place][0] - since) * 1e3)
    await house.whole_again()
    return found


async def stops(house: House, _: int, calls: "list[int]") -> list[float]:
    """Milliseconds from sending the stop until the model's side sees that nobody listens."""
    async with house.talking(1) as (turn,):
        call = await house.gateway.call(calls[0] + 1)
        at = time.monotonic()
        await house.stop(turn)
        await call.left.wait()
        return [(time.monotonic() - at) * 1e3]


async def outage(house: House, turns: int) -> tuple[list[float], bool]:
    """Kill the store and start it again on its file: the longest silence of each turn, and whether nothing is missing."""
    async with house.talking(turns) as talking:
        said = [len(turn.seen) for turn in talking]
        await asyncio.to_thread(house.valkey.kill)
        await asyncio.to_thread(house.valkey.start)
        for turn, words in zip(talking, said, strict=True):
            await turn.until("text-delta", words + 100)
    gaps = [max(b - a for (a, _), (b, _) in zip(turn.seen, turn.seen[1:], strict=False)) * 1e3 for turn in talking]
    dense = all([int(f.split()[1]) for f in turn.frames] == list(range(len(turn.frames))) for turn in talking)
    return gaps, dense and all(turn.reader.done for turn in talking)


@asynccontextmanager
async def house(folder: Path, *, supervised: bool) -> AsyncIterator[House]:
    """Store, Temporal, two workers, API and the model, all of their own. Not supervised: nobody gives anything back."""
    with running_server("valkey", append_only=True) as valkey, temporal_server(folder) as temporal:
        async with Gateway() as gateway:
            model = {
                "CHAT_MODEL": "claude-opus-4-8",
                "ANTHROPIC_API_KEY": "none",
                "TURNKEEP_ANTHROPIC_URL": gateway.url,
            }
            deployment = await deploy(folder, valkey.address, temporal=temporal.address, **model)
            environment, screen = dict(deployment.environment), Screen()
            async with reclaiming(Settings.read(environment)) as reclaim:
                give_back = reclaim.give_back if supervised else None
                parts = [worker(n, environment=environment, inherited=(), give_back=give_back) for n in (1, 2)]
                supervisor = Supervisor([parts], output=Output(screen), grace_seconds=10)
                try:
                    await supervisor.start()
                    with serving_api(deployment) as api:
                        url, limits = f"http://127.0.0.1:{api.address[1]}", httpx2.Limits(max_connections=None)
                        async with httpx2.AsyncClient(base_url=url, timeout=PATIENCE, limits=limits) as client:
                            await client.get("/api/conversations")
                            server = await connect(temporal.address)
                            yield House(client=client, temporal=server, gateway=gateway, valkey=valkey, screen=screen)
                finally:
                    supervisor.kill()
                    await supervisor.stop()


async def measure(folder: Path, only: Sequence[str], kills: int, turns: int) -> Section:
    """All of it, one after the other."""
    section = Section(title="Recovery", base="none")
    async with house(folder / "supervised", supervised=True) as one:
        if "kill" in only:
            found = await _repeated(kills, lambda: silences(one, turns, signal.SIGKILL))
            section.rows += _rows("worker killed: silence", found, p50=600, p99=1_500)
        if "terminate" in only:
            found = await _repeated(max(kills // 4, 2), lambda: silences(one, turns, signal.SIGTERM))
            section.rows += _rows("worker asked to leave: silence", found, p50=300)
    async with house(folder / "alone", supervised=False) as one:
        if "stop" in only:
            done = [0]

            async def stop() -> list[float]:
                taken = await stops(one, 1, done)
                done[0] += 1
                return taken

            section.rows += _rows("stop: model call cancelled", await _repeated(kills, stop), p50=100)
        if "heartbeat" in only:
            found = await _repeated(max(kills // 10, 2), lambda: silences(one, turns, signal.SIGKILL))
            section.rows += _rows("worker and supervisor killed: silence", found, p99=6_000)
        if "redis" in only:
            gaps, whole = await outage(one, turns)
            section.rows += _rows("store killed and started again: silence", gaps)
            section.checks.append(Check(name="no frame lost with the store", holds=whole, detail=f"{len(gaps)} turns"))
    return section


async def _repeated(times: int, once: Callable[[], Awaitable[list[float]]]) -> list[float]:
    return [value for _ in range(times) for value in await once()]


def _rows(name: str, values: list[float], *, p50: float | None = None, p99: float | None = None) -> list[Row]:
    bounds = {50: p50, 99: p99}
    return [
        Row(
            name=f"{name}, p{percent} of {len(values)}",
            unit="ms",
            ours=spread([percentile(values, percent)]),
            target=None if bound is None else Bound(limit=bound, of="value"),
        )
        for percent, bound in bounds.items()
    ]


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.recovery", description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--kills", type=int, default=40, help="of workers (40); of the rest as many as there is time for"
    )
    parser.add_argument("--turns", type=int, default=4, help="turns at a time (4)")
    parser.add_argument("--only", action="append", choices=NAMES, metavar="NAME", help=f"one of {', '.join(NAMES)}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to this file, too")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="recovery-") as folder:
        for name in ("supervised", "alone"):
            (Path(folder) / name).mkdir()
        section = asyncio.run(measure(Path(folder), arguments.only or NAMES, arguments.kills, arguments.turns))
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n{as_text([section])}")
    if arguments.json:
        arguments.json.write_text(as_json([section], {}) + "\n")
    return 0 if all(check.holds for check in section.checks) else 1


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # the interpreter's own way out crashes now and then after a Temporal client ran in it
