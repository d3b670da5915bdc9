"""The Python clients, asyncio and threads, over real sockets: every shared case, and a cut after every frame."""

import asyncio
import json
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Any

import pytest
from turnkeep_client import AsyncClient, Client, ClientError, Limits, Lost

from tests.client_cases import RUN_ID, ClientCase, client_cases, encode, fold_case, stream_bytes
from tests.loopback import Answer, Asked, Cut, Loopback, whole

CASES = client_cases()
SHOWN_HERE = {name: case for name, case in CASES.items() if name not in {"silence", "back-off"}}  # these are about time
AT_ONCE = Limits(first_pause=0, recovery_pause=0)
HEADERS = {"content-type": "text/event-stream", "x-workflow-run-id": "run.h1", "x-chat-run-id": RUN_ID}

Reading = tuple[list[int], Any, ClientError | None]  # indices seen, message, error


class CaseServer:
    """Answers by a case and notes what was asked."""

    def __init__(self, case: ClientCase, pieces: int) -> None:
        self.case = case
        self.pieces = pieces
        self.left = list(case.exchanges)
        self.asked: list[str] = []

    async def respond(self, asked: Asked) -> Answer:
        self.asked.append(asked.line)
        exchange = self.left.pop(0)
        status, headers = exchange["status"], exchange.get("headers", {})
        if "frames" in exchange:
            return Answer(headers=headers, pieces=self._pieces(exchange))
        body = json.dumps(exchange["body"]).encode() if "body" in exchange else b""
        return Answer(status=status, headers=headers, pieces=whole(body))

    async def _pieces(self, exchange: dict[str, Any]) -> AsyncGenerator[bytes]:
        body = stream_bytes(self.case, exchange)
        for at in range(0, len(body), self.pieces):
            yield body[at : at + self.pieces]
        if exchange["end"] == "garbage":
            yield b"d\xff\xfe"
        if exchange["end"] != "close":
            raise Cut


async def by_async_client(url: str, case: ClientCase) -> Reading:
    seen: list[int] = []
    async with AsyncClient(url, limits=AT_ONCE) as client:
        start = case.start
        run = client.ask("What is a slice?", conversation_id="c-1", run_id=RUN_ID)
        if start is not None:
            run = client.resume(start["handle"], start["next"])
        try:
            async for event in run:
                seen.append(event.index)  # noqa: PERF401 - what was seen before an error counts
        except ClientError as error:
            return seen, run.message, error
        return seen, run.message, None


def by_client(url: str, case: ClientCase) -> Reading:
    seen: list[int] = []
    with Client(url, limits=AT_ONCE) as client:
        start = case.start
        run = client.ask("What is a slice?", conversation_id="c-1", run_id=RUN_ID)
        if start is not None:
            run = client.resume(start["handle"], start["next"])
        try:
            seen.extend(event.index for event in run)
        except ClientError as error:
            return seen, run.message, error
        return seen, run.message, None


async def read_by(kind: str, url: str, case: ClientCase) -> Reading:
    return await (by_async_client(url, case) if kind == "asyncio" else asyncio.to_thread(by_client, url, case))


@pytest.mark.parametrize("kind", ["asyncio", "threads"])
@pytest.mark.parametrize("case", SHOWN_HERE.values(), ids=SHOWN_HERE)
async def test_a_client_behaves_as_written(case: ClientCase, kind: str) -> None:
    server = CaseServer(case, 11)
    async with Loopback(server.respond) as loopback:
        seen, message, error = await read_by(kind, loopback.url, case)

    first = case.start["next"] if case.start else 0
    assert server.asked == [exchange["request"] for exchange in case.exchanges]
    assert seen == list(range(first, first + len(seen)))
    assert (error.kind if error else None) == ("gone" if isinstance(error, Lost) else case.outcome.get("kind"))
    assert message == (None if first else case.expected_message)


@pytest.mark.parametrize("kind", ["asyncio", "threads"])
async def test_a_cut_after_every_frame_loses_and_doubles_nothing(kind: str) -> None:
    """FR02, FR08, LAW-P2: at every frame the connection ends, cleanly or not, and the message is whole."""
    whole_case = fold_case("tools")
    asked: list[str] = []

    async def respond(request: Asked) -> Answer:
        asked.append(request.line)
        index = len(asked) - 1
        overlap = max(0, index - 1)
        sent = b"".join(encode(at, whole_case.frames[at]) for at in range(overlap, index + 1))
        return Answer(headers=HEADERS, pieces=whole(b": open\n\n" + sent, cut=index % 2 == 0))

    case = replace(CASES["undisturbed"], exchanges=[])
    async with Loopback(respond) as loopback:
        seen, message, error = await read_by(kind, loopback.url, case)

    count = len(whole_case.frames)
    reads = [f"GET /api/chat/run.h1/stream?startIndex={index}" for index in range(1, count)]
    assert (asked, seen, message, error) == (["POST /api/chat", *reads], list(range(count)), whole_case.message, None)


async def test_a_snapshot_goes_on_in_another_client() -> None:
    frames, message = fold_case("tools").frames, fold_case("tools").message

    async def respond(request: Asked) -> Answer:
        first = int(request.target.partition("startIndex=")[2] or 0)
        sent = b"".join(encode(at, frames[at]) for at in range(first, len(frames)))
        return Answer(headers=HEADERS, pieces=whole(sent))

    async with Loopback(respond) as loopback, AsyncClient(loopback.url) as client:
        for keep in range(1, len(frames)):
            run = client.ask("What is a slice?")
            async for event in run:
                if event.index == keep - 1:
                    break
            kept = json.loads(json.dumps(run.snapshot()))

            resumed = client.resume(kept)
            seen = [event.index async for event in resumed]

            assert (seen, resumed.message) == (list(range(keep, len(frames))), message)


@pytest.mark.parametrize(("fold", "status", "reason"), [("tools", 200, "stop"), ("failed", 502, "error")])
async def test_the_whole_answer_comes_in_one_piece(fold: str, status: int, reason: str) -> None:
    bodies: list[Any] = []
    message = fold_case(fold).message

    async def respond(request: Asked) -> Answer:
        bodies.append((request.line, json.loads(request.body)))
        body = json.dumps({"message": message, "finish_reason": reason}).encode()
        return Answer(status=status, headers={"content-type": "application/json"}, pieces=whole(body))

    async with Loopback(respond) as loopback, AsyncClient(loopback.url) as client:
        run = await client.ask_json("What is a slice?", run_id=RUN_ID)

    assert bodies == [("POST /api/chat?stream=0", {"message": "What is a slice?", "run_id": RUN_ID})]
    assert (run.outcome, run.finish_reason, run.message) == ("finished", reason, message)
    assert (run.error is None) == (status == 200)


async def test_an_answer_that_takes_longer_than_one_request_is_read_from_its_log() -> None:
    frames = fold_case("tools").frames

    async def respond(request: Asked) -> Answer:
        if request.method == "POST":
            error = {"error": {"kind": "timeout", "message": "It takes longer.", "retryable": True}}
            return Answer(status=408, headers=HEADERS, pieces=whole(json.dumps(error).encode()))
        sent = b"".join(encode(at, frame) for at, frame in enumerate(frames))
        return Answer(headers=HEADERS, pieces=whole(sent))

    async with Loopback(respond) as loopback, AsyncClient(loopback.url, limits=AT_ONCE) as client:
        run = await client.ask_json("What is a slice?")

    assert (run.outcome, run.message) == ("finished", fold_case("tools").message)


async def test_a_silent_connection_is_given_up_and_read_on() -> None:
    """REQ-T3, with a watchdog of a moment instead of 150 s."""
    frames, message = fold_case("plain").frames, fold_case("plain").message
    asked: list[str] = []

    async def silent() -> AsyncGenerator[bytes]:
        yield b"".join(encode(at, frame) for at, frame in enumerate(frames[:5]))
        await asyncio.Event().wait()

    async def respond(request: Asked) -> Answer:
        asked.append(request.line)
        rest = b"".join(encode(at, frame) for at, frame in enumerate(frames) if at >= 5)
        return Answer(headers=HEADERS, pieces=silent() if len(asked) == 1 else whole(rest))

    async with Loopback(respond) as loopback, AsyncClient(loopback.url, limits=Limits(silence=0.2)) as client:
        run = client.ask("Go on.")
        async for _ in run:
            pass

    assert asked == ["POST /api/chat", "GET /api/chat/run.h1/stream?startIndex=5"]
    assert run.message == message


async def test_a_stop_from_inside_the_loop_settles_the_run() -> None:
    frames, message = fold_case("stopped").frames, fold_case("stopped").message
    stop_came = asyncio.Event()

    async def until_stopped() -> AsyncGenerator[bytes]:
        for index, frame in enumerate(frames):
            if frame["type"] == "tool-input-start":
                await stop_came.wait()
            yield encode(index, frame)

    async def respond(request: Asked) -> Answer:
        if request.target.endswith("/stop"):
            stop_came.set()
            return Answer(pieces=whole(b"{}"))
        return Answer(headers=HEADERS, pieces=until_stopped())

    async with Loopback(respond) as loopback, AsyncClient(loopback.url) as client:
        run = client.ask("Go on.")
        confirmed = [await run.stop() async for event in run if event.text == "As far as I go"]

    assert (confirmed, run.outcome, run.finish_reason, run.message) == ([True], "finished", "other", message)


@pytest.mark.parametrize(("cuts", "outcome"), [(1, "finished"), (3, "stopped")])
async def test_a_line_that_is_cut_after_a_stop_is_come_back_to_once(cuts: int, outcome: str) -> None:
    """LAW-P2: what was said until the stop took hold is part of the answer. Who stopped does not wait for it for long."""
    frames, message = fold_case("stopped").frames, fold_case("stopped").message
    shown = next(at for at, frame in enumerate(frames) if frame.get("delta") == "As far as I go") + 1
    asked: list[str] = []

    async def respond(request: Asked) -> Answer:
        if request.target.endswith("/stop"):
            return Answer(pieces=whole(b"{}"))
        asked.append(request.line)
        first, last = len(asked) == 1, len(asked) > cuts
        now = frames[:shown] if first else frames[shown:] if last else []
        sent = b"".join(encode(at, frame) for at, frame in enumerate(now, 0 if first else shown))
        return Answer(headers=HEADERS, pieces=whole(sent, cut=not last))

    async with Loopback(respond) as loopback, AsyncClient(loopback.url, limits=AT_ONCE) as client:
        run = client.ask("Go on.")
        confirmed = [await run.stop() async for event in run if event.text == "As far as I go"]

    assert (confirmed, run.outcome, len(asked)) == ([True], outcome, 2)
    assert (run.message == message) == (outcome == "finished")
