"""Asking again and asking otherwise, in the AI SDK's words; and a request that comes twice."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from protocol.json import JsonObject
from tests.contract.http_house import House, error, frame, pieces, reading, running, saying, types


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with running() as opened:
        yield opened


def user(message_id: str, text: str) -> JsonObject:
    return {"id": message_id, "role": "user", "parts": [{"type": "text", "text": text}]}


def sent(message_id: str, text: str, **more: Any) -> JsonObject:
    """A chat request of the SDK's."""
    return {"id": "c1", "messages": [user(message_id, text)], "trigger": "submit-message", **more}


def again(answer: str | None = None) -> JsonObject:
    """The SDK's request for another answer. It sends the messages before it as it holds them, which need not be true."""
    named = {} if answer is None else {"messageId": answer}
    return sent("u2", "forged by the client", **named) | {"trigger": "regenerate-message"}


async def shown(client: httpx2.AsyncClient) -> list[tuple[str, str]]:
    """The conversation: ids and texts."""
    messages = (await client.get("/api/conversations/c1/messages")).json()["messages"]
    texts = ("".join(part.get("text", "") for part in message["parts"]) for message in messages)
    return [(message["id"], text) for message, text in zip(messages, texts, strict=True)]


def answer_of(response: httpx2.Response) -> str:
    """The id of the message that a stream is about."""
    return str(frame(pieces(response.content)[0])["messageId"])


async def say(house: House, client: httpx2.AsyncClient, body: JsonObject, *words: str, **headers: str) -> str:
    """Ask, and let the model say this. The id of its answer."""
    house.plays(saying(*words))
    response = await client.post("/api/chat", json=body, headers=headers)
    assert types(response.content)[-1] == "finish"
    return answer_of(response)


async def test_another_answer_stands_in_the_place_of_the_last(house: House) -> None:
    """[A9] [A10] REQ-G10 FR35: the question is the one that is stored, and the model does not hear of its first answer."""
    client = await house.client()
    one = await say(house, client, sent("u1", "One?"), "first")
    two = await say(house, client, sent("u2", "Two?"), "second")
    three = await say(house, client, again(two), "third")

    assert await shown(client) == [("u1", "One?"), (one, "first"), ("u2", "Two?"), (three, "third")]
    request = house.dispatch.requests[-1]
    assert (request.text, request.user_message_id) == ("Two?", "u2")
    history = await house.parts.records.history("", "c1", request.sequence, None)
    assert [message.parts[0].get("text") for message in history] == ["One?", None]


async def test_without_a_name_the_last_answer_is_meant_each_time(house: House) -> None:
    """[A9]"""
    client = await house.client()
    await say(house, client, sent("u1", "One?"), "first")
    await say(house, client, again(), "second")
    last = await say(house, client, again(), "third")

    assert await shown(client) == [("u1", "One?"), (last, "third")]


async def test_an_edited_question_ends_what_followed_it(house: House) -> None:
    """[A10]"""
    client = await house.client()
    await say(house, client, sent("u1", "One?"), "first")
    await say(house, client, sent("u2", "Two?"), "second")
    answer = await say(house, client, sent("u1", "Rather this?", messageId="u1"), "third")

    assert await shown(client) == [("u1", "Rather this?"), (answer, "third")]


async def test_a_question_is_edited_by_the_name_of_its_answer(house: House) -> None:
    """[A10] [A11]: so whoever saw only the answer's id can edit, and holds it for the last one by the same name."""
    client = await house.client()
    first = await say(house, client, {"message": "One?", "conversation_id": "c1"}, "first")
    edit = sent("u2", "Rather this?", messageId=first, expected_head=first)
    second = await say(house, client, edit, "second")
    behind = await client.post("/api/chat", json=sent("u3", "Or this?", messageId=first, expected_head=first))

    assert await shown(client) == [("u2", "Rather this?"), (second, "second")]
    assert (behind.status_code, error(behind)["head"]) == (409, second)


async def test_a_superseded_run_can_still_be_read_while_its_log_is_kept(house: House) -> None:
    """[L1]"""
    client = await house.client()
    first = await client.post("/api/chat", json=sent("u1", "One?"))
    await say(house, client, again(), "second")
    handle = first.headers["x-workflow-run-id"]

    assert pieces((await client.get(f"/api/chat/{handle}/stream")).content) == pieces(first.content)


async def test_an_answer_that_was_superseded_cannot_be_asked_for_again(house: House) -> None:
    """[A11] FR35: a page that was left open is told where the conversation is."""
    client = await house.client()
    first = await say(house, client, sent("u1", "One?"), "first")
    second = await say(house, client, again(first), "second")
    third = await say(house, client, again(second), "third")

    refused = await client.post("/api/chat", json=again(first))

    assert (refused.status_code, error(refused)["head"]) == (409, third)


async def test_who_says_what_he_saw_last_is_not_let_past_what_he_did_not_see(house: House) -> None:
    """[A11] FR35"""
    client = await house.client()
    first = await say(house, client, sent("u1", "One?"), "first")
    second = await say(house, client, sent("u2", "Two?", expected_head=first), "second")

    behind = await client.post("/api/chat", json=sent("u3", "Three?", expected_head=first))

    assert (behind.status_code, error(behind)["kind"], error(behind)["head"]) == (409, "conflict", second)
    assert len(await shown(client)) == 4


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (sent("u1", "One?"), {}),
        ({"message": "One?", "conversation_id": "c1"}, {"idempotency-key": "order-17"}),
        ({"message": "One?", "conversation_id": "c1"}, {"idempotency-key": "6F9A4C1E-0C1B-4A51-9A5E-3F1F0A5F6C11"}),
    ],
    ids=["message", "key", "uuid"],
)
async def test_the_same_request_is_one_run_however_often_it_is_sent(
    house: House, body: JsonObject, headers: dict[str, str]
) -> None:
    """[A3] FR11 REQ-O14: twenty at once, from a cursor while it lives, and after its end."""
    client = await house.client()
    await client.get("/api/conversations")
    house.plays(saying("one", "two", "three"), hold=1)
    async with asyncio.TaskGroup() as group:
        posts = [group.create_task(client.post("/api/chat", json=body, headers=headers)) for _ in range(20)]
        await house.model.reached.wait()
        async with reading(client, "POST", "/api/chat", json=body, headers={**headers, "last-event-id": "3"}) as later:
            await later.until(b"id: 4\n")
            house.model.release()
            rest = await later.rest()
    after = await client.post("/api/chat", json=body, headers=headers)

    [whole] = {post.result().content for post in posts}
    assert pieces(after.content) == pieces(whole)
    assert pieces(rest) == pieces(whole)[4:]
    assert (len({post.result().headers["x-chat-run-id"] for post in posts}), len(await shown(client))) == (1, 2)
    assert house.model.gaps == 2  # one execution


async def test_a_repeated_revision_is_one_run_too(house: House) -> None:
    """[A3] FR11"""
    client = await house.client()
    first = await say(house, client, sent("u1", "One?"), "first")
    for body in (again(first), sent("u1", "Rather this?", messageId="u1")):
        answer = await say(house, client, body, "another")
        assert answer_of(await client.post("/api/chat", json=body)) == answer


async def test_a_key_is_for_one_request_of_one_owner(house: House) -> None:
    """[A3] FR11 FR43"""
    client, other = await house.client(), await house.client()
    key = {"idempotency-key": "order-17"}
    mine = await client.post("/api/chat", json={"message": "One?"}, headers=key)
    reused = await client.post("/api/chat", json={"message": "Another?"}, headers=key)
    theirs = await other.post("/api/chat", json={"message": "One?"}, headers=key)

    assert (mine.status_code, reused.status_code, theirs.status_code) == (200, 409, 200)
    assert answer_of(mine) != answer_of(theirs)


async def test_the_same_id_with_another_text_is_another_message(house: House) -> None:
    """[A3]: some clients count their messages from 1 in every page."""
    client = await house.client()
    answers = [await say(house, client, sent("1", text), "Hm.") for text in ("One?", "Two?")]

    assert len(set(answers)) == 2


async def test_a_run_of_nobody_s_conversation_cannot_be_revised(house: House) -> None:
    """LAW-P5 FR43"""
    client, other = await house.client(), await house.client()
    first = await say(house, client, sent("u1", "One?"), "first")
    before = await shown(client)

    refused = [await other.post("/api/chat", json=body) for body in (again(first), sent("u1", "x", messageId="u1"))]

    assert [one.status_code for one in refused] == [404, 404]
    assert await shown(client) == before


@pytest.mark.parametrize("key", ["", "x" * 256])
async def test_a_key_has_a_length(house: House, key: str) -> None:
    client = await house.client()

    refused = await client.post("/api/chat", json={"message": "hi"}, headers={"idempotency-key": key})

    assert (refused.status_code, error(refused)["kind"]) == (400, "invalid")
