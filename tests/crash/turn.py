"""One turn as its user sees it: asked once, read by two, perhaps stopped."""

import asyncio
import random
import uuid
from dataclasses import dataclass, field
from typing import Any

import httpx2

from api.callers import COOKIE
from frames.tokens import KeyRing, Sessions
from tests.crash.cases import Case
from tests.crash.hearing import Held
from tests.crash.reader import PAUSE_SECONDS, Reader
from tests.crash.world import World


@dataclass(kw_only=True)
class Turn:
    """A turn of a case. `readers` saw all of it at the end: the one that asked, and one that came by handle."""

    case: Case
    world: World
    client: httpx2.AsyncClient
    chance: random.Random
    held: Held | None = None
    planned: bool = True  # whether it is held at its case's place, and its passes are written down
    stopped: str | None = None  # what the stop was answered, where one was asked for
    known: int = 0  # how long its log was when something died
    wrong: list[str] = field(default_factory=list)  # what was seen to go wrong meanwhile
    readers: list[Reader] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.run_id = str(uuid.UUID(bytes=self.chance.randbytes(16), version=4))
        self.conversation_id = f"c{self.chance.getrandbits(64):x}"
        self.owner = self.chance.randbytes(16)
        ring = KeyRing([self.world.secret.encode()])
        self.cookie = f"{COOKIE}={Sessions(ring).mint(self.owner)}"
        self.readers = [self.reader(), self.reader()]
        if self.planned:
            self.world.plans.write(self.run_id, self.case.place)

    def reader(self) -> Reader:
        """Another one of the same owner."""
        chance = random.Random(self.chance.getrandbits(64))
        return Reader(client=self.client, addresses=self.world.addresses, chance=chance, cookie=self.cookie)

    @property
    def lost(self) -> bool:
        """Whether nothing is left of it: it was a memory run, and its process died."""
        return not self.readers[0].ended and (self.readers[0].memory or self.readers[0].gone)

    async def read(self) -> None:
        """Ask, and read to the end, twice at once."""
        first, second = self.readers
        reading = asyncio.create_task(first.ask_and_read(self._body(self.case.turn, self.run_id)))
        try:
            await first.wait_for_handle()
            if first.handle:
                second.handle = first.handle
                await second.read()
            await reading
        finally:
            reading.cancel()

    async def go_on(self, turn: str) -> Reader:
        """Ask the conversation something else, and read the answer."""
        reader = self.reader()
        run_id = self.run_id[:-12] + f"{self.chance.getrandbits(48):012x}"
        await reader.ask_and_read(self._body(turn, run_id))
        return reader

    def _body(self, turn: str, run_id: str) -> dict[str, str]:
        return {"message": turn, "assistant": turn, "conversation_id": self.conversation_id, "run_id": run_id}

    async def stand(self, reading: "asyncio.Task[None]") -> None:
        """Wait until the turn stands at its place, or has gone past it to its end."""
        standing = asyncio.create_task(self.world.held(self.run_id))
        try:
            await asyncio.wait((standing, reading), return_when=asyncio.FIRST_COMPLETED)
        finally:
            if standing.done():
                self.held = standing.result()
            standing.cancel()

    def let_go(self) -> None:
        if self.held is not None:
            self.held.line.close()

    async def stop(self) -> None:
        """Stop it, asking until the stop is recorded."""
        while True:
            reply = await self.request("POST", f"/api/chat/{self.run_id}/stop")
            if reply["success"]:
                self.stopped = reply["status"]
                return

    async def request(self, method: str, path: str) -> dict[str, Any]:
        """A JSON request to any API process, repeated until one answers it."""
        while True:
            address = self.world.addresses[self.chance.choice(sorted(self.world.addresses))]
            try:
                response = await self.client.request(method, address + path, headers={"cookie": self.cookie})
            except httpx2.TransportError:
                pass
            else:
                if response.status_code == httpx2.codes.OK:
                    value: dict[str, Any] = response.json()
                    return value
            await asyncio.sleep(PAUSE_SECONDS)

    def silence(self, since: float) -> float | None:
        """Seconds from then to the first frame that anybody saw and that was not in the log by then."""
        first = [reader.times[self.known] for reader in self.readers if len(reader.times) > self.known]
        return max(0.0, min(first) - since) if first else None
