"""How long the client waits and how often it tries. Times are in seconds."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The defaults suit turns that take minutes or hours."""

    silence: float = 150.0  # without a byte: ten heartbeats were missed, the connection is dead whatever TCP says
    connect: float = 10.0
    first_pause: float = 0.25  # doubles, with jitter, so that a restart of the server is no stampede
    longest_pause: float = 15.0
    failures: int = 40  # tries in a row without a new frame, some ten minutes
    damaged: int = 3  # tries in a row that ended in a gap or in bytes nobody can read
    stops: int = 5  # tries to tell the server to stop, or what a person says
    recovery_pause: float = 5.0  # until an answer whose log is gone is looked for among the stored messages

    def back_off(self, attempt: int, chance: float) -> float:
        """The pause before try `attempt` (from 1). `chance` is from 0 to 1."""
        longest: float = min(self.longest_pause, self.first_pause * 2 ** (attempt - 1))
        return longest / 2 + longest / 2 * chance
