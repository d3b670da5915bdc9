"""Conversations are renamed, listed page by page, and deleted: with their run, their log and their files."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from api.ports import ApiParts
from dispatch.erasure import STUCK_MS, Erasure
from protocol.errors import StoreUnavailable
from tests.contract.http_house import House, error, frame, pieces, reading, running, saying, types
from tests.contract.test_http_ownership import NOT_FOUND

RUN = "6f9a4c1e-0c1b-4a51-9a5e-3f1f0a5f6c11"
OTHER_RUN = "6f9a4c1e-0c1b-4a51-9a5e-3f1f0a5f6c22"
ASKED = {"message": "hi", "conversation_id": "c1", "run_id": RUN}


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with running() as opened:
        opened.plays(saying("one", "two"), hold=1)
        yield opened


@asynccontextmanager
async def not_waiting() -> AsyncIterator[tuple[House, asyncio.Event, asyncio.Event]]:
    """A house that does not wait for a run to stop; the run stands at its seal, which the first event tells, until the second."""

    def impatient(parts: ApiParts) -> ApiParts:
        return replace(parts, limits=replace(parts.limits, interrupt_ms=1))

    there, go_on = asyncio.Event(), asyncio.Event()

    async def wait_there(name: str) -> None:
        if name == "sealed":
            there.set()
            await go_on.wait()

    async with running(impatient) as opened:
        opened.plays(saying("one", "two"), hold=1)
        opened.rig.fault = wait_there
        yield opened, there, go_on


async def test_a_conversation_gets_another_title(house: House) -> None:
    client = await house.client()
    created = (await client.post("/api/conversations", json={"id": "c1", "title": "One"})).json()

    renamed = await client.patch("/api/conversations/c1", content=b'{"title":"Zwei\\ud83d"}')

    assert (renamed.status_code, renamed.json()) == (200, created | {"title": "Zwei\ufffd"})
    assert (await client.get("/api/conversations/c1")).json() == renamed.json()
    assert (await client.get("/api/conversations")).json()["conversations"] == [renamed.json()]
    for body in ({}, {"title": 7}, {"title": "x" * 201}, {"title": "x", "id": "c2"}):
        refused = await client.patch("/api/conversations/c1", json=body)
        assert (refused.status_code, error(refused)["kind"]) == (400, "invalid")


async def test_conversations_are_listed_page_by_page(house: House) -> None:
    """REQ-O6: the newest first, each once."""
    client = await house.client()
    for number in range(5):
        house.rig.clock.now += 1
        await client.post("/api/conversations", json={"id": f"c{number}"})

    seen, query = [], "limit=2"
    while query:
        page = (await client.get(f"/api/conversations?{query}")).json()
        seen.append([conversation["id"] for conversation in page["conversations"]])
        query = f"limit=2&after={page['next']}" if "next" in page else ""

    assert seen == [["c4", "c3"], ["c2", "c1"], ["c0"]]
    for wrong in ("limit=0", "limit=1001", "after=x", "after=1-a.b"):
        assert (await client.get(f"/api/conversations?{wrong}")).status_code == 400


async def test_what_is_deleted_is_there_for_nobody_any_more(house: House) -> None:
    """FR34, C5, REQ-O8, [O4]: in the middle of an answer. Its readers see an end; nothing of it is kept or comes back."""
    client = await house.client()
    store = house.parts.primary.store

    async with reading(client, "POST", "/api/chat", json=ASKED) as stream:
        await stream.until(b'"one"')
        handle = stream.headers["x-workflow-run-id"]
        token = {"x-chat-resume-token": stream.headers["x-chat-resume-token"]}
        deleted = await client.delete("/api/conversations/c1")
        whole = await stream.rest()
    await house.dispatch.settled()

    assert (deleted.status_code, deleted.json()) == (200, {"success": True})
    assert types(whole)[-1] == "finish"
    assert next(frame(piece) for piece in pieces(whole) if b"data-reply" in piece)["data"]["stored"] is False
    assert await store.view(RUN) is None
    for answer in (
        await client.get(f"/api/chat/{handle}/stream"),
        await client.get(f"/api/chat/stream?runId={RUN}", headers=token),
        await client.post(f"/api/chat/{handle}/stop"),
        await client.get(f"/api/runs/{RUN}"),
        await client.get("/api/conversations/c1/messages"),
        await client.patch("/api/conversations/c1", json={"title": "x"}),
        await client.delete("/api/conversations/c1"),
        await client.post("/api/chat", json=ASKED),
        await client.post("/api/chat", json={**ASKED, "run_id": OTHER_RUN}),
        await client.post("/api/chat", json={**ASKED, "conversation_id": "c2"}),
    ):
        assert (answer.request.url, answer.status_code, answer.json()) == (answer.request.url, 404, NOT_FOUND)
    assert (await client.get("/api/chat/c1/stream")).status_code == 204
    assert (await client.get("/api/conversations")).json() == {"conversations": []}
    assert (await client.post("/api/conversations", json={"id": "c1"})).json() == NOT_FOUND
    assert await store.view(RUN) is None
    run = await house.parts.records.run(RUN)
    assert run is not None
    assert run.status == "stopped"


@pytest.mark.parametrize("point", ["claimed", "sealed", "stored"])
async def test_deleting_meets_a_run_at_any_point(house: House, point: str) -> None:
    """FR34: before the first frame, between the last frame and the records, between the records and the end."""
    client = await house.client()
    there, go_on = asyncio.Event(), asyncio.Event()

    async def wait_there(name: str) -> None:
        if name == point:
            there.set()
            await go_on.wait()

    await client.get("/api/conversations")  # for its session
    house.rig.fault = wait_there
    house.model.release()
    asking = asyncio.create_task(client.post("/api/chat?stream=0", json=ASKED))
    await there.wait()
    deleting = asyncio.create_task(client.delete("/api/conversations/c1"))
    while (await house.parts.records.shown_run(RUN)) is not None:  # noqa: ASYNC110 - the records tell nobody of a change
        await asyncio.sleep(0)
    go_on.set()

    assert (await deleting).status_code == 200
    await asking
    await house.dispatch.settled()
    assert (await client.get("/api/conversations/c1/messages")).json() == NOT_FOUND
    assert await house.parts.records.history("", "c1", 9, None) == ()
    assert await house.parts.primary.store.view(RUN) is None
    assert (await client.post("/api/chat", json=ASKED)).json() == NOT_FOUND


async def test_an_executor_that_does_not_stop_loses_its_run() -> None:
    """FR34, C5: its log goes after the bound, and it finds the run missing."""
    async with not_waiting() as (impatient, there, go_on):
        client = await impatient.client()
        async with reading(client, "POST", "/api/chat", json=ASKED) as stream:
            await stream.until(b'"one"')
            assert (await client.delete("/api/conversations/c1")).status_code == 200
            await there.wait()
        go_on.set()
        await impatient.dispatch.settled()

        assert await impatient.parts.primary.store.view(RUN) is None
        run = await impatient.parts.records.run(RUN)
        assert run is not None
        assert run.status == "stopped"


async def test_what_a_dead_process_left_undone_is_done_later(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store was away when the conversation was deleted: it is gone for its owner, and the rest follows."""
    client, records, store = await house.client(), house.parts.records, house.parts.primary.store
    house.model.release()
    await client.post("/api/chat?stream=0", json=ASKED)
    with monkeypatch.context() as away:

        async def unavailable(_: str) -> None:
            raise StoreUnavailable

        away.setattr(store, "erase", unavailable)
        assert (await client.delete("/api/conversations/c1")).status_code == 200
    assert await store.view(RUN) is not None
    assert (await client.get(f"/api/runs/{RUN}")).json() == NOT_FOUND
    rounds = Erasure(records, store, house.rig.clock, after_ms=86_400_000, kept_ms=86_400_000)

    house.rig.clock.now += STUCK_MS
    assert await rounds.round() == 0
    assert await store.view(RUN) is None
    house.rig.clock.now += 86_400_000
    assert await rounds.round() == 1
    assert await rounds.round() == 0
    assert (await client.post("/api/chat", json=ASKED)).json() == NOT_FOUND  # C5: its id stays used


async def test_a_session_whose_conversation_was_deleted_begins_another_one(house: House) -> None:
    """[A8]"""
    client = await house.client()
    house.model.release()
    seen = []
    for _ in range(3):
        answer = (await client.post("/api/chat?stream=0", json={"message": "hi"})).json()
        seen.append(answer["conversation_id"])
        assert (await client.delete(f"/api/conversations/{seen[-1]}")).status_code == 200

    assert seen == [seen[0], f"{seen[0]}-2", f"{seen[0]}-3"]


async def test_a_new_question_may_stop_the_answer_that_is_being_written(house: House) -> None:
    """[O5], C18: the old one ends first, stopped and stored, and the new one has its place after it."""
    client = await house.client()
    async with reading(client, "POST", "/api/chat", json=ASKED) as first:
        await first.until(b'"one"')
        refused = await client.post("/api/chat", json={**ASKED, "run_id": OTHER_RUN})
        house.plays(saying("three"))
        second = {**ASKED, "run_id": OTHER_RUN, "message": "rather this", "on_busy": "interrupt"}
        async with reading(client, "POST", "/api/chat", json=second) as answer:
            house.model.release()
            whole = await answer.rest()
        stopped = await first.rest()

    assert (refused.status_code, error(refused)["run_id"]) == (409, RUN)
    assert frame(pieces(stopped)[-1])["finishReason"] == "other"
    assert b"three" in whole
    messages = (await client.get("/api/conversations/c1/messages")).json()["messages"]
    assert [(one["sequence"], one["outcome"]) for one in messages] == [
        (1, ""),
        (2, "stopped"),
        (3, ""),
        (4, "completed"),
    ]


async def test_an_answer_that_does_not_stop_in_time_keeps_its_place() -> None:
    async with not_waiting() as (impatient, _, go_on):
        client = await impatient.client()
        async with reading(client, "POST", "/api/chat", json=ASKED) as stream:
            await stream.until(b'"one"')
            answer = await client.post("/api/chat", json={**ASKED, "run_id": OTHER_RUN, "on_busy": "interrupt"})
            assert (answer.status_code, error(answer)["run_id"]) == (409, RUN)
            go_on.set()
            await stream.rest()
