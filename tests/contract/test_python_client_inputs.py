"""What a person says by the Python client, to the real API."""

from collections.abc import AsyncIterator

import pytest
from turnkeep_client import AsyncClient, Refused

from tests.contract.asking import asking_house
from tests.contract.http_house import House, saying


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with asking_house() as opened:
        yield opened


@pytest.mark.parametrize("approved", [True, False])
async def test_a_person_decides_and_answers_while_the_run_is_read(house: House, approved: bool) -> None:
    """[W1] [W2]: in the loop that reads it, and the same reader hears what follows."""
    waited = []
    async with AsyncClient(http=await house.client()) as client:
        run = client.ask("Pay.")
        async for event in run:
            if event.type == "tool-approval-request":
                decide = run.approve if approved else run.deny
                await decide(event.frame["approvalId"], "That much.")
            elif event.type == "data-question":
                waited = [(part["toolName"], part["state"]) for part in run.waiting]
                await run.answer(event.frame["data"]["toolCallId"], "Quite.")

    assert run.message is not None
    paid, asked = (part for part in run.message["parts"] if part["type"] == "dynamic-tool")
    assert ("ask_user", "input-available") in waited
    assert (run.outcome, run.text, run.waiting) == ("finished", "Done.", [])
    assert paid["approval"] == {"id": "c1.0", "approved": approved, "reason": "That much."}
    assert (paid["state"], asked["output"]) == ("output-available" if approved else "output-denied", "Quite.")
    assert len(house.rig.outside.effects) == approved


async def test_a_person_steers_a_run_at_work(house: House) -> None:
    """[W5]"""
    house.plays(saying("Once ", "upon ", "a time."), hold=2)
    async with AsyncClient(http=await house.client()) as client:
        run = client.ask("Tell me something.")
        async for event in run:
            if event.text == "upon ":
                await run.steer("Shorter!")
                house.model.release()

    assert run.message is not None
    heard = [part["parts"] for part in run.message["parts"] if part["type"] == "steering-message"]
    assert heard == [[{"type": "text", "text": "Shorter!"}]]


async def test_a_run_that_has_ended_takes_no_more(house: House) -> None:
    """[W6]"""
    house.plays(saying("That was it."))
    async with AsyncClient(http=await house.client()) as client:
        run = client.ask("Go on.")
        async for _ in run:
            pass
        with pytest.raises(Refused) as refused:
            await run.steer("And now?")

    assert (refused.value.kind, refused.value.status) == ("conflict", 409)
