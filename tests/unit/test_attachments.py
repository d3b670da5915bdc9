"""What files become on their way to a model, and what they weigh."""

import pytest

from api.media import media_type_of, name_of
from protocol.json import JsonObject
from protocol.model import ModelRequest
from protocol.turn import TurnRequest
from providers.media import reads
from records.files import Files, Upload
from records.records import Records
from runner import attachments
from runner.attachments import IMAGE_TOKENS, Attachments, weigh

TURN = TurnRequest(
    run_id="r1", conversation_id="c1", message_id="m", user_message_id="u", owner="ana", assistant="a", text="", sequence=1,
    created_ms=0,
)  # fmt: skip


def asking(*messages: JsonObject) -> ModelRequest:
    return ModelRequest(
        model="claude-opus-4-8", system="", messages=messages, max_tokens=9, idle_seconds=1, call_seconds=1
    )


class Counted(Files):
    """Files that tell which of them were read."""

    def __init__(self, records: Records) -> None:
        super().__init__(records.files._database)
        self.read: list[str] = []

    async def content(self, tenant: str, owner: str, file_id: str) -> bytes | None:
        self.read.append(f"/api/files/{file_id}")
        return await super().content(tenant, owner, file_id)


async def attached(records: Records, content: bytes) -> JsonObject:
    upload = Upload(tenant="", owner="ana", media_type="text/plain", name="a.txt", content=content, now_ms=0)
    file, _ = await records.files.keep(upload, 1_000)
    return {"type": "file", "mediaType": "text/plain", "filename": "a.txt", "url": f"/api/files/{file.id}"}


async def test_the_newest_files_fit_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """FR50: however many a conversation has, the next message can be sent. What does not fit is not even read."""
    monkeypatch.setattr(attachments, "MOST_BYTES", 7)
    async with await Records.in_memory() as records:
        files = Counted(records)
        parts = [await attached(records, content) for content in (b"first", b"second", b"x")]
        messages: list[JsonObject] = [{"role": "user", "content": [part]} for part in parts]

        shown = await Attachments(files, TURN)(asking(*messages))

    assert files.read == [part["url"] for part in (parts[2], parts[1])]
    note = "[A file was attached: a.txt (text/plain). It is left out: the conversation has too many large files.]"
    sources = [message["content"][0].get("source", message["content"]) for message in shown.messages]  # type: ignore[index, union-attr] # blocks
    assert sources == [
        [{"type": "text", "text": note}],
        {"type": "text", "media_type": "text/plain", "data": "second"},
        {"type": "text", "media_type": "text/plain", "data": "x"},
    ]


async def test_a_request_without_files_is_sent_as_it_is() -> None:
    async with await Records.in_memory() as records:
        request = asking(
            {"role": "user", "content": "hi"}, {"role": "user", "content": [{"type": "text", "text": "hi"}]}
        )

        assert await Attachments(records.files, TURN)(request) is request


async def test_nobody_elses_file_is_ever_read() -> None:
    """LAW-P5: whatever a history says."""
    async with await Records.in_memory() as records:
        part = await attached(records, b"secret")
        foreign = Attachments(records.files, TURN.model_copy(update={"owner": "ben"}))

        shown = await foreign(asking({"role": "user", "content": [part]}))

    assert "secret" not in str(shown.messages)


def test_an_image_weighs_what_it_costs_and_not_what_its_bytes_take() -> None:
    """FR63: what is reserved for a call is near to what it costs."""
    image: JsonObject = {"type": "image", "source": {"type": "base64", "data": "A" * 4_000_000}}
    pdf: JsonObject = {"type": "document", "source": {"type": "base64", "data": "A" * 1_000_000}}
    text: JsonObject = {"type": "document", "source": {"type": "text", "data": "A"}}
    plain: list[JsonObject] = [{"role": "user", "content": "hi"}]

    light, tokens = weigh([{"role": "user", "content": [image, pdf, text]}])

    assert tokens == IMAGE_TOKENS + 100_000
    assert light == [{"role": "user", "content": [{**image, "source": None}, {**pdf, "source": None}, text]}]
    assert weigh(plain) == (plain, 0)


@pytest.mark.parametrize(
    ("content", "media_type"),
    [
        (b"\x89PNG\r\n\x1a\n...", "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a...", "image/gif"),
        (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"),
        (b"%PDF-1.7\n\xff\xff", "application/pdf"),
        ("<svg onload=alert(1)> \U0001f600".encode(), "text/plain"),
        (b"\xef\xbb\xbfBOM\r\n\f", "text/plain"),
        (b"RIFF\x00\x00\x00\x00WAVE", None),
        (b"PK\x03\x04", None),
        (b"a\x1b[31m", None),
        (b"\xed\xa0\x80", None),
        (b"", None),
    ],
)
def test_a_file_is_what_its_content_is(content: bytes, media_type: str | None) -> None:
    assert media_type_of(content) == media_type


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("a.png", "a.png"),
        ("../../etc/passwd", "passwd"),
        ("C:\\x\\b.txt", "b.txt"),
        ('a"\r\nset-cookie: x', "a___set-cookie_ x"),
        ("", "file"),
        (" .. ", "file"),
        ("a/", "file"),
        ("ä" * 300, "ä" * 200),
        ("\ud83d.png", "_.png"),
    ],
)
def test_a_name_is_safe_to_show_and_to_save(given: str, name: str) -> None:
    assert name_of(given) == name


@pytest.mark.parametrize(
    ("model", "media_type", "expected"),
    [
        ("claude-opus-4-8", "image/png", True),
        ("claude-opus-4-8", "application/pdf", True),
        ("us.anthropic.claude-opus-4-8-v1", "text/plain", True),
        ("claude-3-haiku-20240307", "image/png", True),
        ("claude-3-haiku-20240307", "application/pdf", False),
        ("stub-chat-v1", "image/png", False),
        ("demo", "text/plain", False),
    ],
)
def test_what_a_model_reads(model: str, media_type: str, expected: bool) -> None:
    assert reads(model, media_type) is expected
