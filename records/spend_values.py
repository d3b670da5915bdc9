"""What the ledger of model calls is told, and what it tells. Money is in millionths of a US dollar."""

from dataclasses import dataclass, field
from typing import Literal

from protocol.model import Usage
from records.values import DAY_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class CallKey:
    """One model call: the executor's attempt asks the model of a step once, or more often where it tries again."""

    run_id: str
    step: int
    attempt: int
    number: int  # grows with each call of the attempt


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """What a model call may cost at most. Only calls of the same pipeline share a budget (REQ-Q4)."""

    key: CallKey
    model: str
    usage: Usage
    micro_usd: int
    now_ms: int
    pipeline: str = "chat"

    @property
    def day(self) -> int:
        """The day it counts for, also where it is settled on the next one: days since the epoch, in UTC."""
        return self.now_ms // DAY_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """What became of a reserved call. Released: it never happened, or is not billed."""

    usage: Usage = field(default_factory=Usage)
    micro_usd: int = 0
    estimated: bool = False  # the provider did not say
    released: bool = False


Admission = Literal["reserved", "over_budget", "ended"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpendTotal:
    """What the calls of one model in one pipeline come to, open reservations included. Released calls are not counted."""

    pipeline: str
    model: str
    calls: int
    open: int
    estimated: int
    micro_usd: int
    usage: Usage
