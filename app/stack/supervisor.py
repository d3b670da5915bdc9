"""Keeps parts alive: starts them in order, starts again what dies, stops them in reverse order.

Stages are started one after the other, each only once all parts of the one before serve (C20). A part that cannot be
started at all ends the start; a part that dies later is started again, sooner or later depending on how long it had lived.
The others go on meanwhile: every part finds the ones it needs again by itself.
"""

import asyncio
import signal
from collections.abc import Callable, Sequence

from app.stack.output import OURSELVES, Output
from app.stack.part import Child, Part, PartFailed, start

_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
_STEADY_SECONDS = 10.0  # who lived this long died of something else than its start
_LAST_CHANCE_SECONDS = 2.0  # for a part whose turn to stop comes after the grace period is used up

Stages = Sequence[Sequence[Part]]


def _nothing() -> None:
    pass


class Supervisor:
    """Runs the stages of parts until it is told to stop. A part that dies soon after each start waits `longest_pause` at most."""

    def __init__(
        self, stages: Stages, *, output: Output, grace_seconds: float, longest_pause: float = _LONGEST_PAUSE
    ) -> None:
        self._stages = stages
        self._output = output
        self._grace = grace_seconds
        self._longest_pause = longest_pause
        self._children: dict[str, Child] = {}
        self._keepers: list[asyncio.Task[None]] = []
        self._giving: set[asyncio.Task[None]] = set()  # of what dead children held
        self._stopping = asyncio.Event()

    async def run(self, *, ready: Callable[[], None] = _nothing, leaving: Callable[[], None] = _nothing) -> None:
        """Start all parts, call `ready`, keep them alive until SIGINT or SIGTERM, call `leaving`, stop them.

        A second signal ends all of them at once.

        Raises:
            PartFailed: where one does not come up. Nothing is left running.
        """
        told = self._stop_signals()
        starting = asyncio.create_task(self.start())
        try:
            await asyncio.wait({starting, told}, return_when=asyncio.FIRST_COMPLETED)
            if starting.done():
                await starting
                ready()
                await told
            starting.cancel()
            self._output.say(OURSELVES, "stopping")
        finally:
            leaving()
            await self.stop()

    async def start(self) -> None:
        """Start all parts.

        Raises:
            PartFailed: where one does not come up. What was started before it still runs: call `stop`.
        """
        for stage in self._stages:
            await asyncio.gather(*(self._bring_up(part) for part in stage))
            self._keepers += [asyncio.create_task(self._keep(part)) for part in stage]

    async def stop(self) -> None:
        """Stop all parts, the last started first."""
        self._stopping.set()
        clock = asyncio.get_running_loop().time
        deadline = clock() + self._grace
        for stage in reversed(self._stages):
            children = [self._children[part.name] for part in stage if part.name in self._children]
            seconds = max(deadline - clock(), _LAST_CHANCE_SECONDS)
            await asyncio.gather(*(child.stop(seconds) for child in children))
        await asyncio.gather(*self._keepers, *self._giving)

    def kill(self) -> None:
        """End everything at once."""
        self._stopping.set()
        for child in self._children.values():
            child.kill()

    def _stop_signals(self) -> asyncio.Future[None]:
        """Resolved by the first signal."""
        loop = asyncio.get_running_loop()
        told: asyncio.Future[None] = loop.create_future()

        def tell() -> None:
            if told.done():
                self.kill()
            else:
                told.set_result(None)

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if number is not signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:  # ignored: under nohup
                loop.add_signal_handler(number, tell)
        return told

    async def _bring_up(self, part: Part) -> None:
        if self._stopping.is_set():
            return
        child = self._children[part.name] = await start(part, self._output)
        self._give_back_of(child)
        if self._stopping.is_set():  # told while it was being started: `stop` did not know of it
            child.kill()
            return
        await child.ready()
        self._output.say(OURSELVES, f"{part.name} is ready")

    def _give_back_of(self, child: Child) -> None:
        """Beside everything else: neither its successor nor our end waits for what a child held, except to have it done."""
        giving = asyncio.create_task(child.give_back())
        self._giving.add(giving)
        giving.add_done_callback(self._giving.discard)

    async def _keep(self, part: Part) -> None:
        clock = asyncio.get_running_loop().time
        pause = 0.0
        while True:
            since = clock()
            how = await self._children[part.name].ended()
            if self._stopping.is_set():
                return
            steady = clock() - since > _STEADY_SECONDS
            pause = _FIRST_PAUSE if steady or not pause else min(pause * 2, self._longest_pause)
            self._output.say(OURSELVES, f"{part.name} {how}; starting it again in {pause:.1f} s")
            await self._pause(pause)
            await self._try_again(part)

    async def _try_again(self, part: Part) -> None:
        try:
            await self._bring_up(part)
        except (PartFailed, OSError) as failure:
            self._output.say(OURSELVES, str(failure))
            self._children[part.name].kill()

    async def _pause(self, seconds: float) -> None:
        """Wait, unless we are told to stop."""
        try:
            await asyncio.wait_for(self._stopping.wait(), seconds)
        except TimeoutError:
            return
