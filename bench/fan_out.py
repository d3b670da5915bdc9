"""From an append to its readers: our API process against a bare hub, and thousands of readers on the one process.

Both serve the same number of readers at the same time, each from runs of its own, and the writer appends to the runs of one
and of the other in turns: the store, the writer and the readers are the same ones. Every reader checks every index.
"""

import asyncio
import os
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from bench.bare_hub import BareHub
from bench.counting import stamped
from bench.figures import percentile, spread
from bench.processes import Deployment, Usage, deploy, serving_api
from bench.readers import Connect, Readers, Seen
from bench.report import Bound, Check, Row, Section, compared
from bench.runs import PATIENCE, claimed_runs, finish_runs
from checkpoints.port import Append, Appended, Grip
from checkpoints.redis import RedisRunStore
from frames.tokens import KeyRing, ResumeClaims, ResumeTokens
from resp.address import Address
from resp.client import Client
from resp.keys import Keys
from resp.push import PushConnection

HEARTBEAT_MS: Final = 3_000  # so that a short run sees one from every reader
WARM_READERS: Final = 50
WARM_SECONDS: Final = 0.3  # at the beginning of a round, without a figure
ARRIVAL_SECONDS: Final = 10.0  # for the last frames of a round
TAIL: Final = b'event: finish\ndata: {"type":"finish","finishReason":"stop"}\n\n'
TOKEN_MS: Final = 3_600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """So many readers, each of a run of its own that gets `rate` frames a second."""

    readers: int
    rate: float

    def __str__(self) -> str:
        return f"{self.readers:,} readers, {self.rate:g} frames/s each"


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How much is measured."""

    loads: tuple[Load, ...]
    pairs: int
    seconds: float  # of a round


@dataclass(kw_only=True)
class Contender:
    """A hub with its readers' runs, and what each round found: microseconds."""

    name: str
    usage: Usage
    held: list[Grip]
    next: list[int]
    p50: list[float] = field(default_factory=list)
    p99: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    @property
    def written(self) -> int:
        return sum(self.next)


async def measure(folder: Path, address: Address, effort: Effort) -> list[Section]:
    """One section for each load."""
    client, push = Client(address, bounds=PATIENCE), PushConnection(address, bounds=PATIENCE)
    store = RedisRunStore(client, push)
    try:
        return [await _one_load(_folder(folder, load), address, store, load, effort) for load in effort.loads]
    finally:
        await push.close()
        await client.close()


def _folder(parent: Path, load: Load) -> Path:
    folder = parent / f"{load.readers}x{load.rate:g}"
    folder.mkdir()
    return folder


async def _one_load(folder: Path, address: Address, store: RedisRunStore, load: Load, effort: Effort) -> Section:
    deployment = await deploy(folder, address, TURNKEEP_COMMENT_MS=str(HEARTBEAT_MS))
    with serving_api(deployment) as api, closing(BareHub(address, Keys())) as bare, closing(Readers()) as readers:
        bench = _Bench(store=store, readers=readers, deployment=deployment)
        await bench.warm_up(api.address)
        ours = await bench.contender("ours", api.process.usage, load)
        base = await bench.contender("bare", bare.usage, load)
        memory = [await bench.attach(ours, api.address), await bench.attach(base, bare.address)]
        for pair in range(effort.pairs):
            for contender in (ours, base) if pair % 2 else (base, ours):
                await bench.round(contender, load.rate, effort.seconds)
        api.process.require_alive()
        await bench.finish(ours)
        return Section(
            title=f"From an append to its readers: {load}",
            base="a bare asyncio.Protocol hub",
            rows=_rows(ours, base, memory),
            checks=_checks(readers.seen(), ours, base),
            notes=[
                f"the readers took {max(bench.readers_share):.0%} of a core, the writer {max(bench.writer_share):.0%}"
            ],
        )


@dataclass(kw_only=True)
class _Bench:
    """What measures."""

    store: RedisRunStore
    readers: Readers
    deployment: Deployment
    readers_share: list[float] = field(default_factory=list)  # of a core, by round
    writer_share: list[float] = field(default_factory=list)

    async def warm_up(self, address: tuple[str, int]) -> None:
        """Have the API do once what it will be measured at, so that memory counts readers and not modules."""
        warm = await self.contender("warm", Usage(os.getpid()), Load(readers=WARM_READERS, rate=10))
        self.readers.connect(Connect(group="warm", address=address, requests=self._requests(warm)))
        await self._write(warm, 10, WARM_SECONDS)
        await self.finish(warm)

    async def contender(self, name: str, usage: Usage, load: Load) -> Contender:
        held = await claimed_runs(self.store, load.readers)
        return Contender(name=name, usage=usage, held=held, next=[0] * load.readers)

    async def attach(self, contender: Contender, address: tuple[str, int]) -> float:
        """Connect the readers and leave them alone for as long as a heartbeat takes; the KB that each of them costs."""
        before = contender.usage.resident_bytes
        bare = [f"GET /{grip.run_id} HTTP/1.1\r\n\r\n".encode() for grip in contender.held]
        requests = bare if contender.name == "bare" else self._requests(contender)
        self.readers.connect(Connect(group=contender.name, address=address, requests=requests))
        if contender.name == "ours":
            await self._until(
                lambda seen: seen.groups["ours"].heartened == len(contender.held), 3 * HEARTBEAT_MS / 1_000
            )
        return (contender.usage.resident_bytes - before) / len(contender.held) / 1_024

    async def round(self, contender: Contender, rate: float, seconds: float) -> None:
        """Append to every run at its rate; what it took until the readers had it."""
        self.readers.mark(time.monotonic_ns() + int(WARM_SECONDS * 1e9))
        cpu, begun, first = contender.usage.cpu_seconds, time.process_time(), contender.written
        await self._write(contender, rate, seconds)
        self.writer_share.append((time.process_time() - begun) / seconds)
        await self._arrived(contender)
        cpu = contender.usage.cpu_seconds - cpu
        seen = self.readers.seen()
        contender.p50.append(percentile(seen.delays.found, 50) / 1e3)
        contender.p99.append(percentile(seen.delays.found, 99) / 1e3)
        contender.cpu.append(cpu / (contender.written - first) * 1e6)
        self.readers_share.append(seen.cpu_seconds / seen.seconds)

    async def finish(self, contender: Contender) -> None:
        await finish_runs(self.store, list(zip(contender.held, contender.next, strict=True)), TAIL)
        contender.next = [end + 1 for end in contender.next]
        await self._arrived(contender)

    async def _arrived(self, contender: Contender) -> None:
        await self._until(lambda seen: seen.groups[contender.name].frames >= contender.written, ARRIVAL_SECONDS)

    async def _until(self, condition: Callable[[Seen], bool], seconds: float) -> None:
        """Wait, but not for ever: what is missing then is found by the checks."""
        give_up = time.monotonic() + seconds
        while not condition(self.readers.seen()) and time.monotonic() < give_up:  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.02)

    async def _write(self, contender: Contender, rate: float, seconds: float) -> None:
        runs = len(contender.held)
        due, total, begun = 0, int(runs * rate * seconds), time.monotonic()
        waiting: list[list[bytes]] = [[] for _ in range(runs)]
        async with asyncio.TaskGroup() as group:
            while due < total:
                while due < min(total, (time.monotonic() - begun) * runs * rate):
                    run, due = due % runs, due + 1
                    index, contender.next[run] = contender.next[run], contender.next[run] + 1
                    waiting[run].append(stamped(index, time.monotonic_ns()))
                    if len(waiting[run]) == 1:
                        group.create_task(self._send(contender.held[run], index, waiting[run]))
                await asyncio.sleep(0.001)

    async def _send(self, held: Grip, start: int, waiting: list[bytes]) -> None:
        """As a worker does it: one append of a run under way, and what comes meanwhile gathered for the next."""
        while waiting:
            append = Append(start=start, count=len(waiting), payload=b"".join(waiting))
            reply = await self.store.append(held, append)
            assert reply == Appended(start + append.count, stop=False)
            start += append.count
            del waiting[: append.count]

    def _requests(self, contender: Contender) -> list[bytes]:
        tokens = ResumeTokens(KeyRing.of(self.deployment.secret))
        expires = time.time_ns() // 1_000_000 + TOKEN_MS
        claims = partial(ResumeClaims, owner="0" * 32, sdk=7, rights=frozenset({"read"}), expires_ms=expires)
        return [_request(grip.run_id, tokens.mint(claims(run_id=grip.run_id))) for grip in contender.held]


def _request(run_id: str, token: str) -> bytes:
    target = f"/api/chat/stream?runId={run_id}&startIndex=0"
    return f"GET {target} HTTP/1.1\r\nHost: bench\r\nx-chat-resume-token: {token}\r\n\r\n".encode()


def _rows(ours: Contender, base: Contender, memory: list[float]) -> list[Row]:
    return [
        compared("p50", "µs", (ours.p50, base.p50), target=Bound(limit=2), later=Bound(limit=1.5)),
        compared("p99", "µs", (ours.p99, base.p99), target=Bound(limit=4), later=Bound(limit=3)),
        compared("API CPU a delivery", "µs", (ours.cpu, base.cpu), later=Bound(limit=2)),
        Row(
            name="memory of an idle reader",
            unit="KB",
            ours=spread(memory[:1]),
            base=spread(memory[1:]),
            target=Bound(limit=32, of="value"),
            later=Bound(limit=16, of="value"),
        ),
    ]


def _checks(seen: Seen, ours: Contender, base: Contender) -> list[Check]:
    found, bare = seen.groups["ours"], seen.groups["bare"]
    complete = found.frames == ours.written and not found.gaps and not found.duplicates
    return [
        Check(
            name="no gap, no duplicate",
            holds=complete,
            detail=f"{found.frames:,} of {ours.written:,} frames, {found.gaps} gaps, {found.duplicates} duplicates",
        ),
        Check(
            name="every stream got heartbeats and its end",
            holds=found.heartened == found.finished == found.streams and not found.cut,
            detail=f"{found.heartened:,} and {found.finished:,} of {found.streams:,}, {found.cut} cut",
        ),
        Check(
            name="the base line delivered everything, too",
            holds=bare.frames == base.written and not bare.gaps and not bare.duplicates,
            detail=f"{bare.frames:,} of {base.written:,} frames",
        ),
    ]
