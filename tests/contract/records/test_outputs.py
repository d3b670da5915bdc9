"""Whole outputs beside a conversation: the newest attempt's stays, a run has so many, and all go with the conversation."""

from dataclasses import replace

from sqlalchemy import Connection, delete

from records.outputs import RUN_BYTES
from records.records import Records
from records.schema import conversations
from records.values import KeptOutput
from tests.contract.records.values import turn

OUTPUT = KeptOutput(run_id="r1", call_id="c1.0", attempt=2, bytes=10, content=["\x00", {"a": None}], now_ms=2_000)


async def test_the_newest_attempts_output_stays(records: Records) -> None:
    await records.begin(turn("r1"))

    assert await records.keep_output(OUTPUT)
    assert await records.keep_output(replace(OUTPUT, content="again"))  # the same attempt, whose reply was lost
    assert not await records.keep_output(replace(OUTPUT, attempt=1, content="a zombie's"))
    assert await records.output("r1", "c1.0") == "again"
    assert await records.keep_output(replace(OUTPUT, attempt=3, content=0))
    assert await records.output("r1", "c1.0") == 0
    assert await records.output("r1", "c1.1") is None
    assert await records.output("r2", "c1.0") is None


async def test_a_run_keeps_so_many_bytes_and_no_more(records: Records) -> None:
    await records.begin(turn("r1"))

    assert await records.keep_output(replace(OUTPUT, bytes=RUN_BYTES - 5))
    assert not await records.keep_output(replace(OUTPUT, call_id="c1.1", bytes=6))
    assert await records.keep_output(replace(OUTPUT, call_id="c1.1", bytes=5))
    assert await records.keep_output(replace(OUTPUT, bytes=RUN_BYTES - 5))  # in its own place


async def test_nothing_is_kept_of_an_unknown_run(records: Records) -> None:
    assert not await records.keep_output(OUTPUT)


async def test_outputs_go_with_their_conversation(records: Records) -> None:
    def erase(connection: Connection) -> None:
        connection.execute(delete(conversations))

    await records.begin(turn("r1"))
    await records.keep_output(OUTPUT)
    await records._database.write(erase)  # as an operator does it

    assert await records.output("r1", "c1.0") is None
    assert not await records.keep_output(OUTPUT)
