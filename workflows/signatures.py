"""The activities as the workflow knows them: names and types. The bodies are in `activities/`, which the workflow never imports.

A test compares the two. A released name or type never changes: a running workflow would call what is no longer there.
"""

from temporalio import activity

from protocol.turn import FailInput, SliceInput, SliceResult


@activity.defn
async def run_slice(order: SliceInput) -> SliceResult:
    """Drive the run for one slice.

    Fails for good, with an ErrorKind as the failure's type, where no other attempt can help.
    """
    raise NotImplementedError


@activity.defn
async def fail_turn(order: FailInput) -> SliceResult:
    """Give a run its end where no slice can: terminal frames, status, a free conversation."""
    raise NotImplementedError
