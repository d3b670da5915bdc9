"""When a slice ends. Only at a closed boundary: the next step has begun in the log and the model was not asked."""

from dataclasses import dataclass
from typing import Literal

from protocol.checkpoint import TurnState

Reason = Literal["budget", "draining"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceBudget:
    """What one invocation may use. `slice_ms` None: it never hands over by itself (inline)."""

    slice_ms: int | None
    max_checkpoint_bytes: int = 700_000  # past it the rest of the turn stays where it is (REQ-D5)


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceUse:
    """What it has used. `steps` counts those it closed."""

    steps: int
    elapsed_ms: int
    checkpoint_bytes: int


def hand_over(budget: SliceBudget, use: SliceUse, state: TurnState, *, draining: bool) -> Reason | None:
    """Why the slice hands over at this boundary, or None to go on."""
    if state.phase != "open":
        return None
    if draining:
        return "draining"  # the process is going away: whatever the size, somebody else has to go on
    if budget.slice_ms is None or use.elapsed_ms < budget.slice_ms:
        return None
    if use.steps == 0:
        return None  # a slice that did nothing would hand over for ever
    return "budget" if use.checkpoint_bytes <= budget.max_checkpoint_bytes else None
