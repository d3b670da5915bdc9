"""Every Redis key and channel there is, spelled once.

All of a run's keys carry the run in the hash tag: they lie in one slot, and one script may touch them all.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Keys:
    """The names of one deployment. `prefix` keeps deployments that share a server apart."""

    prefix: str = "turnkeep:"

    def meta(self, run_id: str) -> str:
        """Hash: state, claim, counters, stop, and the results of slices."""
        return f"{self.prefix}{{{run_id}}}:meta"

    def result(self, generation: int, slice_number: int) -> str:
        """Field of `meta`: what a slice returned."""
        return f"slice:{generation}:{slice_number}"

    def request(self, run_id: str) -> str:
        """String: the turn as the route prepared it."""
        return f"{self.prefix}{{{run_id}}}:request"

    def log(self, run_id: str) -> str:
        """Stream: the run's frames."""
        return f"{self.prefix}{{{run_id}}}:log"

    def deltas(self, run_id: str) -> str:
        """List: checkpoint deltas, oldest first."""
        return f"{self.prefix}{{{run_id}}}:deltas"

    def ledger(self, run_id: str) -> str:
        """Hash: "<step>.<ordinal>" → the newest entry of that tool call."""
        return f"{self.prefix}{{{run_id}}}:ledger"

    def seal(self, run_id: str) -> str:
        """String: how the run ends, written once."""
        return f"{self.prefix}{{{run_id}}}:seal"

    def inbox(self, run_id: str) -> str:
        """Hash: "<position>" → an input, and "id:<id>" → its position."""
        return f"{self.prefix}{{{run_id}}}:inbox"

    def of_run(self, run_id: str) -> tuple[str, ...]:
        """All that hold something of a run; its answer in the outbox is not among them."""
        names = (self.meta, self.request, self.log, self.deltas, self.ledger, self.seal, self.inbox)
        return tuple(name(run_id) for name in names)

    def live(self, run_id: str) -> str:
        """Channel: every append."""
        return f"{self.prefix}{{{run_id}}}:live"

    def stopped(self, run_id: str) -> str:
        """Channel: a stop was recorded (an empty message), or an input was put ("input")."""
        return f"{self.prefix}{{{run_id}}}:stop"

    @property
    def outbox(self) -> str:
        """Sorted set: the runs whose answers the records have not taken yet."""
        return f"{self.prefix}outbox"

    def unsettled(self, run_id: str) -> str:
        """String: the seal of such a run. It outlives the run's other keys."""
        return f"{self.prefix}{{{run_id}}}:unsettled"

    @property
    def switch(self) -> str:
        """String: where chat turns run."""
        return f"{self.prefix}workflow-dispatch:chat"

    def window(self, name: str) -> tuple[str, str]:
        """Strings: how often somebody asked in the window before and in this one, in one slot."""
        return f"{self.prefix}{{window:{name}}}:before", f"{self.prefix}{{window:{name}}}:now"
