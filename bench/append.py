"""What an append costs: our store against redis-py on the same script, and against a bare XADD through redis-py.

    python -m bench.append [--appends 4000] [--runs 100]

Prints, from one server in one go, the round trip with one append in flight, appends per second and client CPU per append
with many runs at once. Only the ratios travel from one machine to another. The contenders take turns in short rounds, so
that a busy neighbour slows all of them.
"""

import argparse
import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import redis.asyncio as redis_py

from checkpoints.port import Append, Appended, Claimed, ClaimRequest, Grip, Order
from checkpoints.redis import WRITE, RedisRunStore
from resp.client import Client
from resp.keys import Keys
from resp.push import PushConnection
from tests.servers import Server, running_server

PAYLOAD = b'id: 17\nevent: text-delta\ndata: {"type":"text-delta","id":"t3","delta":" the next few words"}\n\n'
ROUNDS = 5

Write = Callable[[int, int], Awaitable[None]]  # run number, index


@dataclass
class Contender:
    """One way to append, and what was measured of it."""

    name: str
    write: Write
    next: list[int] = field(default_factory=list)
    alone: list[float] = field(default_factory=list)  # seconds
    rates: list[float] = field(default_factory=list)  # appends a second
    cpu: list[float] = field(default_factory=list)  # seconds an append

    async def one(self, run: int) -> None:
        await self.write(run, self.next[run])
        self.next[run] += 1

    async def one_in_flight(self, appends: int) -> None:
        for _ in range(appends):
            begun = time.perf_counter()
            await self.one(0)
            self.alone.append(time.perf_counter() - begun)

    async def many_runs(self, runs: int, appends: int) -> None:
        async def one_run(run: int) -> None:
            for _ in range(appends // runs):
                await self.one(run)

        cpu, begun = time.process_time(), time.perf_counter()
        await asyncio.gather(*[one_run(run) for run in range(runs)])
        self.rates.append(appends // runs * runs / (time.perf_counter() - begun))
        self.cpu.append((time.process_time() - cpu) / (appends // runs * runs))

    @property
    def figures(self) -> tuple[float, float, float, float]:
        """Round trip p50 and p99 in µs, appends a second, CPU of an append in µs."""
        cuts = statistics.quantiles(self.alone, n=100)
        return cuts[49] * 1e6, cuts[98] * 1e6, statistics.median(self.rates), statistics.median(self.cpu) * 1e6


async def grips(store: RedisRunStore, name: str, runs: int) -> list[Grip]:
    """Fresh runs, claimed."""
    claimed = []
    for number in range(runs):
        await store.open(f"{name}{number}", b"{}")
        request = ClaimRequest(order=Order(1, 0, 0), owner="bench", mode="inline", lease_ms=3_600_000)
        reply = await store.claim(f"{name}{number}", request)
        assert isinstance(reply, Claimed)
        claimed.append(reply.grip)
    return claimed


def ours(store: RedisRunStore, held: list[Grip]) -> Write:
    async def write(run: int, index: int) -> None:
        reply = await store.append(held[run], Append(start=index, count=1, payload=PAYLOAD))
        assert reply == Appended(index + 1, stop=False)

    return write


def same_script(other: "redis_py.Redis", keys: Keys, held: list[Grip]) -> Write:
    async def write(run: int, index: int) -> None:
        run_id, grip = held[run].run_id, f"{held[run].attempt}:{held[run].owner}"
        names = (keys.meta(run_id), keys.log(run_id))
        settings = (1 << 40, keys.live(run_id), 1)
        await other.evalsha(WRITE.sha, 2, *names, "append", grip, index, 1, PAYLOAD, *settings)

    return write


def bare(other: "redis_py.Redis") -> Write:
    async def write(run: int, index: int) -> None:
        await other.xadd(f"bare{run}", {"f": PAYLOAD}, id=f"{index + 1}-1")

    return write


async def measure(server: Server, appends: int, runs: int) -> list[Contender]:
    """Let the contenders take turns."""
    client, push, keys = Client(server.address), PushConnection(server.address), Keys()
    store = RedisRunStore(client, push, keys=keys)
    other = redis_py.Redis(unix_socket_path=server.address.path, max_connections=2 * runs)
    contenders = [
        Contender("bare XADD, redis-py", bare(other)),
        Contender("the script, redis-py", same_script(other, keys, await grips(store, "theirs", runs))),
        Contender("the script, ours", ours(store, await grips(store, "ours", runs))),
    ]
    try:
        await store.append(Grip("theirs0", 1, "bench"), Append(start=0))  # the server learns the script
        for contender in contenders:
            contender.next = [0] * runs
        for _ in range(ROUNDS):
            for contender in contenders:
                await contender.one_in_flight(appends // ROUNDS)
            for contender in contenders:
                await contender.many_runs(runs, 4 * appends // ROUNDS)
    finally:
        await other.aclose()
        await push.close()
        await client.close()
    return contenders


def report(contenders: list[Contender]) -> str:
    """A table: figures, and in brackets how many times those of the first line."""
    lines = [f"{'':22}{'p50 µs':>16}{'p99 µs':>16}{'appends/s':>18}{'client CPU µs':>18}"]
    base = contenders[0].figures
    for contender in contenders:
        cells = [f"{figure:.0f} ({figure / first:.2f}x)" for figure, first in zip(contender.figures, base, strict=True)]
        lines.append(f"{contender.name:22}{cells[0]:>16}{cells[1]:>16}{cells[2]:>18}{cells[3]:>18}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--appends", type=int, default=4000)
    parser.add_argument("--runs", type=int, default=100)
    arguments = parser.parse_args()
    with running_server("valkey", append_only=True) as server:
        print(report(asyncio.run(measure(server, arguments.appends, arguments.runs))))


if __name__ == "__main__":
    main()
