"""Whatever comes in, what goes out is an answer or a typed error, and nothing is left behind."""

import asyncio
import json

import pytest

from protocol.errors import HTTP_STATUS
from tests.contract.direct import Answer, Request, ask
from tests.contract.fuzzing import Known, case
from tests.contract.http_callers import ISSUER, admitting, key_of
from tests.contract.http_house import House, running, saying

SEED = 20_26
FAST, ALL = 2_000, 100_000
BATCH = 500

KINDS = {*HTTP_STATUS}
FINE = {200, 201, 204}
REFUSED = {400, 401, 404, 405, 408, 409, 410, 413, 429}


@pytest.mark.parametrize("count", [FAST, pytest.param(ALL, marks=[pytest.mark.long, pytest.mark.timeout(1_500)])])
async def test_every_answer_is_one_of_ours_and_nothing_is_left_behind(count: int) -> None:
    """REQ-V1, REQ-V3, REQ-V5, [E1], [E2], FR46"""
    async with running(admitting()) as house:
        known = await texts_that_count(house)
        before = asyncio.all_tasks()
        for number in range(count):
            request = case(SEED, number, known)
            answer = await ask(house.application, request)
            wrong = objection(request, answer)
            assert wrong is None, f"case({SEED}, {number}): {wrong}\n{request}\n{answer}"
            if number % BATCH == BATCH - 1:
                await house.dispatch.settled()
        await house.dispatch.settled()

        assert house.application._readers.seats.taken == 0
        hubs = (house.parts.primary.hub, house.parts.memory.hub)
        assert [viewer for hub in hubs for run in hub._runs.values() for viewer in run.viewers] == []
        assert house.parts.records._database._calls == 0
        still = asyncio.all_tasks() - before  # the hub looks around now and then
        _, stuck = await asyncio.wait(still, timeout=5) if still else (set(), set())
        assert stuck == set()


def objection(request: Request, answer: Answer) -> str | None:
    """What is wrong with an answer."""
    if answer.status == 0:
        return None if request.leaves else "nothing was answered"
    if answer.status in FINE:
        return None if answer.whole or request.leaves else "the answer was cut"
    if answer.status not in REFUSED:
        return "no status of a refusal"
    if request.method == "HEAD":
        return None
    error = json.loads(answer.body)["error"]
    if error["kind"] not in KINDS or not isinstance(error["retryable"], bool) or not error["message"].isascii():
        return "no error of ours"
    return None


async def texts_that_count(house: House) -> Known:
    """A finished run and one that waits for its model, their handles and tokens, and who may read them."""
    cookie = f"turnkeep_session={house.parts.sessions.mint(bytes(16))}"
    house.plays(saying("Hello"))
    headers = [(b"cookie", cookie.encode())]
    asked = Request(
        method="POST",
        path="/api/chat",
        query=b"stream=0",
        headers=headers,
        body=b'{"message":"hi","conversation_id":"c1"}',
    )
    answer = await ask(house.application, asked)
    said = {name.decode(): value.decode() for name, value in answer.headers.items()}
    return Known(
        handles=[said["x-workflow-run-id"]],
        run_ids=[said["x-chat-run-id"], "11111111-1111-4111-8111-111111111111"],
        tokens=[said["x-chat-resume-token"]],
        bearers=[await key_of(house), ISSUER.token()],
        cookies=[cookie, "turnkeep_session=", ""],
    )
