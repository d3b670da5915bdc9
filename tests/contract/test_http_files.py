"""Files: taken in, attached, shown to the model and to nobody else, and gone with their conversation."""

import base64
import json
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from api.ports import ApiParts, Limits
from protocol.json import JsonObject
from runner.parts import Chosen
from tests.contract.file_reader import PNG, TEXT, Reader, data_url, reading_files
from tests.contract.http_house import House, error
from tests.contract.test_http_ownership import NOT_FOUND

RUN = "6f9a4c1e-0c1b-4a51-9a5e-3f1f0a5f6c11"


@pytest.fixture
def model() -> Reader:
    return Reader()


@pytest.fixture
async def house(model: Reader) -> AsyncIterator[House]:
    def narrow(parts: ApiParts) -> ApiParts:
        return replace(parts, limits=Limits(file_bytes=1_000, files_bytes=1_500))

    async with reading_files(model, narrow) as opened:
        yield opened


def sdk_message(*files: JsonObject, text: str = "What is it?") -> JsonObject:
    return {"id": "m1", "role": "user", "parts": [*files, {"type": "text", "text": text}]}


async def test_an_uploaded_file_comes_back_to_its_owner_and_is_no_page(house: House) -> None:
    """[U1] [U2] REQ-A11: its type is found by its content, whatever it is called."""
    client, stranger = await house.client(), await house.client()
    await stranger.get("/api/conversations")

    answer = await client.post(
        "/api/files?name=C:\\pics\\a%22b.html", content=TEXT, headers={"content-type": "text/html"}
    )
    part = answer.json()
    again = await client.post("/api/files?name=other", content=TEXT)
    got = await client.get(part["url"])

    assert answer.status_code == 201
    assert part == {
        "type": "file", "mediaType": "text/plain", "filename": "a_b.html", "url": f"/api/files/{part['id']}", "id": part["id"],
        "size": len(TEXT),
    }  # fmt: skip
    assert (again.status_code, again.json()) == (200, part)
    assert (got.status_code, got.content) == (200, TEXT)
    wanted = {
        "content-type": "text/plain; charset=utf-8",
        "content-disposition": "attachment; filename*=UTF-8''a_b.html",
        "content-security-policy": "default-src 'none'; sandbox",
        "x-content-type-options": "nosniff",
        "cache-control": "private, no-store",
    }
    assert {name: got.headers[name] for name in wanted} == wanted
    for other in (
        await stranger.get(part["url"]),
        await client.get(f"/api/files/file_{'0' * 32}"),
        await client.get("/api/files/x"),
    ):
        assert (other.status_code, other.json()) == (404, NOT_FOUND)  # LAW-P5 [T2]


async def test_what_is_no_file_to_attach_is_refused(house: House) -> None:
    """[U1]: by its content, its size and its owner's room."""
    client = await house.client()

    for content in (
        b"",
        b" \n",
        b"MZ\x90\x00",
        b"\x7fELF",
        b"text\x00with NUL",
        b"\xff\xfe",
        b"RIFF\x00\x00\x00\x00WAVE",
    ):
        refused = await client.post("/api/files?name=a.png", content=content, headers={"content-type": "image/png"})
        assert (content, refused.status_code, error(refused)["code"]) == (content, 400, "media_type")
    large = await client.post("/api/files", content=PNG * 4)
    assert (large.status_code, error(large)["kind"]) == (413, "too_large")
    kept = [(await client.post("/api/files", content=b"%d" % at + b"x" * 700)).status_code for at in range(3)]
    assert kept == [201, 201, 413]
    full = await client.post("/api/files", content=b"y" * 900)
    assert (full.status_code, error(full)["code"]) == (413, "quota")


async def test_a_model_is_shown_what_a_message_attaches(house: House, model: Reader) -> None:
    """[U3] REQ-A11: an upload by its address, a data: URL by its bytes; both are the same reference in everything we keep."""
    client = await house.client()
    part = (await client.post("/api/files?name=a.png", content=PNG)).json()
    message = sdk_message(
        {"type": "file", "mediaType": "text/html", "filename": "mine.png", "url": f"http://turnkeep.test{part['url']}"},
        {"type": "file", "mediaType": "text/plain", "filename": "notes.txt", "url": data_url(TEXT, "image/png")},
    )

    await client.post("/api/chat?stream=0", json={"id": "c1", "messages": [message], "run_id": RUN})
    asked = {
        "message": "And now?",
        "conversation_id": "c1",
        "files": [{"url": data_url(b"%PDF-1.7", "application/pdf")}],
    }
    await client.post("/api/chat?stream=0", json=asked)

    image: JsonObject = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": base64.b64encode(PNG).decode()},
    }
    text: JsonObject = {
        "type": "document", "title": "notes.txt",
        "source": {"type": "text", "media_type": "text/plain", "data": TEXT.decode()},
    }  # fmt: skip
    pdf: JsonObject = {
        "type": "document", "title": "file",
        "source": {"type": "base64", "media_type": "application/pdf", "data": base64.b64encode(b"%PDF-1.7").decode()},
    }  # fmt: skip
    first: JsonObject = {"role": "user", "content": [image, text, {"type": "text", "text": "What is it?"}]}
    assert model.asked[0].messages == (first,)
    assert model.asked[1].messages[0] == first
    assert model.asked[1].messages[2] == {"role": "user", "content": [pdf, {"type": "text", "text": "And now?"}]}
    stored = (await client.get("/api/conversations/c1/messages")).json()["messages"]
    assert [each["filename"] for each in stored[0]["parts"][:2]] == ["mine.png", "notes.txt"]
    assert stored[0]["parts"][0] == {
        "type": "file",
        "mediaType": "image/png",
        "filename": "mine.png",
        "url": part["url"],
    }
    assert (await client.get(stored[0]["parts"][1]["url"])).content == TEXT
    assert house.dispatch.requests[0].has_attachments


async def test_no_log_no_checkpoint_and_no_record_has_the_bytes(house: House) -> None:
    """[U3]"""
    client = await house.client()
    secret = b"these very words"
    message = sdk_message({"type": "file", "url": data_url(secret, "text/plain")})

    await client.post("/api/chat?stream=0", json={"id": "c1", "messages": [message], "run_id": RUN})

    run = house.parts.primary.store._runs[RUN]  # type: ignore[attr-defined] # of the store in memory
    held = [run.request, *run.deltas, run.seal, *(entry.payload for entry in run.entries)]
    history = await house.parts.records.history("", "c1", 9, None)
    assert any(b"/api/files/file_" in bytes(each) for each in held)
    for spelling in (secret, base64.b64encode(secret)):
        assert not any(spelling in bytes(each) for each in held)
        assert spelling.decode() not in json.dumps([(each.parts, each.provider) for each in history])


async def test_files_of_somebody_else_are_no_files(house: House) -> None:
    """[U4] LAW-P5: nor is an address elsewhere, which we would have to fetch."""
    owner, stranger = await house.client(), await house.client()
    part = (await owner.post("/api/files", content=TEXT)).json()

    foreign = await stranger.post("/api/chat", json={"id": "c2", "messages": [sdk_message(part)]})
    unknown = await stranger.post(
        "/api/chat", json={"message": "hi", "files": [{"url": f"/api/files/file_{'0' * 32}"}]}
    )

    assert [(each.status_code, each.json()) for each in (foreign, unknown)] == [(404, NOT_FOUND)] * 2
    for url in (
        "https://elsewhere.test/a.png",
        "/api/files/../x",
        "file:///etc/passwd",
        "data:nothing",
        "data:;base64,!",
        7,
        None,
    ):
        refused = await owner.post("/api/chat", json={"message": "hi", "files": [{"type": "file", "url": url}]})
        assert (url, refused.status_code, error(refused)["kind"]) == (url, 400, "invalid")
    many = await owner.post("/api/chat", json={"message": "hi", "files": [part] * 11})
    assert (many.status_code, error(many)["kind"]) == (400, "invalid")
    assert house.dispatch.started == []


async def test_a_body_that_is_too_large_is_told_where_files_go(house: House) -> None:
    """REQ-A6, [A6]"""
    client = await house.client()

    refused = await client.post("/api/chat", content=b"x" * (1024 * 1024 + 1))

    assert (refused.status_code, error(refused)["kind"]) == (413, "too_large")
    assert "/api/files" in error(refused)["message"]


async def test_the_same_request_again_is_the_same_run_with_its_files(house: House, model: Reader) -> None:
    """FR11: though the client sends the bytes a second time."""
    client = await house.client()
    body = {"id": "c1", "messages": [sdk_message({"type": "file", "url": data_url(PNG, "image/png")})], "run_id": RUN}

    answers = [await client.post("/api/chat", json=body) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].content == answers[1].content
    assert len(model.asked) == 1


async def test_files_go_with_their_conversation(house: House) -> None:
    """[U5]"""
    client = await house.client()
    part = (await client.post("/api/files", content=TEXT)).json()
    for conversation in ("c1", "c2"):
        await client.post(
            "/api/chat?stream=0", json={"message": "hi", "conversation_id": conversation, "files": [part]}
        )

    await client.delete("/api/conversations/c1")
    assert (await client.get(part["url"])).status_code == 200
    await client.delete("/api/conversations/c2")
    assert (await client.get(part["url"])).json() == NOT_FOUND


async def test_a_file_that_went_before_the_model_was_asked_is_told_as_gone(house: House, model: Reader) -> None:
    client = await house.client()
    message = sdk_message({"type": "file", "url": data_url(TEXT, "text/plain"), "filename": "a.txt"})
    await client.post("/api/chat?stream=0", json={"id": "c1", "messages": [message]})
    await house.parts.records.files._database.write(lambda connection: connection.exec_driver_sql("DELETE FROM files"))

    await client.post("/api/chat?stream=0", json={"message": "again", "conversation_id": "c1"})

    note = "[A file was attached: a.txt (text/plain). It is not there any more.]"
    assert model.asked[1].messages[0]["content"] == [
        {"type": "text", "text": note},
        {"type": "text", "text": "What is it?"},
    ]


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        (PNG, {"type": "text", "text": "[A file was attached: a (image/png). The model cannot read it.]"}),
        (
            TEXT,
            {
                "type": "search_result",
                "title": "a",
                "source": "a",
                "content": [{"type": "text", "text": TEXT.decode()}],
            },
        ),
    ],
)
async def test_a_model_that_reads_no_files_is_told_of_them(
    house: House, model: Reader, content: bytes, shown: JsonObject
) -> None:
    """REQ-H7: what it rejects is not sent."""
    house.rig.choose = lambda _, __: Chosen(model, "stub-chat-v1")
    client = await house.client()
    part = (await client.post("/api/files?name=a", content=content)).json()

    await client.post("/api/chat?stream=0", json={"message": "hi", "files": [part]})

    assert model.asked[0].messages[0]["content"] == [shown, {"type": "text", "text": "hi"}]
