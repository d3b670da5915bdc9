"""The first token: through a durable run, through the same API with the switch off, and straight from the provider.

From sending POST /api/chat to the line that says `text-delta`, on real processes: API, worker, Temporal, Valkey, SQLite. The
model is a scripted one that answers at once, so what is left is ours. The switch is off but for one owner, so durable and inline
turns take turns on one API process, and between them a bare workflow is started on the same server.
"""

import http.client
import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from uuid import uuid4

from temporalio.client import Client as TemporalClient

from bench.bare_temporal import bare_worker, start_to_activity
from bench.figures import percentile, spread
from bench.processes import Deployment, deploy, polling_worker, serving_api
from bench.report import Bound, Check, Row, Section, compared
from bench.runs import PATIENCE
from checkpoints.redis import RedisRunStore
from dispatch.redis import RedisSwitch
from dispatch.switch import Switch
from frames.tokens import KeyRing, Sessions
from protocol.model import ModelRequest, TextDelta
from providers.choose import SCRIPTED
from providers.script import parse_script
from providers.scripted import ScriptedProvider
from resp.address import Address
from resp.client import Client
from resp.keys import Keys
from resp.push import PushConnection
from tests.temporal import temporal_server
from workflows.connection import connect

ANSWER_SECONDS: Final = 30.0
FIRST_TOKEN: Final = b"event: text-delta\n"
QUESTION: Final = "What is a frame?"
MODEL: Final = f"{SCRIPTED}bench"
SCRIPT: Final = (
    json.dumps({"v": 1, "name": "bench", "input": QUESTION})
    + "\n"
    + json.dumps(
        {"events": [{"type": "text", "text": "A frame is one event of a run. " * 3, "words": True}, {"type": "stop"}]}
    )
)
REQUEST: Final = ModelRequest(
    model=MODEL,
    system="Answer.",
    messages=({"role": "user", "content": [{"type": "text", "text": QUESTION}]},),
    max_tokens=100,
    idle_seconds=10,
    call_seconds=10,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How much is measured."""

    rounds: int
    turns: int  # a round


@dataclass(slots=True)
class Times:
    """Milliseconds to the first token: of each round, and all of them."""

    rounds: list[list[float]] = field(default_factory=list)

    def add(self, milliseconds: float) -> None:
        self.rounds[-1].append(milliseconds)

    @property
    def p50(self) -> list[float]:
        return [percentile(one, 50) for one in self.rounds]

    @property
    def p99(self) -> list[float]:
        """Of all rounds together: one round has too few turns for it."""
        return [percentile([milliseconds for one in self.rounds for milliseconds in one], 99)]


class Owner:
    """One person's browser: a session, and where it connects to."""

    def __init__(self, deployment: Deployment, number: int) -> None:
        random = number.to_bytes(16)
        self.id = random.hex()
        self.run_ids: list[str] = []
        self._cookie = f"turnkeep_session={Sessions(KeyRing.of(deployment.secret)).mint(random)}"
        self._connection: http.client.HTTPConnection | None = None

    def connect(self, address: tuple[str, int]) -> None:
        self._connection = http.client.HTTPConnection(*address, timeout=ANSWER_SECONDS)

    def turn(self) -> float:
        """Have a turn in a conversation of its own, to its end; the milliseconds to its first token."""
        assert self._connection is not None
        run_id = str(uuid4())
        body = json.dumps({"message": QUESTION, "conversation_id": run_id, "run_id": run_id})
        headers = {"cookie": self._cookie, "content-type": "application/json"}
        # A new connection, outside of the time: the API gives up one that was silent while the others had their turn.
        self._connection.close()
        self._connection.connect()
        begun = time.perf_counter()
        self._connection.request("POST", "/api/chat", body, headers)
        answer = self._connection.getresponse()
        while answer.readline() not in (FIRST_TOKEN, b""):
            pass
        elapsed = (time.perf_counter() - begun) * 1e3
        rest = answer.read()
        assert b"data: [DONE]" in rest, (answer.status, rest)
        self.run_ids.append(run_id)
        return elapsed


async def measure(folder: Path, store: Address, effort: Effort) -> Section:
    """Let the ways take turns, one turn each."""
    client = Client(store, bounds=PATIENCE)
    with temporal_server(folder) as temporal, bare_worker(temporal.address):
        settings = {"CHAT_MODEL": MODEL, "TURNKEEP_SCRIPTS": _scripts(folder)}
        deployment = await deploy(folder, store, temporal=temporal.address, **settings)
        durably, inline = (Owner(deployment, number) for number in (1, 2))
        await RedisSwitch(client, Keys()).set(Switch(percent=0, allow=frozenset({durably.id})).to_text())
        with polling_worker(deployment), serving_api(deployment) as api:
            durably.connect(api.address)
            inline.connect(api.address)
            times = await _take_turns(durably, inline, await connect(temporal.address), effort)
    check = await _check(RedisRunStore(client, PushConnection(store, bounds=PATIENCE)), durably, inline)
    await client.close()
    return Section(title="First token", base="named in each row", rows=_rows(*times), checks=[check])


def _scripts(folder: Path) -> str:
    (folder / "scripts").mkdir()
    (folder / "scripts" / "bench.jsonl").write_text(SCRIPT)
    return str(folder / "scripts")


async def _take_turns(
    durably: Owner, inline: Owner, temporal: TemporalClient, effort: Effort
) -> tuple[Times, Times, Times, Times]:
    """Durable, inline, provider, bare Temporal."""
    script = parse_script(SCRIPT)
    times = (Times(), Times(), Times(), Times())
    for _ in range(effort.rounds + 1):
        for one in times:
            one.rounds.append([])
        for _ in range(effort.turns):
            times[0].add(durably.turn())
            times[1].add(inline.turn())
            times[2].add(await _from_provider(ScriptedProvider(script)))
            times[3].add(await start_to_activity(temporal))
    for one in times:
        del one.rounds[0]  # it warms everything up
    return times


async def _from_provider(provider: ScriptedProvider) -> float:
    begun = time.perf_counter()
    async for event in provider.stream(REQUEST):
        if isinstance(event, TextDelta):
            break
    return (time.perf_counter() - begun) * 1e3


async def _check(store: RedisRunStore, durably: Owner, inline: Owner) -> Check:
    """A start that took too long becomes an inline turn, and would flatter the figures."""
    modes = [
        [view.mode for run_id in owner.run_ids if (view := await store.view(run_id))] for owner in (durably, inline)
    ]
    found = [modes[0].count("workflow"), modes[1].count("inline")]
    return Check(
        name="every turn ran where it should",
        holds=found == [len(durably.run_ids), len(inline.run_ids)],
        detail=f"{found[0]} of {len(durably.run_ids)} durable, {found[1]} of {len(inline.run_ids)} inline",
    )


def _rows(durable: Times, inline: Times, bare: Times, start: Times) -> list[Row]:
    added = [one - other for one, other in zip(durable.p50, inline.p50, strict=True)]
    return [
        compared("durable p50, on inline", "ms", (durable.p50, inline.p50)),
        compared("durable p99, on inline", "ms", (durable.p99, inline.p99)),
        compared("inline p50, on the bare provider", "ms", (inline.p50, bare.p50)),
        compared("inline p99, on the bare provider", "ms", (inline.p99, bare.p99)),
        Row(name="bare Temporal, start to activity p50", unit="ms", ours=spread(start.p50)),
        Row(name="bare Temporal, start to activity p99", unit="ms", ours=spread(start.p99)),
        compared("durable less inline, p50, on bare Temporal", "ms", (added, start.p50), target=Bound(limit=1.5)),
    ]
