"""Stop, status, and a reader that leaves."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from records.values import Span
from tests.contract.http_house import House, error, frame, pieces, reading, running, saying, types

RUN = "6f9a4c1e-0c1b-4a51-9a5e-3f1f0a5f6c11"
ASKED = {"message": "hi", "conversation_id": "c1", "run_id": RUN}


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with running() as opened:
        opened.plays(saying("one", "two"), hold=1)
        yield opened


async def test_a_stopped_run_ends_with_what_was_shown(house: House) -> None:
    client = await house.client()

    async with reading(client, "POST", "/api/chat", json=ASKED) as stream:
        await stream.until(b'"one"')
        handle = stream.headers["x-workflow-run-id"]
        stops = [await client.post(f"/api/chat/{name}/stop") for name in (handle, handle, RUN)]
        whole = await stream.rest()  # the model is still held: nothing but the stop ended it

    assert stops[0].json() == {"success": True, "status": "stopping", "ended": False}  # [S1]
    assert [stop.json()["success"] for stop in stops] == [True, True, True]
    assert types(whole)[-6:] == [
        "text-end",
        "finish-step",
        "abort",
        "data-usage",
        "data-reply",
        "finish",
    ]  # [S2] REQ-G10
    assert frame(pieces(whole)[-1])["finishReason"] == "other"
    stored = await house.parts.records.messages(house.key(client, "c1"), Span())
    assert stored is not None
    assert stored[1].parts[1] == {"type": "text", "text": "one", "state": "done"}
    late = await client.post(f"/api/chat/{handle}/stop")
    assert late.json() == {"success": True, "status": "stopped", "ended": True}  # [S3]


@pytest.mark.parametrize(("stops", "told"), [(1, "stopping"), (0, "ending")])
async def test_a_stop_of_a_run_that_is_about_to_end_tells_whether_a_stop_ends_it(
    house: House, stops: int, told: str
) -> None:
    client = await house.client()
    sealed, go_on = asyncio.Event(), asyncio.Event()

    async def wait_when_sealed(point: str) -> None:
        if point == "sealed":
            sealed.set()
            await go_on.wait()

    house.rig.fault = wait_when_sealed
    async with reading(client, "POST", "/api/chat", json=ASKED) as stream:
        await stream.until(b'"one"')
        for _ in range(stops):
            await client.post(f"/api/chat/{RUN}/stop")
        house.model.release()
        await sealed.wait()
        late = await client.post(f"/api/chat/{RUN}/stop")
        go_on.set()
        await stream.rest()

    assert late.json() == {"success": True, "status": told, "ended": False}  # [S1] [S3] C3


async def test_a_stop_with_nobody_at_work_is_recorded_and_somebody_is_called(house: House) -> None:
    client = await house.client()
    async with reading(client, "POST", "/api/chat", json=ASKED) as stream:
        await stream.until(b'"one"')
        house.rig.clock.now += house.rig.settings.lease_ms + 1  # its executor died long ago

        stopped = await client.post(f"/api/chat/{RUN}/stop")

        assert stopped.json()["status"] == "stopping"  # [S1] C18
        assert house.dispatch.nudged == [RUN]
        view = await house.rig.store.view(RUN)
        assert view is not None
        assert view.stop


async def test_a_stop_that_could_not_be_recorded_is_no_success(house: House) -> None:
    client = await house.client()
    house.dispatch.fault = RuntimeError("died before dispatch")
    await client.post("/api/chat", json=ASKED)
    house.rig.store._runs.clear()  # type: ignore[attr-defined] # the store lost everything

    stopped = await client.post(f"/api/chat/{RUN}/stop")

    assert (stopped.status_code, error(stopped)["retryable"], stopped.headers["retry-after"]) == (
        503,
        True,
        "1",
    )  # FR28


async def test_a_run_has_a_status_from_its_first_moment_that_agrees_with_its_log(house: House) -> None:
    client = await house.client()

    async with reading(client, "POST", "/api/chat", json=ASKED) as stream:
        await stream.until(b'"one"')
        handle = stream.headers["x-workflow-run-id"]
        live = (await client.get(f"/api/runs/{handle}")).json()
        house.model.release()
        whole = pieces(await stream.rest())
    after = (await client.get(f"/api/runs/{RUN}")).json()

    known = {
        "run_id": RUN, "conversation_id": "c1", "message_id": f"msg_{RUN.replace('-', '')}", "assistant": "bench",
        "transport": "workflow", "attempt": 1, "stop_requested": False,
    }  # fmt: skip
    assert live | known == live
    assert (live["status"], live["frames"], live["stored"]) == ("running", 6, False)  # [O1]
    assert after | known == after
    assert (after["status"], after["frames"], after["stored"]) == ("completed", len(whole), True)
    assert "one" not in str(after)


async def test_a_disconnect_does_not_stop_a_run(house: House) -> None:
    client = await house.client()

    async with reading(client, "POST", "/api/chat", json=ASKED) as stream:
        await stream.until(b'"one"')
        handle = stream.headers["x-workflow-run-id"]
    house.model.release()
    await house.dispatch.settled()

    whole = await client.get(f"/api/chat/{handle}/stream")
    assert types(whole.content)[-1] == "finish"  # [R11] REQ-E10 REQ-T7
    assert frame(pieces(whole.content)[-2])["data"]["outcome"] == "completed"


async def test_who_left_before_the_answer_was_whole_does_not_stop_the_run_either(house: House) -> None:
    client = await house.client()
    await client.get("/api/conversations")
    cookie = client.cookies["turnkeep_session"]
    body = b'{"message":"hi","conversation_id":"c1","run_id":"%s"}' % RUN.encode()
    head = b"POST /api/chat?stream=0 HTTP/1.1\r\nhost: x\r\ncookie: turnkeep_session=%s\r\ncontent-length: %d\r\n\r\n"

    async with house.wire(head % (cookie.encode(), len(body)) + body):
        await house.model.reached.wait()
    house.model.release()
    await house.dispatch.settled()

    again = await client.post("/api/chat?stream=0", json=ASKED)
    assert (again.json()["reply"], house.dispatch.started) == ("onetwo", [RUN])
