"""Starts workflows and knows, by the breaker, whether it is worth trying."""

from dispatch.breaker import Breaker
from dispatch.temporal import Started, Workflows
from protocol.clock import Clock
from protocol.turn import ChatTurnInput


class Starter:
    """The durable path of one process."""

    def __init__(self, workflows: Workflows, clock: Clock) -> None:
        self._workflows = workflows
        self._clock = clock
        self._breaker = Breaker()

    @property
    def breaker_open(self) -> bool:
        """Whether turns run inline because Temporal does not answer."""
        return self._breaker.open

    async def probe(self) -> None:
        """Ask the server once and tell the breaker."""
        answered = await self._workflows.probe()
        self._breaker = self._breaker.probed() if answered else self._breaker.failed(self._clock.monotonic_ms())

    async def start(self, turn: ChatTurnInput) -> Started:
        """Start the run's workflow or join it, and tell the breaker."""
        started = await self._workflows.start(turn)
        if started is Started.UNKNOWN:
            self._breaker = self._breaker.failed(self._clock.monotonic_ms())
        else:
            self._breaker = self._breaker.started()
        return started
