"""A page that is loaded anew while the second answer of a conversation is being written."""

from collections.abc import AsyncIterator

import pytest
from turnkeep_client.fold import empty, fold, text_of

from tests.contract.http_house import House, frame, pieces, reading, running, saying

FIRST = "6f9a4c1e-0c1b-4a51-9a5e-3f1f0a5f6c11"
SECOND = "6f9a4c1e-0c1b-4a51-9a5e-3f1f0a5f6c22"


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with running() as opened:
        opened.plays(saying("AAA"))
        yield opened


async def test_a_resumed_answer_stands_beside_the_one_before_it(house: House) -> None:
    """FR01: the stored history ends with the first answer and the second question, and the log says whose message it is."""
    client = await house.client()
    await client.post("/api/chat?stream=0", json={"message": "one", "conversation_id": "c1", "run_id": FIRST})
    house.plays(saying("BB", "CC"), hold=1)

    asked = {"message": "two", "conversation_id": "c1", "run_id": SECOND}
    async with reading(client, "POST", "/api/chat", json=asked) as asking:
        await asking.until(b'"BB"')
        stored = (await client.get("/api/conversations/c1/messages")).json()["messages"]
        async with reading(client, "GET", "/api/chat/c1/stream") as resumed:
            await resumed.until(b'"BB"')
            house.model.release()
            frames = [frame(piece) for piece in pieces(await resumed.rest())]
    answer = empty()
    for one in frames:
        answer = fold(answer, one)

    assert [(each["role"], each["run_id"]) for each in stored] == [
        ("user", FIRST),
        ("assistant", FIRST),
        ("user", SECOND),
    ]
    assert (frames[0]["type"], frames[1]["data"]["runId"]) == ("start", SECOND)
    shown = {each["id"]: text_of(each) for each in [*stored, answer]}
    assert [*shown.values()] == ["one", "AAA", "two", "BBCC"]
    assert shown == {
        each["id"]: text_of(each) for each in (await client.get("/api/conversations/c1/messages")).json()["messages"]
    }
