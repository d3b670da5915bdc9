"""Coming back: frames[0:k] + GET(startIndex=k) = frames, for every k, live and after the end."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import httpx2
import pytest

from protocol.turn import Transport
from tests.contract.http_house import House, Reading, error, frame, pieces, reading, running, saying, script, types
from tests.rig import NOW_MS

AGENT = script(
    {"events": [
        {"type": "thinking", "text": "hm", "signature": "s"}, {"type": "text", "text": "Let me "}, {"type": "text", "text": "see."},
        {"type": "tool_input", "id": "a", "name": "add", "delta": '{"a":1,'}, {"type": "tool_input", "id": "a", "name": "add", "delta": '"b":2}'},
        {"type": "tool_input", "id": "b", "name": "fail", "delta": "{}"}, {"type": "stop", "reason": "tool_use"},
    ]},
    {"events": [{"type": "text", "text": "ha"}, {"type": "text", "text": "ha"}, {"type": "text", "text": "ha"}, {"type": "stop"}]},
)  # fmt: skip
ASKED = {"message": "hi", "conversation_id": "c1"}


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with running() as opened:
        opened.plays(AGENT)
        yield opened


async def recorded(house: House) -> tuple[httpx2.AsyncClient, str, list[bytes]]:
    """A finished run: its owner's browser, its address, its frames."""
    client = await house.client()
    whole = await client.post("/api/chat", json=ASKED)
    return client, f"/api/chat/{whole.headers['x-workflow-run-id']}/stream", pieces(whole.content)


async def test_from_every_index_the_rest_of_a_finished_run(house: House) -> None:
    client, address, whole = await recorded(house)

    for index in range(len(whole)):
        response = await client.get(address, params={"startIndex": index})
        assert pieces(response.content) == whole[index:]  # [R1] [L1] FR04 REQ-E3
        assert response.headers["x-turnkeep-start-index"] == str(index)
        assert response.content.endswith(b"data: [DONE]\n\n")


@pytest.mark.parametrize("transport", ["workflow", "inline"])
@pytest.mark.parametrize(("gap", "shown"), [(1, b"reasoning-end"), (2, b"Let me "), (4, b'{\\"a\\":1,')])
async def test_from_every_index_the_rest_of_a_live_run(
    house: House, transport: Transport, gap: int, shown: bytes
) -> None:
    house.dispatch.transport = transport
    house.plays(AGENT, hold=gap)
    client = await house.client()

    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(reading(client, "POST", "/api/chat", json=ASKED))
        await first.until(shown)
        address = f"/api/chat/{first.headers['x-workflow-run-id']}/stream"
        page = await house.rig.store.read(first.headers["x-chat-run-id"], 0, 1 << 20)
        assert page is not None
        others: list[Reading] = []
        for index in range(page.next + 1):  # the last of them waits for what is not there yet
            request = reading(client, "GET", address, params={"startIndex": index})
            others.append(await stack.enter_async_context(request))
            await others[-1].until(b": open\n\n")
        assert (await client.get(address, params={"startIndex": page.next + 1})).status_code == 400  # [R5]
        house.model.release()
        whole = pieces(await first.rest())
        assert [pieces(await other.rest()) for other in others] == [
            whole[index:] for index in range(page.next + 1)
        ]  # [R1]
    assert [frame(piece)["delta"] for piece in whole if b'ha"}' in piece] == [" ha", "ha", "ha"]  # FR08


async def test_beyond_the_end_there_is_no_empty_answer(house: House) -> None:
    client, address, whole = await recorded(house)

    for index, code in ((len(whole), "ended"), (len(whole) + 1, None), (999_999_999, None)):
        response = await client.get(address, params={"startIndex": index})
        assert response.status_code == 400  # [R5] [R6] FR05
        assert (error(response)["next"], error(response).get("code")) == (str(len(whole)), code)


async def test_an_event_source_is_told_to_stop_after_the_end(house: House) -> None:
    client, address, whole = await recorded(house)

    after = await client.get(address, params={"startIndex": 0}, headers={"last-event-id": str(len(whole) - 1)})
    midway = await client.get(address, params={"startIndex": 0}, headers={"last-event-id": "4"})

    assert (after.status_code, after.content) == (204, b"")  # [R2] C19 FR59
    assert pieces(midway.content) == whole[5:]


OTHER_SPELLINGS = (
    "startIndex=-0", "startIndex=1e3", "startIndex=0x10", "startIndex=%207", "startIndex=%D9%A3", "startIndex=",
    "startIndex=9223372036854775808", "startIndex=NaN", "startIndex=3.0", "startIndex=1&startIndex=5", "sdk=4", "wire=x",
)  # fmt: skip


async def test_other_spellings_of_a_cursor_are_refused_live_and_after(house: House) -> None:
    house.plays(saying("one", "two"), hold=1)
    client = await house.client()

    async with reading(client, "POST", "/api/chat", json=ASKED) as stream:
        address = f"/api/chat/{stream.headers['x-workflow-run-id']}/stream"
        live = [await client.get(f"{address}?{query}") for query in OTHER_SPELLINGS]
        house.model.release()
        await stream.rest()
    after = [await client.get(f"{address}?{query}") for query in OTHER_SPELLINGS]

    for response in (*live, *after):
        assert (response.url.query, response.status_code) == (response.url.query, 400)  # [R4] FR05
        assert error(response)["kind"] == "invalid"


async def test_a_negative_index_begins_where_nothing_is_open(house: House) -> None:
    client, address, whole = await recorded(house)

    for back in range(1, len(whole) + 3):
        response = await client.get(address, params={"startIndex": -back})
        start = int(response.headers["x-turnkeep-start-index"])
        assert pieces(response.content) == whole[start:]  # [R3]
        assert start <= max(0, len(whole) - back)
        assert int(response.headers["x-workflow-stream-tail-index"]) + 1 - back == start  # C19
        assert orphans([frame(piece) for piece in whole[start:]]) == []


def orphans(frames: list[dict[str, object]]) -> list[str]:
    """Frames of a part or a call that was not opened before them."""
    opened: set[object] = set()
    found = []
    for one in frames:
        kind, name = str(one["type"]), one.get("toolCallId", one.get("id"))
        if kind in ("text-start", "reasoning-start", "tool-input-start"):
            opened.add(name)
        elif not kind.startswith("data-") and name is not None and name not in opened:
            found.append(kind)
    return found


async def test_a_negative_index_is_resolved_once_while_the_run_goes_on(house: House) -> None:
    house.plays(AGENT, hold=2)
    client = await house.client()

    async with reading(client, "POST", "/api/chat", json=ASKED) as first:
        await first.until(b"Let me ")
        address = f"/api/chat/{first.headers['x-workflow-run-id']}/stream"
        async with reading(client, "GET", address, params={"startIndex": -1}) as tail:
            start = int(tail.headers["x-turnkeep-start-index"])
            house.model.release()
            whole = pieces(await first.rest())
            assert pieces(await tail.rest()) == whole[start:]  # [R3] FR05
    assert frame(whole[start])["type"] == "text-start"


@pytest.mark.parametrize("sdk", [5, 6, 7])
@pytest.mark.parametrize("wire", ["events", "data"])
async def test_a_projection_keeps_every_index_and_the_handle_keeps_the_version(
    house: House, sdk: int, wire: str
) -> None:
    client = await house.client()

    asked = await client.post("/api/chat", params={"sdk": sdk, "wire": wire}, json=ASKED)
    address = f"/api/chat/{asked.headers['x-workflow-run-id']}/stream"
    plain = pieces((await client.get(address, params={"sdk": 7})).content)

    projected = pieces(asked.content)
    assert [piece.split(b"\n")[0] for piece in projected] == [piece.split(b"\n")[0] for piece in plain]  # [R10] C19
    assert (b"event: " in asked.content) is (wire == "events")
    assert ("finishReason" in frame(projected[-1])) is (sdk > 5)
    for index in (0, 7, len(plain) - 1):
        again = await client.get(address, params={"startIndex": index, "wire": wire})
        assert pieces(again.content) == projected[index:]


async def test_a_conversation_replays_its_active_run_or_has_none(house: House) -> None:
    house.plays(saying("one", "two"), hold=1)
    client = await house.client()

    assert (await client.get("/api/chat/c1/stream")).status_code == 204  # [R9]
    async with reading(client, "POST", "/api/chat", json=ASKED) as first:
        await first.until(b'"one"')
        request = reading(client, "GET", "/api/chat/c1/stream", headers={"last-event-id": "3"})
        async with request as second:
            await second.until(b'"one"')
            house.model.release()
            assert pieces(await second.rest()) == pieces(await first.rest())
            assert second.headers["x-workflow-run-id"] == first.headers["x-workflow-run-id"]
    assert (await client.get("/api/chat/c1/stream")).status_code == 204


@pytest.mark.parametrize("at", [0, 3, -1], ids=["the first frame", "a frame in the middle", "the last frame"])
async def test_past_retention_a_reader_is_told_where_the_answer_is(house: House, at: int) -> None:
    """FR06 FR60: whatever the cursor, at once, and nothing is made anew; until then all of it is there."""
    client, address, whole = await recorded(house)
    params = {"startIndex": range(len(whole))[at]}
    house.rig.clock.now = NOW_MS + house.rig.settings.retention_ms - 1
    kept = await client.get(address, params=params)
    house.rig.clock.now += 2

    response = await client.get(address, params=params)

    assert pieces(kept.content) == whole[at:]
    assert await house.rig.store.view(house.dispatch.started[0]) is None
    assert response.status_code == 410  # [R5] REQ-E9
    gone = error(response)
    messages = await client.get(f"/api/conversations/{gone['conversation_id']}/messages?limit=4&order=desc")
    assert messages.json()["messages"][0]["id"] == gone["message_id"]
    assert types(response.content) == []
