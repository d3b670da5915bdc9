"""A turn of many words over a real server, with somebody watching and something happening in between."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from checkpoints.port import Order
from checkpoints.redis import RedisRunStore
from frames.hub import Hub
from frames.redis import RedisFrameSource
from protocol.turn import SliceResult
from providers.script import Script, parse_script
from records.records import Records
from records.values import Key, Span
from resp.address import Address
from resp.client import Client
from resp.connection import Bounds
from resp.push import PushConnection
from runner.parts import RunnerSettings
from runner.port import Job
from tests.forgetful import Reader
from tests.proxy import Proxy, proxied
from tests.rig import RUN_ID, Rig, StillClock
from tests.stores import until_available

WORDS = 40
SCRIPT = parse_script(
    '{"v":1,"name":"words","input":"Go."}\n'
    f'{{"events":[{{"type":"text","text":"again ","repeat":{WORDS}}},{{"type":"stop","reason":"end_turn"}}],"gap_ms":1}}'
)
KINDS = [
    "start", "data-run", "data-config", "start-step", "text-start", *["text-delta"] * WORDS, "text-end", "finish-step",
    "data-usage", "data-reply", "finish",
]  # fmt: skip

_PROMPT = Bounds(connect=10, command=1, silence=20)  # a server that does not answer is found out before the test ends

Happening = Callable[[], Awaitable[object]]


@dataclass
class Scene:
    """One turn. `at` holds what happens after which word."""

    proxy: Proxy
    client: Client
    hub: Hub
    rig: Rig
    script: Script = SCRIPT
    at: dict[int, Happening] = field(default_factory=dict)
    reader: Reader = field(default_factory=Reader)
    _word: int = 0

    async def pace(self, _: float) -> None:
        self._word += 1
        if self._word in self.at:
            await self.at.pop(self._word)()
        else:
            await asyncio.sleep(0)

    async def seen(self, words: int) -> None:
        """Until the reader has so many words."""
        while self.reader.kinds.count("text-delta") < words:
            await self.reader.came.wait()
            self.reader.came.clear()

    async def stored(self, frames: int) -> None:
        """Until the log has so many frames."""
        while True:
            view = await until_available(lambda: self.rig.store.view(RUN_ID))
            if view is not None and view.next >= frames:
                return

    async def attempt(self, number: int = 1) -> SliceResult:
        self._word = 0
        job = Job(run_id=RUN_ID, order=Order(1, 1, number), mode="workflow")
        return await self.rig.runner(self.script).run(job, asyncio.Event())

    async def last_attempt(self) -> SliceResult:
        """By somebody new, as soon as it may."""
        while True:
            result = await until_available(lambda: self.attempt(2))
            if result.outcome != "busy":
                return result

    async def watch(self) -> None:
        """Read from the first frame to the last."""
        viewer = await self.hub.attach(RUN_ID, 0)
        while not viewer.ended:
            self.reader.read(await viewer.next(60) or b"")
        viewer.close()

    async def check(self) -> list[str]:
        """LAW-P2; what kinds of frames the reader saw."""
        stored = await self.rig.records.messages(Key(owner="ada", conversation_id="talk"), Span())
        assert stored is not None
        assert [self.reader.message.parts] == [one.parts for one in stored if one.role == "assistant"]
        return self.reader.kinds


@asynccontextmanager
async def scene_at(address: Address, *, script: Script = SCRIPT) -> AsyncIterator[Scene]:
    """A run that has begun. Afterwards no task is left of it."""
    before = asyncio.all_tasks()
    async with proxied(address) as proxy, await Records.in_memory() as records:
        client, push = Client(proxy.address, bounds=_PROMPT), PushConnection(proxy.address, bounds=_PROMPT)
        store = RedisRunStore(client, push)
        rig = Rig(records=records, clock=StillClock(), store=store)
        rig.settings = RunnerSettings(lease_ms=500, renew_ms=20)
        hub = Hub(RedisFrameSource(client, push), round_seconds=0.5)  # five rounds without a log make readers leave
        scene = Scene(proxy, client, hub, rig, script)
        rig.pace = scene.pace
        await until_available(lambda: client.execute("PING"))
        await rig.begin(script.input)
        try:
            yield scene
        finally:
            await hub.close()
            await push.close()
            await client.close()
    assert asyncio.all_tasks() - before == set()
