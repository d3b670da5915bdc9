"""Keeping the whole of a tool's output where a frame holds only its beginning.

Before the frame that refers to it, so that no reader follows a reference to nothing. The turn does not wait long for that: it can do
without, and then says that only the beginning is there.
"""

import asyncio

from protocol.errors import TurnkeepError
from protocol.json import Json
from records.values import KeptOutput
from runner.hold import Hold
from runner.parts import Parts

OUTPUT_BYTES = 8 * 1024 * 1024  # of one output; a larger one is a file, and belongs where files are
KEEP_SECONDS = 5.0


async def keep(parts: Parts, hold: Hold, call_id: str, output: Json, size: int) -> bool:
    """Whether the output is kept whole now. Never raises but CancelledError."""
    run_id = hold.grip.run_id
    if size > OUTPUT_BYTES:
        return False
    kept = KeptOutput(
        run_id=run_id,
        call_id=call_id,
        attempt=hold.grip.attempt,
        bytes=size,
        content=output,
        now_ms=parts.clock.now_ms(),
    )
    try:
        async with asyncio.timeout(KEEP_SECONDS):
            return await parts.records.keep_output(kept)
    except (TurnkeepError, TimeoutError):
        parts.observer.trouble(run_id, "a large output could not be kept, only its beginning is shown")
        return False
