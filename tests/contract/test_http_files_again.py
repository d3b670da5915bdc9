"""Questions with files that are asked again, or otherwise, in the AI SDK's words."""

from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from protocol.json import Json, JsonObject
from tests.contract.file_reader import PNG, TEXT, Reader, attaching, reading_files
from tests.contract.http_house import House, frame, pieces

PICTURE = attaching(PNG, "image/png", "a.png")
NOTES = attaching(TEXT, "text/plain", "notes.txt")
NOBODYS: JsonObject = {**PICTURE, "url": f"/api/files/file_{'0' * 32}"}


@pytest.fixture
def model() -> Reader:
    return Reader()


@pytest.fixture
async def house(model: Reader) -> AsyncIterator[House]:
    async with reading_files(model) as opened:
        yield opened


def asking(text: str, *files: JsonObject, **more: Any) -> JsonObject:
    """The SDK's request about the message `u1`."""
    message: JsonObject = {"id": "u1", "role": "user", "parts": [*files, {"type": "text", "text": text}]}
    return {"id": "c1", "messages": [message], "trigger": "submit-message", **more}


def again(text: str, *files: JsonObject) -> JsonObject:
    return asking(text, *files) | {"trigger": "regenerate-message"}


def edited(text: str, *files: JsonObject) -> JsonObject:
    return asking(text, *files, messageId="u1")


async def answered(client: httpx2.AsyncClient, body: JsonObject) -> str:
    """The id of the answer to a request."""
    response = await client.post("/api/chat", json=body)
    assert response.status_code == 200
    return str(frame(pieces(response.content)[0])["messageId"])


async def question(client: httpx2.AsyncClient) -> list[Json]:
    """The parts of the conversation's first message, as a page that comes back gets them."""
    found: list[Json] = (await client.get("/api/conversations/c1/messages")).json()["messages"][0]["parts"]
    return found


async def test_another_answer_is_to_the_question_with_its_files(house: House, model: Reader) -> None:
    """[A9] FR35: as they are stored. What the client says of them does not count, be it no file of his."""
    client = await house.client()
    await answered(client, asking("What is it?", PICTURE, NOTES))
    stored, other = await question(client), (await client.post("/api/files", content=b"other")).json()

    for files in ((PICTURE, NOTES), (), (NOBODYS,), (other,)):
        await answered(client, again("forged", *files))

    assert [request.messages for request in model.asked] == [model.asked[0].messages] * 5
    assert [(one.has_attachments, len(one.files)) for one in house.dispatch.requests] == [(True, 2)] * 5
    assert await question(client) == stored
    await client.delete("/api/conversations/c1")
    assert (await client.get(other["url"])).status_code == 200  # the conversation never came to use it


@pytest.mark.parametrize("given", [(PICTURE,), (NOTES,), (PICTURE, NOTES), ()], ids=["one", "another", "both", "none"])
async def test_an_edited_question_has_the_files_that_it_comes_with(
    house: House, model: Reader, given: tuple[JsonObject, ...]
) -> None:
    """[A10]: the SDK replaces the whole message, so those of the earlier one count where it sends them again."""
    client, fresh = await house.client(), await house.client()
    await answered(client, asking("What is it?", PICTURE))
    await answered(client, edited("And now?", *given))
    await answered(fresh, asking("And now?", *given) | {"id": "c2"})  # what is asked where nothing was asked before

    assert model.asked[1].messages == model.asked[2].messages
    names = [part.get("filename") for part in await question(client) if isinstance(part, dict)]
    assert names == [*(part["filename"] for part in given), None]


async def test_only_the_text_of_a_question_is_edited_by_a_page_that_came_back(house: House, model: Reader) -> None:
    """[A10]: it has the files' addresses and not their bytes."""
    client = await house.client()
    await answered(client, asking("What is it?", PICTURE, NOTES))
    *files, _ = stored = await question(client)

    await answered(client, edited("And now?", *(part for part in files if isinstance(part, dict))))

    assert await question(client) == [*files, {"type": "text", "text": "And now?"}]
    [first, second] = [request.messages[0]["content"] for request in model.asked]
    assert isinstance(first, list)
    assert second == [*first[:2], {"type": "text", "text": "And now?"}]
    assert len(stored) == 3


async def test_a_repeated_edit_with_its_bytes_is_one_run(house: House, model: Reader) -> None:
    """[A3] FR11"""
    client = await house.client()
    await answered(client, asking("What is it?", PICTURE))

    answers = [await answered(client, edited("And now?", PICTURE, NOTES)) for _ in range(2)]

    assert (len({*answers}), len(model.asked)) == (1, 2)
