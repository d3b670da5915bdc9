"""What a model call costs, whatever becomes of it: said by the provider, estimated where it is cut, nothing where it was refused."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from checkpoints.memory import MemoryRunStore
from checkpoints.port import Order
from protocol.errors import ErrorKind, ProviderError, TurnkeepError
from protocol.model import Usage
from protocol.turn import SliceResult
from providers.script import parse_script
from records.records import Records
from records.spend_values import Admission, Charge, Reservation
from runner.parts import Chosen
from runner.port import Job
from tests.bill import USED, Talker, Told, bill, doubled, price, said
from tests.rig import RUN_ID, Rig, StillClock

SCRIPT = parse_script('{"v":1,"name":"unused","input":"Talk."}')
WORDS = 800
SPOKEN = WORDS * 4 // 2  # tokens, of words with four letters


@pytest.fixture
async def records() -> AsyncIterator[Records]:
    async with await Records.in_memory() as empty:
        yield empty


def house(records: Records, talker: Talker, told: Told | None = None) -> Rig:
    clock = StillClock()
    rig = Rig(records=records, price=price, observer=told or Told(), clock=clock, store=MemoryRunStore(clock))
    rig.choose = lambda _assistant, _request: Chosen(talker, "talker")
    return rig


async def attempt(rig: Rig, number: int = 1, drain: asyncio.Event | None = None) -> SliceResult:
    job = Job(run_id=RUN_ID, order=Order(1, 1, number), mode="workflow")
    return await rig.runner(SCRIPT).run(job, drain or asyncio.Event())


async def cost_of_message(rig: Rig) -> list[int]:
    return [message.cost_micro_usd for message in await said(rig.records) if message.role == "assistant"]


async def test_a_call_costs_what_the_provider_says_last(records: Records) -> None:
    """FR63, REQ-Q7, REQ-Q10: one row, and the message knows."""
    rig = house(records, Talker(metered=Usage(input_tokens=30)))
    await rig.begin("Talk.")

    await attempt(rig)

    (total,) = await bill(records)
    assert (total.calls, total.open, total.estimated, total.usage, total.micro_usd) == (1, 0, 0, USED, 35)
    assert await cost_of_message(rig) == [35]


async def test_a_model_without_a_price_of_its_own_leaves_no_row(records: Records) -> None:
    """REQ-Q7: scripted turns and the stub cost nothing."""
    rig = house(records, Talker())
    rig.price = lambda _: None
    await rig.begin("Talk.")

    await attempt(rig)

    assert await bill(records) == ()


@pytest.mark.parametrize("metered", [None, Usage(input_tokens=30, output_tokens=1)])
async def test_a_stopped_call_is_billed_before_its_turn_ends(records: Records, metered: Usage | None) -> None:
    """FR63: what was sent, as the provider counted it where it did, and all that was received."""
    talker = Talker(words=WORDS, hang=asyncio.Event(), metered=metered)
    rig = house(records, talker)
    await rig.begin("Talk.")
    running = asyncio.create_task(attempt(rig))
    await talker.said.wait()

    await rig.store.stop(RUN_ID)

    assert (await running).status == "stopped"
    (total,) = await bill(records)
    assert (total.calls, total.open, total.estimated) == (1, 0, 1)
    assert total.usage.output_tokens == SPOKEN
    assert total.usage.input_tokens == 30 if metered else total.usage.input_tokens > 30
    assert await cost_of_message(rig) == [total.micro_usd]


@pytest.mark.parametrize("kind", ["upstream", "timeout", "rate_limited"])
async def test_a_call_that_is_cut_in_the_middle_is_billed(records: Records, kind: ErrorKind) -> None:
    """FR63: the provider cut it after 800 deltas."""
    rig = house(records, Talker(words=WORDS, end=ProviderError(kind, "Cut.")))
    await rig.begin("Talk.")

    assert (await attempt(rig)).status == "failed"

    (total,) = await bill(records)
    assert (total.calls, total.estimated, total.usage.output_tokens) == (1, 1, SPOKEN)
    assert await cost_of_message(rig) == [total.micro_usd]


@pytest.mark.parametrize(("metered", "estimated"), [(None, 0), (USED, 0), (Usage(input_tokens=30), 1)])
async def test_a_failed_call_costs_what_the_provider_counted(
    records: Records, metered: Usage | None, estimated: int
) -> None:
    """FR53, FR63: its count, not ours. Only where the failure adds to what the provider told before is that an estimate."""
    rig = house(records, Talker(words=WORDS, metered=metered, end=ProviderError("upstream", "Cut.", usage=USED)))
    await rig.begin("Talk.")

    assert (await attempt(rig)).status == "failed"

    (total,) = await bill(records)
    assert (total.calls, total.estimated, total.usage, total.micro_usd) == (1, estimated, USED, 35)


@pytest.mark.parametrize(("asked", "served", "cost"), [(True, True, 70), (True, False, 35), (False, False, 35)])
async def test_a_call_is_charged_in_the_mode_it_was_served_in(
    records: Records, asked: bool, served: bool, cost: int
) -> None:
    """REQ-Q7: fast mode has a limit of its own, and what it refuses is served as any other call."""
    rig = house(records, Talker(fast=served))
    rig.price, rig.fast = doubled, asked
    await rig.begin("Talk.")

    await attempt(rig)

    (total,) = await bill(records)
    assert (total.estimated, total.usage, total.micro_usd) == (0, USED, cost)


async def test_a_failed_call_whose_input_nobody_counted_is_estimated(records: Records) -> None:
    """FR63: what is told with the failure is only what was streamed."""
    used = Usage(output_tokens=SPOKEN // 2)
    rig = house(records, Talker(words=WORDS, end=ProviderError("upstream", "Cut.", usage=used)))
    await rig.begin("Talk.")

    await attempt(rig)

    (total,) = await bill(records)
    assert (total.calls, total.estimated, total.usage.output_tokens) == (1, 1, SPOKEN)
    assert total.usage.input_tokens > 30


@pytest.mark.parametrize("metered", [None, Usage(input_tokens=30)])
async def test_a_call_that_does_not_say_what_it_used_is_not_free(records: Records, metered: Usage | None) -> None:
    """FR63: some gateways never say, or not at the end."""
    rig = house(records, Talker(words=WORDS, used=Usage(), metered=metered))
    await rig.begin("Talk.")

    await attempt(rig)

    (total,) = await bill(records)
    assert (total.estimated, total.usage.output_tokens) == (1, SPOKEN)
    assert total.usage.input_tokens == 30 if metered else total.usage.input_tokens > 30


@pytest.mark.parametrize(
    ("kind", "calls"), [("rate_limited", 0), ("not_configured", 0), ("upstream", 0), ("timeout", 1)]
)
async def test_only_a_refused_call_is_released(records: Records, kind: ErrorKind, calls: int) -> None:
    """Who does not answer in time may have been at work all the same."""
    rig = house(records, Talker(words=0, end=ProviderError(kind, "No.")))
    await rig.begin("Talk.")

    await attempt(rig)

    assert sum(total.calls for total in await bill(records)) == calls


async def test_a_killed_call_is_billed_as_reserved_and_closed(records: Records) -> None:
    """FR63, FR62: kill -9 after 800 deltas, the next attempt answers: both calls are in the bill, once, and nothing is open."""
    hang = asyncio.Event()
    dying = Talker(words=WORDS, hang=hang)
    rig = house(records, dying)
    await rig.begin("Talk.")
    killed = asyncio.create_task(attempt(rig))
    await dying.said.wait()
    (reserved,) = await bill(records)

    rig.choose = lambda _assistant, _request: Chosen(Talker(), "talker")
    rig.clock.now += rig.settings.lease_ms + 1
    assert (await attempt(rig, 2)).status == "completed"

    (total,) = await bill(records)
    assert (reserved.open, total.calls, total.open, total.estimated) == (1, 2, 0, 1)
    assert total.usage.output_tokens >= SPOKEN
    assert total.micro_usd == reserved.micro_usd + 35
    assert await cost_of_message(rig) == [total.micro_usd]
    hang.set()  # a zombie says what its call cost: too late
    assert (await killed).outcome == "stale"
    assert await bill(records) == (total,)


async def test_an_abandoned_call_is_billed_before_the_run_is_left(records: Records) -> None:
    """FR63: two slices of one run bill each its own call."""
    talker, drain = Talker(words=WORDS, hang=asyncio.Event()), asyncio.Event()
    rig = house(records, talker)
    rig.settings = replace(rig.settings, abandon_ms=0)
    await rig.begin("Talk.")
    running = asyncio.create_task(attempt(rig, drain=drain))
    await talker.said.wait()

    drain.set()

    assert (await running).outcome == "handed_over"
    (left,) = await bill(records)
    assert (left.open, left.usage.output_tokens) == (0, SPOKEN)
    talker.hang = None
    assert (await attempt(rig, 2)).status == "completed"
    (total,) = await bill(records)
    assert (total.calls, total.open, total.micro_usd) == (2, 0, left.micro_usd + 35)


class _Away(Records):
    """A ledger that does not answer; `back` brings it back for charges."""

    back = False

    async def reserve(self, reservation: Reservation, budget_micro_usd: int) -> Admission:
        raise TurnkeepError("unavailable", "The records do not answer.")

    async def charge(self, reservation: Reservation, charge: Charge, now_ms: int) -> None:
        if not self.back:
            raise TurnkeepError("unavailable", "The records do not answer.")
        await super().charge(reservation, charge, now_ms)


@pytest.mark.parametrize("back", [True, False])
async def test_a_ledger_that_is_away_lets_the_call_pass_and_says_so(back: bool) -> None:
    """REQ-Q6, REQ-V6, REQ-Z20: fails open. What the call cost is written down if the ledger is back by then."""
    told = Told()
    async with await _Away.in_memory() as records:
        records.back = back
        rig = house(records, Talker(), told)
        await rig.begin("Talk.")

        assert (await attempt(rig)).status == "completed"

        assert [total.micro_usd for total in await bill(records)] == ([35] if back else [])
        assert await cost_of_message(rig) == ([35] if back else [0])
    assert told.decisions == ["unread"]
    late = [] if back else ["what a model call cost is not in the ledger"]
    assert told.troubles == ["the ledger does not answer, a model call was let through", *late]


async def test_a_model_without_a_known_price_is_not_asked(records: Records) -> None:
    """REQ-V6: fails closed, in a typed way."""
    talker = Talker()
    rig = house(records, talker)

    def unknown(_: object) -> None:
        raise ProviderError("not_configured", "No price.")

    rig.price = unknown
    await rig.begin("Talk.")

    assert (await attempt(rig)).status == "failed"

    run = await records.run(RUN_ID)
    assert run is not None
    assert (run.kind, talker.asked, await bill(records)) == ("not_configured", [], ())
