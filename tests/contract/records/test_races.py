"""Two beginnings at once: one wins, the other is told who did. Over processes, because that is where they meet."""

from collections import Counter

from records.records import Records
from records.values import Begun, Busy, Known, Span
from tests.contract.records import processes
from tests.contract.records.values import ANA


async def test_one_conversation_begins_one_of_several_runs(in_each_process: processes.InEach, address: str) -> None:
    """C18, FR11, REQ-O4: exactly one takes the place, also where the conversation itself is created in the race."""
    results = await in_each_process(processes.beginning_runs_of_their_own, address)

    for step, outcomes in enumerate(zip(*results, strict=True)):
        winner = outcomes.index(Begun(1))
        busy = Busy(f"r{step}-{winner}")
        assert outcomes == tuple(Begun(1) if number == winner else busy for number in range(processes.COUNT))


async def test_one_run_id_begins_once(in_each_process: processes.InEach, address: str) -> None:
    """REQ-C2, FR11, FR13: the same request sent twice is one run."""
    results = await in_each_process(processes.beginning_the_same_run, address)

    for step, outcomes in enumerate(zip(*results, strict=True)):
        assert _kinds(outcomes) == {Begun: 1, Known: processes.COUNT - 1}
        assert {each.run.run_id for each in outcomes if isinstance(each, Known)} == {f"r{step}"}


async def test_one_run_id_begins_once_also_over_conversations(in_each_process: processes.InEach, address: str) -> None:
    """C5: the loser leaves no conversation behind."""
    results = await in_each_process(processes.beginning_the_same_run_anywhere, address)

    assert [_kinds(outcomes) for outcomes in zip(*results, strict=True)] == [
        {Begun: 1, Known: processes.COUNT - 1}
    ] * processes.ROUNDS
    async with Records(address) as records:
        assert len(await records.conversations("", "ana")) == processes.ROUNDS


async def test_turns_of_several_processes_stay_in_order(in_each_process: processes.InEach, address: str) -> None:
    """LAW-P1, C18: every begun run has its answer right after its question, and the place is free at the end."""
    results = await in_each_process(processes.beginning_and_settling, address)

    begun = sum(isinstance(each, Begun) for rounds in results for each in rounds)
    async with Records(address) as records:
        messages = await records.messages(ANA, Span()) or ()
        assert await records.active_run(ANA) is None
    assert [message.sequence for message in messages] == list(range(1, 2 * begun + 1))
    assert [message.run_id for message in messages[::2]] == [message.run_id for message in messages[1::2]]


def _kinds(outcomes: tuple[object, ...]) -> Counter[type]:
    return Counter(type(each) for each in outcomes)
