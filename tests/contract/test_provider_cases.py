"""Every misbehaviour of a provider that is written down, at the adapter and at the runner (`tests/provider_cases.py`)."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.provider_bench import PAGE, Bench, bench, table, turn
from tests.provider_cases import Case, cases

CASES = cases()

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def made() -> AsyncIterator[Bench]:
    async with bench() as opened:
        yield opened


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
async def test_a_misbehaviour_ends_as_written_and_the_next_message_is_accepted(made: Bench, case: Case) -> None:
    """M1 M2 M4 LAW-P1 REQ-H8, FR19 FR20 FR26 FR37 FR50 FR52 FR53 FR54: each case names its own."""
    before = asyncio.all_tasks()

    came = await turn(made, case)

    assert came.written() == case["came"]
    await made.upstream.idle.wait()  # M3: no call goes on behind the turn
    left = {task for task in asyncio.all_tasks() - before if "_serve" not in repr(task)}
    if left:  # what closes a broken stream may take another round of the loop
        _, left = await asyncio.wait(left, timeout=10)
    assert left == set()


@pytest.mark.parametrize(
    "case", [case for case in CASES.values() if len(case["replies"]) > 1], ids=lambda case: case["name"]
)
async def test_through_the_checkpoint_it_ends_the_same(made: Bench, case: Case) -> None:
    """FR20, LAW-P4: each step begins from JSON, and the upstream compares what it signed byte for byte."""
    assert (await turn(made, case, slice_ms=0)).written() == case["came"]


async def test_the_page_shows_all_cases() -> None:
    assert len(CASES) >= 60
    assert table() in PAGE.read_text()
