"""The ledger's laws, on every database: what is reserved fits, what is charged counts once, nothing stays open (FR62, FR63)."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from protocol.model import Usage
from records.records import Records
from records.spend_values import CallKey, Charge, Reservation, SpendTotal
from records.values import DAY_MS, Settlement, Span
from tests.contract.records import processes
from tests.contract.records.values import ANA, completed, spending, turn

BUDGET = 300
ACTUAL = Charge(usage=Usage(input_tokens=5, output_tokens=2), micro_usd=40)
ENDED = Settlement(status="interrupted", kind="interrupted", now_ms=3_000)


@pytest.fixture
async def ledger(records: Records) -> Records:
    """Records with a run r1 that goes on."""
    await records.begin(turn("r1"))
    return records


async def total(records: Records, day: int = 0) -> SpendTotal | None:
    """What the day's calls come to; D7: the day's row says the same."""
    sums = await records.spent(day, day + 1)
    assert sum(one.micro_usd for one in sums) == await records.used("chat", day)
    return sums[0] if sums else None


def called(*, calls: int = 1, left: int = 0, estimated: int = 0, micro_usd: int, usage: Usage) -> SpendTotal:
    return SpendTotal(
        pipeline="chat", model="m", calls=calls, open=left, estimated=estimated, micro_usd=micro_usd, usage=usage
    )


async def test_what_does_not_fit_into_the_budget_is_not_reserved(ledger: Records) -> None:
    """D1, REQ-Q2: neither the first call of a day nor a later one."""
    assert await ledger.reserve(spending("r1", micro_usd=301), BUDGET) == "over_budget"
    assert await ledger.reserve(spending("r1", number=2, micro_usd=200), BUDGET) == "reserved"
    assert await ledger.reserve(spending("r1", number=3, micro_usd=101), BUDGET) == "over_budget"
    assert await ledger.reserve(spending("r1", number=4, micro_usd=100), BUDGET) == "reserved"

    assert await ledger.cost("r1") == await ledger.used("chat", 0) == 300


async def test_every_day_and_every_pipeline_has_its_own_budget(ledger: Records) -> None:
    """REQ-Q4: other work does not count against chat."""
    batch = replace(spending("r1", micro_usd=300), pipeline="batch")
    assert await ledger.reserve(batch, BUDGET) == "reserved"
    assert await ledger.reserve(spending("r1", number=2, micro_usd=300), BUDGET) == "reserved"
    assert await ledger.reserve(spending("r1", number=3, micro_usd=1), BUDGET) == "over_budget"

    tomorrow = replace(spending("r1", number=3, micro_usd=300), now_ms=DAY_MS)

    assert await ledger.reserve(tomorrow, BUDGET) == "reserved"
    assert await ledger.used("chat", 1) == 300


async def test_reserving_again_reserves_once(ledger: Records) -> None:
    """D2: the answer may have been lost."""
    for _ in range(2):
        assert await ledger.reserve(spending("r1", micro_usd=200), BUDGET) == "reserved"

    assert await ledger.used("chat", 0) == 200


async def test_a_charge_takes_the_reservation_s_place_once(ledger: Records) -> None:
    """D3, D7: two that settle the same call, in whatever order, settle it once."""
    call = spending("r1", micro_usd=200)
    await ledger.reserve(call, BUDGET)

    for charge in (ACTUAL, replace(ACTUAL, micro_usd=50), Charge(released=True)):
        await ledger.charge(call, charge, 2_000)

    assert await total(ledger) == called(micro_usd=40, usage=ACTUAL.usage)


async def test_a_released_call_gives_its_room_back(ledger: Records) -> None:
    call = spending("r1", micro_usd=300)
    await ledger.reserve(call, BUDGET)

    await ledger.charge(call, Charge(released=True), 2_000)

    assert await total(ledger) is None
    assert await ledger.reserve(spending("r1", number=2, micro_usd=300), BUDGET) == "reserved"


async def test_a_call_counts_for_the_day_it_began_in(ledger: Records) -> None:
    call = replace(spending("r1", micro_usd=200), now_ms=DAY_MS - 1)
    await ledger.reserve(call, BUDGET)

    await ledger.charge(call, ACTUAL, DAY_MS + 1)

    assert (await ledger.used("chat", 0), await ledger.used("chat", 1)) == (40, 0)


async def test_a_run_that_has_ended_or_is_unknown_reserves_nothing(ledger: Records) -> None:
    """D4: a zombie's call would stay open for ever."""
    await ledger.settle("r1", completed("r1"))

    assert await ledger.reserve(spending("r1"), BUDGET) == "ended"
    assert await ledger.reserve(spending("nobody"), BUDGET) == "ended"
    assert await total(ledger) is None


async def test_a_new_attempt_closes_what_the_killed_one_left_open(ledger: Records) -> None:
    """D4, FR63: it counts as it was reserved, whatever the zombie says later."""
    killed = spending("r1", micro_usd=100)
    await ledger.reserve(killed, BUDGET)

    await ledger.reserve(spending("r1", attempt=2, micro_usd=100), BUDGET)

    expected = called(calls=2, left=1, estimated=2, micro_usd=200, usage=killed.usage.plus(killed.usage))
    assert await total(ledger) == expected
    await ledger.charge(killed, ACTUAL, 9_000)
    assert await total(ledger) == expected


async def test_a_call_that_was_let_through_is_written_down_with_its_charge(ledger: Records) -> None:
    """D5, REQ-Q6: also where the run has ended by then, and never for a run that nobody knows."""
    await ledger.settle("r1", ENDED)

    for call in (spending("r1"), spending("r1"), spending("nobody")):
        await ledger.charge(call, ACTUAL, 2_000)
    await ledger.charge(spending("r1", number=2), Charge(released=True), 2_000)

    assert await total(ledger) == called(micro_usd=40, usage=ACTUAL.usage)


async def test_the_end_of_a_run_closes_what_it_left_open(ledger: Records) -> None:
    """D6, FR62: a crash between reservation and charge leaks nothing, and the conversation's message knows the cost."""
    left = spending("r1", number=2, micro_usd=200)
    await ledger.reserve(spending("r1", micro_usd=100), BUDGET)
    await ledger.reserve(left, BUDGET)
    await ledger.charge(spending("r1"), ACTUAL, 2_000)

    for _ in range(2):
        await ledger.settle("r1", completed("r1"))

    usage = ACTUAL.usage.plus(left.usage)
    assert await total(ledger) == called(calls=2, estimated=1, micro_usd=240, usage=usage)
    messages = await ledger.messages(ANA, Span()) or ()
    assert [message.cost_micro_usd for message in messages] == [0, 240]  # REQ-Q10


async def test_spend_is_summed_by_pipeline_and_model(ledger: Records) -> None:
    """REQ-Q9"""
    calls = [
        spending("r1", micro_usd=10),
        replace(spending("r1", number=2, micro_usd=20), pipeline="batch"),
        replace(spending("r1", number=3, micro_usd=30), model="other"),
        replace(spending("r1", number=4, micro_usd=40), now_ms=DAY_MS),
    ]
    for call in calls:
        await ledger.reserve(call, BUDGET)

    sums = {(one.pipeline, one.model): one.micro_usd for one in await ledger.spent(0, 1)}

    assert sums == {("batch", "m"): 20, ("chat", "m"): 10, ("chat", "other"): 30}
    assert [one.micro_usd for one in await ledger.spent(1, 2)] == [40]


async def test_processes_that_reserve_at_once_get_what_fits(
    in_each_process: processes.InEach, opened: Callable[[], Records], address: str
) -> None:
    """D1, FR62: in each round there is room for one call more, and every process asks for it; then all charge at once."""
    records = opened()
    for number in range(processes.COUNT):
        await records.begin(turn(f"r{number}", replace(ANA, conversation_id=f"c{number}")))

    results = await in_each_process(processes.reserving, address)

    rounds = [sorted(answers) for answers in zip(*results, strict=True)]
    assert rounds == [["over_budget"] * (processes.COUNT - 1) + ["reserved"]] * processes.ROUNDS
    assert await total(records) == called(
        calls=processes.ROUNDS, micro_usd=processes.ROUNDS * 70, usage=Usage(input_tokens=processes.ROUNDS)
    )


async def test_the_end_and_a_reservation_at_once_leave_nothing_open(
    in_each_process: processes.InEach, opened: Callable[[], Records], address: str
) -> None:
    """D4, D6: whichever comes first, the call is refused or closed."""
    records = opened()
    for step in range(processes.ROUNDS):
        await records.begin(turn(f"r{step}", replace(ANA, conversation_id=f"c{step}")))

    await in_each_process(processes.ending_while_others_reserve, address)

    left = await total(records)
    assert left is None or left.open == 0


async def test_ids_that_no_database_takes_are_refused(ledger: Records) -> None:
    key = CallKey(run_id="\x00", step=1, attempt=1, number=1)
    call = Reservation(key=key, model="m", usage=Usage(), micro_usd=1, now_ms=1)

    with pytest.raises(Exception, match="character that no id has"):
        await ledger.reserve(call, BUDGET)
