"""What an append costs: our store against redis-py, by hand (a bare XADD) and on the same script, and against a raw socket.

Alone: one append in flight. Together: many runs at once, each as fast as it can. Paced: a hundred runs at the speed of
models, which is what a worker does.
"""

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import hiredis
import redis.asyncio as redis_py

from bench.figures import percentile
from bench.report import Bound, Row, Section, compared
from bench.runs import PATIENCE, claimed_runs
from checkpoints.port import Append, Appended, Grip
from checkpoints.redis import WRITE, RedisRunStore
from resp.address import Address
from resp.client import Client
from resp.keys import Keys
from resp.push import PushConnection

PAYLOAD = b'id: 17\nevent: text-delta\ndata: {"type":"text-delta","id":"t3","delta":" the next few words"}\n\n'
RUNS = 100
PACED_RATE = 50.0  # frames a second of one run

Write = Callable[[int, int], Awaitable[None]]  # number of the run, index


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How much is measured."""

    rounds: int
    alone: int  # appends a round
    together: int
    paced_seconds: float


@dataclass(kw_only=True)
class Contender:
    """One way to append, and what each round found: microseconds, and appends a second."""

    write: Write
    next: list[int] = field(default_factory=lambda: [0] * RUNS)
    alone_p50: list[float] = field(default_factory=list)
    alone_p99: list[float] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)
    paced_cpu: list[float] = field(default_factory=list)
    paced_p50: list[float] = field(default_factory=list)
    paced_p99: list[float] = field(default_factory=list)

    async def one(self, run: int) -> float:
        """Append one frame to a run; the microseconds until it was acknowledged."""
        index, self.next[run] = self.next[run], self.next[run] + 1
        begun = time.perf_counter()
        await self.write(run, index)
        return (time.perf_counter() - begun) * 1e6

    async def alone(self, appends: int) -> None:
        taken = [await self.one(0) for _ in range(appends)]
        self.alone_p50.append(percentile(taken, 50))
        self.alone_p99.append(percentile(taken, 99))

    async def together(self, appends: int) -> None:
        async def one_run(run: int) -> None:
            for _ in range(appends // RUNS):
                await self.one(run)

        begun = time.perf_counter()
        await asyncio.gather(*[one_run(run) for run in range(RUNS)])
        self.rates.append(appends // RUNS * RUNS / (time.perf_counter() - begun))

    async def paced(self, seconds: float) -> None:
        """Every run gets a frame at its time and appends one after the other; the time counts from when it was handed in.

        The pacing's own CPU is in the figure, for all alike.
        """
        taken: list[float] = []
        waiting: list[list[float]] = [[] for _ in range(RUNS)]  # when each run's frames were handed in

        async def empty(run: int) -> None:
            while waiting[run]:
                await self.one(run)
                taken.append((time.perf_counter() - waiting[run].pop(0)) * 1e6)

        cpu, begun = time.process_time(), time.perf_counter()
        due, total = 0, int(seconds * RUNS * PACED_RATE)
        async with asyncio.TaskGroup() as group:
            while due < total:
                while due < min(total, (time.perf_counter() - begun) * RUNS * PACED_RATE):
                    run, due = due % RUNS, due + 1
                    waiting[run].append(time.perf_counter())
                    if len(waiting[run]) == 1:
                        group.create_task(empty(run))
                await asyncio.sleep(0.001)
        self.paced_cpu.append((time.process_time() - cpu) / total * 1e6)
        self.paced_p50.append(percentile(taken, 50))
        self.paced_p99.append(percentile(taken, 99))


async def measure(address: Address, effort: Effort) -> Section:
    """Let the contenders take turns."""
    client, push, keys = Client(address, bounds=PATIENCE), PushConnection(address, bounds=PATIENCE), Keys("append:")
    store = RedisRunStore(client, push, keys=keys)
    other = redis_py.Redis(unix_socket_path=address.path, max_connections=2 * RUNS)
    try:
        with _raw_socket(address) as raw:
            await client.execute("SCRIPT", "LOAD", WRITE.source)
            floor = Contender(write=_bare_by_hand(raw))
            floor_script = Contender(write=_script_by_hand(raw, keys, await claimed_runs(store, 1)))
            bare = Contender(write=_bare(other))
            script = Contender(write=_same_script(other, keys, await claimed_runs(store, RUNS)))
            ours = Contender(write=_ours(store, await claimed_runs(store, RUNS)))
            for _ in range(effort.rounds):
                for contender in (floor, floor_script, bare, script, ours):
                    await contender.alone(effort.alone)
                for contender in (bare, script, ours):
                    await contender.together(effort.together)
                for contender in (script, ours):
                    await contender.paced(effort.paced_seconds)
    finally:
        await other.aclose()
        await push.close()
        await client.close()
    return Section(
        title="Append", base="redis-py", rows=[*_rows(bare, script, ours), *_floor_rows(floor, floor_script, ours)]
    )


def _rows(bare: Contender, script: Contender, ours: Contender) -> list[Row]:
    at_least_as_many = Bound(limit=1, at_least=True)
    return [
        compared("alone: round trip p50, on its XADD", "µs", (ours.alone_p50, bare.alone_p50), target=Bound(limit=2)),
        compared("alone: round trip p99, on its XADD", "µs", (ours.alone_p99, bare.alone_p99)),
        compared("alone: round trip p50, on the same script", "µs", (ours.alone_p50, script.alone_p50)),
        compared("together: appends, on its XADD", "1/s", (ours.rates, bare.rates), target=at_least_as_many),
        compared("together: appends, on the same script", "1/s", (ours.rates, script.rates), target=at_least_as_many),
        compared("paced: worker CPU an append", "µs", (ours.paced_cpu, script.paced_cpu), later=Bound(limit=0.35)),
        compared("paced: acknowledged after, p50", "µs", (ours.paced_p50, script.paced_p50)),
        compared("paced: acknowledged after, p99", "µs", (ours.paced_p99, script.paced_p99)),
    ]


def _floor_rows(floor: Contender, floor_script: Contender, ours: Contender) -> list[Row]:
    script = (floor_script.alone_p50, floor.alone_p50)
    return [
        compared("the script on a raw socket, on XADD there, p50", "µs", script, later=Bound(limit=1.6)),
        compared("alone: round trip p50, on a raw socket's XADD", "µs", (ours.alone_p50, floor.alone_p50)),
    ]


def _ours(store: RedisRunStore, held: list[Grip]) -> Write:
    async def write(run: int, index: int) -> None:
        reply = await store.append(held[run], Append(start=index, count=1, payload=PAYLOAD))
        assert reply == Appended(index + 1, stop=False)

    return write


def _same_script(other: "redis_py.Redis", keys: Keys, held: list[Grip]) -> Write:
    async def write(run: int, index: int) -> None:
        await other.evalsha(WRITE.sha, 2, *_arguments(keys, held[run], index))

    return write


def _bare(other: "redis_py.Redis") -> Write:
    async def write(run: int, index: int) -> None:
        await other.xadd(f"bare{run}", {"f": PAYLOAD}, id=f"{index + 1}-1")

    return write


def _script_by_hand(raw: socket.socket, keys: Keys, held: list[Grip]) -> Write:
    async def write(run: int, index: int) -> None:
        _call(raw, "EVALSHA", WRITE.sha, "2", *_arguments(keys, held[run], index))

    return write


def _bare_by_hand(raw: socket.socket) -> Write:
    """The floor: blocking calls, no loop, no client."""

    async def write(run: int, index: int) -> None:
        _call(raw, "XADD", f"floor{run}", f"{index + 1}-1", "f", PAYLOAD)

    return write


def _arguments(keys: Keys, held: Grip, index: int) -> tuple[str | bytes, ...]:
    """Of `write.lua`, as the store gives them."""
    names = (keys.meta(held.run_id), keys.log(held.run_id))
    grip = f"{held.attempt}:{held.owner}"
    return (*names, "append", grip, str(index), "1", PAYLOAD, str(1 << 40), keys.live(held.run_id), "1")


def _call(raw: socket.socket, *command: str | bytes) -> None:
    raw.sendall(hiredis.pack_command(command))  # type: ignore[arg-type] # its stub allows tuples of one only
    reply = raw.recv(4_096)
    assert reply[:1] in (b"$", b"*"), reply


def _raw_socket(address: Address) -> socket.socket:
    raw = socket.socket(socket.AF_UNIX)
    raw.connect(address.path)
    return raw
