"""The AI SDK's continuation: what a person decided, sent as a chat request once the response has ended."""

from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from engine.fold import fold
from protocol.checkpoint import Message
from protocol.json import JsonObject
from records.values import Span
from tests.contract.asking import (
    ANSWER,
    APPROVE,
    ASKED,
    INPUT,
    RUN,
    asked,
    asking_house,
    continued,
    parked,
    status,
)
from tests.contract.http_house import House, error, frame, pieces, reading, types


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with asking_house() as opened:
        yield opened


async def test_a_continuation_decides_and_goes_on_where_it_was_asked(house: House) -> None:
    """REQ-A1 [R1] [W1]: what the client held before and what it is sent now is the stored message."""
    client = await house.client()
    async with reading(client, "POST", "/api/chat", json=ASKED) as stream:
        await asked(stream)
        seen = pieces(stream.body)
        await parked(client)
    rest = await client.post("/api/chat", json=continued())

    message = Message(id="")
    for piece in (*seen, *pieces(rest.content)):
        message = fold(message, frame(piece))  # type: ignore[arg-type] # a frame as it was sent
    stored = await house.parts.records.messages(house.key(client, "c1"), Span())
    assert stored is not None
    assert (rest.status_code, rest.headers["x-turnkeep-start-index"]) == (200, str(len(seen)))
    assert (message.parts, message.parts[2]["output"]) == (stored[1].parts, {"sure": True})
    assert (types(rest.content)[0], "start" in types(rest.content)) == ("tool-approval-response", False)


async def test_a_continuation_in_pieces_and_twice_is_the_same(house: House) -> None:
    """[W2] [W4]: a client that re-sends, from a cursor of its own."""
    client = await house.client()
    denied: JsonObject = {
        "type": "dynamic-tool", "toolCallId": "c1.0", "state": "approval-responded",
        "approval": {"id": "c1.0", "approved": False, "reason": "No."},
    }  # fmt: skip
    answered: JsonObject = {"type": "tool-ask_user", "toolCallId": "c1.1", "state": "output-available", "output": "Yes"}
    async with reading(client, "POST", "/api/chat", json=ASKED) as stream:
        await asked(stream)
    async with reading(client, "POST", "/api/chat", json=continued(denied)) as first:
        await first.until(b"tool-output-denied")
        whole = await client.post("/api/chat?startIndex=0", json=continued(denied, answered))

    kinds = types(whole.content)
    assert (kinds[0], kinds.count("tool-approval-response"), kinds.count("tool-output-denied")) == ("start", 1, 1)
    assert kinds[-1] == "finish"


def in_sdk_form() -> JsonObject:
    return {
        "id": "c1",
        "run_id": RUN,
        "messages": [{"id": "u1", "role": "user", "parts": [{"type": "text", "text": "Pay."}]}],
    }


async def test_a_client_of_the_sdk_is_let_go_while_the_run_waits(house: House) -> None:
    """[W9] [R8]: it speaks only once the response has ended, cleanly and without `finish`; then it gets how the turn goes on."""
    client = await house.client()
    first = await client.post("/api/chat", json=in_sdk_form())
    looked = await client.get("/api/chat/c1/stream")
    waiting = (await status(client))["status"]
    rest = await client.post("/api/chat", json=continued())

    assert (types(first.content)[-1], b"[DONE]" in first.content, waiting) == ("data-question", False, "parked")
    assert pieces(looked.content) == pieces(first.content)
    assert types(rest.content)[-1] == "finish"


async def test_a_client_of_the_sdk_is_let_go_again_where_something_is_still_waited_for(house: House) -> None:
    """[W9]"""
    client = await house.client()
    await client.post("/api/chat", json=in_sdk_form())
    paid, answered = cast("list[JsonObject]", cast("list[Any]", continued()["messages"])[1]["parts"])[1:]
    half = await client.post("/api/chat", json=continued(paid))
    rest = await client.post("/api/chat", json=continued(paid, answered))

    assert (types(half.content)[0], "finish" in types(half.content)) == ("tool-approval-response", False)
    assert types(rest.content)[-1] == "finish"


async def test_who_comes_with_a_cursor_is_held_while_the_run_waits(house: House) -> None:
    """[W9] [R6]"""
    client = await house.client()
    first = await client.post("/api/chat", json=in_sdk_form())
    handle, seen = first.headers["x-workflow-run-id"], len(pieces(first.content))
    async with reading(client, "GET", f"/api/chat/{handle}/stream?startIndex={seen}") as stream:
        await stream.until(b": open")
        for one in (APPROVE, ANSWER):
            await client.post(INPUT, json=one)
        assert types(await stream.rest())[-1] == "finish"


async def test_an_assistant_s_message_that_decides_nothing_is_refused_as_ever(house: House) -> None:
    client = await house.client()
    text: JsonObject = {"type": "text", "text": "I said so."}

    refused = await client.post("/api/chat", json=continued(text))

    assert (refused.status_code, error(refused)["message"]) == (400, "The last message must be the user's.")
