"""A stream and its connection: silence, slowness, departure, and a process that stops."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace

import httpx2
import pytest

from api.ports import ApiParts, Limits, Operations
from tests.contract.http_house import House, error, pieces, reading, running, saying, script, types, with_limits

ASKED = {"message": "hi", "conversation_id": "c1"}


@dataclass
class Counts:
    """A meter that tells when nobody reads any more."""

    answers: list[tuple[str, int]] = field(default_factory=list)
    open_streams: int = 0
    empty: asyncio.Event = field(default_factory=asyncio.Event)

    def answered(self, route: str, status: int, elapsed_ms: int) -> None:
        self.answers.append((route, status))

    def readers(self, open_streams: int) -> None:
        self.open_streams = open_streams
        if open_streams == 0:
            self.empty.set()


@pytest.fixture
def counts() -> Counts:
    return Counts()


@pytest.fixture
async def house(counts: Counts) -> AsyncIterator[House]:
    def counted(parts: ApiParts) -> ApiParts:
        return replace(parts, operations=Operations(meter=counts), limits=Limits(readers=3))

    async with running(counted) as opened:
        opened.plays(saying("one", "two"), hold=1)
        yield opened


async def test_a_quiet_stream_is_kept_alive_by_comments_that_take_no_index() -> None:
    async with running(with_limits(heartbeat_ms=20)) as house:
        house.plays(saying("one", "two"), hold=1)
        client = await house.client()

        async with reading(client, "POST", "/api/chat", json=ASKED) as stream:
            await stream.until(b": hb\n\n: hb\n\n")  # [R6] REQ-B21 FR56
            house.model.release()
            whole = await stream.rest()

    indices = [int(piece.split(b"\n")[0].removeprefix(b"id: ")) for piece in pieces(whole)]
    assert indices == list(range(len(indices)))  # [F6] FR04


async def test_a_process_that_stops_aborts_its_streams(house: House) -> None:
    client = await house.client()

    async with reading(client, "POST", "/api/chat", json=ASKED) as stream:
        await stream.until(b'"one"')
        house.application.drain()
        with pytest.raises(httpx2.RemoteProtocolError):  # [R8] the last chunk never came
            await stream.rest()
    refused = await client.post("/api/chat", json={"message": "next"})
    assert (refused.status_code, error(refused)["retryable"], refused.headers["retry-after"]) == (503, True, "1")
    assert (await client.get("/readyz")).status_code == 503
    assert (await client.get("/healthz")).status_code == 200


async def test_an_aborted_connection_is_closed_without_the_last_chunk(house: House) -> None:
    body = b'{"message":"hi"}'
    request = b"POST /api/chat HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % len(body) + body

    async with house.wire(request) as reader:
        await reader.readuntil(b'"one"')
        house.application.drain()
        rest = await reader.read()

    assert b"finish" not in rest  # [R8]
    assert not rest.endswith(b"0\r\n\r\n")


async def test_a_stream_whose_log_is_lost_is_aborted_and_the_reader_told_when_it_comes_back(house: House) -> None:
    client = await house.client()

    async with reading(client, "POST", "/api/chat", json=ASKED) as stream:
        await stream.until(b'"one"')
        house.rig.store._runs.clear()  # type: ignore[attr-defined] # as after a store that lost everything
        with pytest.raises(httpx2.RemoteProtocolError):  # not ended: that would look like success
            await stream.rest()
    again = await client.get(f"/api/chat/{stream.headers['x-workflow-run-id']}/stream", params={"startIndex": 6})

    assert (again.status_code, error(again)["retryable"]) == (503, True)  # FR06: no open, silent stream


async def test_a_connection_serves_again_after_a_stream_that_ended(house: House) -> None:
    house.model.release()
    body = b'{"message":"hi"}'
    request = b"POST /api/chat HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % len(body) + body

    async with house.wire(request * 2) as reader:
        for _ in range(2):
            head = await reader.readuntil(b"\r\n\r\n")
            stream = await reader.readuntil(b"data: [DONE]\n\n\r\n0\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200")
            assert stream.count(b"event: finish\n") == 1  # [R7] [L3]


async def test_over_the_bound_a_reader_is_told_at_once_to_come_back(house: House, counts: Counts) -> None:
    client = await house.client()

    async with reading(client, "POST", "/api/chat", json=ASKED) as first:
        await first.until(b'"one"')
        address = f"/api/chat/{first.headers['x-workflow-run-id']}/stream"
        async with reading(client, "GET", address) as second, reading(client, "GET", address) as third:
            await second.until(b'"one"')
            await third.until(b'"one"')
            assert counts.open_streams == 3
            for method, url in (("GET", address), ("POST", "/api/chat")):
                refused = await client.request(method, url, json={"message": "hi"} if method == "POST" else None)
                assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")  # FR33
            stop = await client.post(f"{address.removesuffix('/stream')}/stop")
            assert stop.status_code == 200
            for stream in (first, second, third):
                await stream.rest()
    await counts.empty.wait()
    assert (await client.get(address)).status_code == 200


async def test_who_left_is_forgotten(house: House, counts: Counts) -> None:
    client = await house.client()

    async with reading(client, "POST", "/api/chat", json=ASKED) as stream:
        await stream.until(b'"one"')
        assert counts.open_streams == 1

    await counts.empty.wait()  # the run still lives: its frames did not have to come for the leaving to be seen


async def test_a_reader_that_does_not_read_holds_up_nobody(house: House) -> None:
    long = script({"events": [{"type": "text", "text": "x" * 10_000, "repeat": 300}, {"type": "stop"}]})
    house.plays(long, hold=1)
    client = await house.client()

    async with reading(client, "POST", "/api/chat", json=ASKED) as stream:
        await stream.until(b"text-start")
        handle, cookie = stream.headers["x-workflow-run-id"], client.cookies["turnkeep_session"]
        headers = f"host: x\r\nconnection: close\r\ncookie: turnkeep_session={cookie}\r\n\r\n"
        async with house.wire(f"GET /api/chat/{handle}/stream HTTP/1.1\r\n{headers}".encode()) as idle:
            await idle.readuntil(b": open\n\n")
            house.model.release()
            whole = await stream.rest()  # 3 MB go by while the other connection stands still
            late = await idle.read()

    assert types(whole).count("text-delta") == 300
    assert late.count(b"event: text-delta\n") == 300  # FR33
    assert late.count(b"event: finish\n") == 1


async def test_answers_are_counted_by_route_and_never_by_path(house: House, counts: Counts) -> None:
    client = await house.client()
    house.model.release()

    handle = (await client.post("/api/chat", json=ASKED)).headers["x-workflow-run-id"]
    for address in (f"/api/chat/{handle}/stream", f"/api/runs/{handle}", "/healthz", "/nowhere", "/api/runs/none"):
        await client.get(address)
    await client.post(f"/api/chat/{handle}/stop")
    await client.post("/api/chat?stream=0", json={"message": "hi"})

    assert counts.answers == [
        ("chat", 200), ("stream", 200), ("status", 200), ("healthz", 200), ("unknown", 404), ("status", 404), ("stop", 200),
        ("chat", 200),
    ]  # fmt: skip
