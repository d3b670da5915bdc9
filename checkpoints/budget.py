"""How much a run's log and inbox may hold, and how far ahead of it indices are reserved; the same for every store."""

from dataclasses import dataclass

MAX_LOG_BYTES = 32 * 1024 * 1024  # a day of dense tokens is about a tenth of it: beyond, a turn is running away
RESERVE_BYTES = 64 * 1024  # kept for seal and tail, so that the end of a run always fits (C13)

MAX_INPUTS = 200  # of a run's life: more than a person says to one answer, and a client in a loop ends here
MAX_INPUT_BYTES = 256 * 1024  # of all of them

# Some seconds of a fast model: so rarely does a stream of deltas wait for the disk. And after a failover so many void frames,
# 40 KB of them, are the most that a reader gets.
RESERVE_AHEAD = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Bytes of frames that one run's log may hold; the last `reserve_bytes` of them are for its end."""

    log_bytes: int = MAX_LOG_BYTES
    reserve_bytes: int = RESERVE_BYTES

    def room(self, size: int) -> int:
        """What `append` may still add to a log of this size."""
        return max(0, self.log_bytes - self.reserve_bytes - size)
