"""What is to become of a run that nobody seems to execute: a function of what was seen of it.

a stop is recorded                       settle it here: somebody waits for the end
parked, and nothing is due               leave it: it waits without anybody, unless the workflow that was to wake up is closed
inline, or its workflow is closed        adopt it, as a workflow where the switch allows
its workflow is open                     leave it: queued, parked or between slices is no orphan (C7) …
 … and its executor died in mid-slice    Temporal tries again; adopt it here where it has not for a while
 … and it is overdue                     end it: nobody will come for it any more
the server does not say                  never claimed: adopt it, the claim makes one execution of two;
                                         claimed before: adopt it here after a while, the server may be back by then
"""

from dataclasses import dataclass
from enum import Enum

from checkpoints.port import RunView

EXECUTED = ("open", "running", "sealed")  # states in which somebody should be at work


class Verdict(Enum):
    """What follows. ADOPT goes where the switch says, ADOPT_HERE into this process, EXPIRE ends the run as timed out."""

    LEAVE = "leave"
    ADOPT = "adopt"
    ADOPT_HERE = "adopt_here"
    EXPIRE = "expire"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A run without a lease. `workflow_open` None: the server does not say. `waited`: so for longer than Temporal takes."""

    view: RunView
    workflow_open: bool | None
    due: bool  # parked, and an input is unread or the time to wait is over
    handed_over: bool  # its last slice ended in good order
    waited: bool
    overdue: bool
    switched_off: bool  # a new turn of its owner would not go to Temporal now


def judge(seen: Seen) -> Verdict:
    """What to do with it."""
    view = seen.view
    if view.stop:
        return Verdict.ADOPT_HERE
    if view.state == "parked":
        closed = view.mode == "workflow" and seen.workflow_open is False
        return Verdict.ADOPT if seen.due or closed else Verdict.LEAVE
    if view.mode == "inline":
        return Verdict.ADOPT if view.state in EXECUTED else Verdict.LEAVE
    if seen.workflow_open is False:
        return Verdict.ADOPT
    if view.state not in EXECUTED:
        return Verdict.LEAVE
    if seen.workflow_open is None and not view.mode:
        return Verdict.ADOPT
    return _judge_queued(seen)


def _judge_queued(seen: Seen) -> Verdict:
    """A durable run whose workflow is open, for all we know."""
    if not seen.waited:
        return Verdict.LEAVE
    if seen.overdue:
        return Verdict.EXPIRE
    queued = seen.handed_over if seen.view.mode else not seen.switched_off
    return Verdict.LEAVE if queued and seen.workflow_open else Verdict.ADOPT_HERE
