"""Write the histories that later builds must still replay: `python -m tests.workflow.record`. Existing files are never touched.

A new case is added here and recorded; a released file is never edited. What names the machine is taken out.
"""

import asyncio
import sys
import tempfile
from pathlib import Path
from typing import Final
from uuid import UUID

from protocol.errors import StoreUnavailable, TurnkeepError
from protocol.turn import ChatTurnInput, SliceResult
from records.records import Records
from tests.rig import Rig
from tests.temporal import temporal_server
from tests.workflow.durable import Answering, start, working
from workflows.chat_turn import ChatTurn
from workflows.connection import connect

HISTORIES: Final = Path(__file__).parents[1] / "golden" / "histories"
HANDED_OVER: Final = SliceResult(outcome="handed_over", reason="budget")
BUSY: Final = SliceResult(outcome="busy", wait_ms=1)
ENDED: Final = SliceResult(outcome="ended", status="completed")

CASES: Final[dict[str, list[SliceResult | Exception]]] = {
    "one_slice": [ENDED],
    "three_slices": [HANDED_OVER, HANDED_OVER, ENDED],
    "busy_then_ended": [BUSY, BUSY, ENDED],
    "retried": [StoreUnavailable(), ENDED],
    "exhausted": [HANDED_OVER, SliceResult(outcome="exhausted")],
    "failed_for_good": [TurnkeepError("not_configured", "")],
    "continued_as_new": [HANDED_OVER, BUSY],
    "parked": [SliceResult(outcome="parked", wait_ms=1), HANDED_OVER],
}


async def record(address: str, number: int, name: str) -> str:
    """The history of one case as JSON."""
    client = await connect(address)
    run_id = str(UUID(int=number))
    runner = Answering(answers=[*CASES[name], ENDED])
    async with await Records.in_memory() as records, working(client, run_id, Rig(records=records), runner):
        handle = await start(client, ChatTurnInput(run_id=run_id, max_slices=2 if name == "continued_as_new" else 200))
        if name == "busy_then_ended":
            await handle.signal(ChatTurn.input)
        await handle.result()
    first = client.get_workflow_handle(run_id, run_id=handle.first_execution_run_id)
    return (await first.fetch_history()).to_json().replace(client.identity, "worker")


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder, temporal_server(Path(folder)) as server:
        for number, name in enumerate(CASES):
            target = HISTORIES / f"{name}.json"
            if not target.exists():
                target.write_text(await record(server.address, number, name) + "\n")
                sys.stdout.write(f"{target.name}\n")


if __name__ == "__main__":
    asyncio.run(main())
