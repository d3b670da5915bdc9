"""A long turn in a long conversation: what the server, the checkpoint and each step have to carry."""

from pathlib import Path

import pytest

from bench.growth import Growth, Load, house

pytestmark = [pytest.mark.long, pytest.mark.timeout(180)]

HUNDRED = Load(tokens=200_000, calls=100)
TWO_HUNDRED = Load(tokens=200_000, calls=200)
MOST_CHECKPOINT = 700_000
A_SLICE = 1_000  # bytes of history


@pytest.mark.parametrize("load", [HUNDRED, TWO_HUNDRED], ids=["100 calls", "200 calls"])
async def test_history_grows_by_slices_and_a_step_costs_what_it_adds(tmp_path: Path, load: Load) -> None:
    """FR49 REQ-D1 REQ-D5 FR48: beyond the limit of a checkpoint the rest of the turn stays in its invocation, and ends well."""
    async with house(tmp_path) as made:
        growth = await made.sliced(load)

    assert growth.request > 4 * load.tokens + 5_000 * load.calls
    assert len(growth.added) == load.steps - 1
    assert max(growth.added) < 1.1 * min(growth.added)
    assert (growth.slices == load.steps) == (sum(growth.deltas) <= MOST_CHECKPOINT) == (load == HUNDRED)
    assert growth.slices == 1 + _closed_below(growth, MOST_CHECKPOINT)
    assert growth.history < A_SLICE * growth.slices < 1_000_000


def _closed_below(growth: Growth, limit: int) -> int:
    """How many steps were closed with a checkpoint of at most so many bytes."""
    sizes = [sum(growth.deltas[:end]) for end in growth.steps[1:]]
    return sum(size <= limit for size in sizes)
