"""An executor's hold on its run: the grip it writes with, and how long that is known to be the newest (C14).

The lease is the store's. Whether it still runs is judged by our own clock, from before the renewal that succeeded last was sent:
an executor that was paused finds out by itself, before it acts, that another may have taken its place.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from checkpoints.port import Appended, Claimed, ClaimRequest, Grip, Refusal
from protocol.errors import LostClaim, StoreUnavailable
from runner.parts import Parts
from runner.patience import patiently
from runner.port import Job


class Hold:
    """A won claim. `claimed` is its newest answer; `since_ms` when it was asked for, on the monotonic clock."""

    def __init__(self, parts: Parts, job: Job, claimed: Claimed, *, since_ms: int) -> None:
        self.claimed = claimed
        self.restoring = False
        self._slept = False
        self._parts = parts
        self._job = job
        self._renewed_ms = since_ms
        self._tried_ms = since_ms

    @property
    def grip(self) -> Grip:
        return self.claimed.grip

    @property
    def past(self) -> bool:
        """Somebody else may have claimed: the lease, as far as we know, is over."""
        return self._parts.clock.monotonic_ms() - self._renewed_ms >= self._parts.settings.lease_ms

    @property
    def slept(self) -> bool:
        """For longer than the lease this process did not even try to renew, and no renewal has succeeded since."""
        return self._slept or self._parts.clock.monotonic_ms() - self._tried_ms > self._parts.settings.lease_ms

    @property
    def request(self) -> ClaimRequest:
        """The claim as it would be made again."""
        return ClaimRequest(
            order=self._job.order,
            owner=self.grip.owner,
            mode=self._job.mode,
            lease_ms=self._parts.settings.lease_ms,
        )

    async def renew(self) -> Appended | Refusal:
        """Renew the lease once. MISSING, too, where the run is just being put back. Raises StoreUnavailable."""
        begun = self._parts.clock.monotonic_ms()
        self._slept, self._tried_ms = self.slept, begun
        grip = self.grip
        reply = await self._parts.store.renew(grip, self._parts.settings.lease_ms)
        if reply is Refusal.FENCED and (self.restoring or grip is not self.grip):
            return Refusal.MISSING  # it is we who fenced that grip
        if isinstance(reply, Appended):
            self._renewed_ms, self._slept = begun, False
        return reply

    async def sure(self, mend: Callable[[], Awaitable[None]] | None = None) -> None:
        """Before an effect outside of the store: see that nobody else can have the run (C14).

        Returns at once while the lease runs. `mend` puts back a run that the store lost; without it such a run is lost.
        Raises LostClaim or StoreUnavailable.
        """
        while self.past:
            reply = await patiently(self._parts, self.renew)
            if reply is Refusal.MISSING and mend is not None:
                await mend()
            elif isinstance(reply, Refusal):
                raise LostClaim

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """Keep the lease while the block waits for records: nobody should come to settle what is being settled."""
        renewing = asyncio.create_task(self._keep())
        try:
            yield
        finally:
            renewing.cancel()

    async def _keep(self) -> None:
        while True:
            await asyncio.sleep(self._parts.settings.renew_ms / 1000)
            with suppress(StoreUnavailable):
                if isinstance(await self.renew(), Refusal):
                    return

    def restored(self, claimed: Claimed, *, since_ms: int) -> None:
        """The run was put back: a grip of its own, and a lease that began then."""
        self.claimed = claimed
        self._renewed_ms = self._tried_ms = since_ms
