"""The turns these tests begin and end."""

from protocol.json import JsonObject
from protocol.model import Usage
from records.records import Records
from records.spend_values import CallKey, Reservation
from records.values import Key, Run, Settlement, TurnBegin

ANA = Key(owner="ana", conversation_id="c1")
BEN = Key(owner="ben", conversation_id="c1")
USAGE = Usage(input_tokens=7, output_tokens=2)


def said(text: str) -> tuple[JsonObject, ...]:
    return ({"type": "text", "text": text},)


def turn(run_id: str, key: Key = ANA, *, create: bool = True, now_ms: int = 1_000) -> TurnBegin:
    return TurnBegin(
        key=key,
        run_id=run_id,
        assistant="demo",
        user_message_id=f"ask-{run_id}",
        message_id=f"msg-{run_id}",
        parts=said(f"question of {run_id}"),
        now_ms=now_ms,
        create_if_missing=create,
    )


def run_of(begun: TurnBegin, sequence: int) -> Run:
    """The row that `begun` leaves."""
    return Run(
        run_id=begun.run_id,
        tenant=begun.key.tenant,
        owner=begun.key.owner,
        conversation_id=begun.key.conversation_id,
        assistant=begun.assistant,
        user_message_id=begun.user_message_id,
        message_id=begun.message_id,
        sequence=sequence,
        status="accepted",
        kind="",
        transport="",
        memory=False,
        created_ms=begun.now_ms,
        updated_ms=begun.now_ms,
        ended_ms=None,
    )


def completed(run_id: str, *, now_ms: int = 2_000) -> Settlement:
    return Settlement(
        status="completed",
        parts=said(f"answer of {run_id}"),
        provider=({"role": "assistant", "content": [{"type": "text", "text": f"answer of {run_id}"}]},),
        model="stub",
        usage=USAGE,
        now_ms=now_ms,
    )


def spending(run_id: str, *, attempt: int = 1, number: int = 1, micro_usd: int = 100) -> Reservation:
    """A model call of the run's first step."""
    key = CallKey(run_id=run_id, step=1, attempt=attempt, number=number)
    return Reservation(
        key=key, model="m", usage=Usage(input_tokens=9, output_tokens=9), micro_usd=micro_usd, now_ms=1_000
    )


async def delete(records: Records, key: Key) -> None:
    assert await records.delete(key, 1_500) is not None


async def erase(records: Records, key: Key) -> None:
    await delete(records, key)
    await records.erase(key, 1_600)
