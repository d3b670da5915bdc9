"""A real nginx, set up as deploy/nginx.conf says, between a client and a server whose every byte is the test's."""

import asyncio
import json
import subprocess
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from api.errors import error_value, not_found
from api.ports import Limits
from api.stream import HEADERS
from app.stack.ports import free_port
from protocol.errors import TurnkeepError
from tests.loopback import Answer, Asked, Loopback, whole
from tests.nginx import Front, command, front

# The second is what a stream that has nothing to say sends (FR56).
PIECES = [b": open\n\n", b": \n\n", b'id: 0\nevent: start\ndata: {"type":"start"}\n\n', b"data: [DONE]\n\n"]
GATHERED = {"proxy_buffering off;": "proxy_buffering on;"}
COMPRESSING = {"accept-encoding": "gzip, br"}
HANDLE = "run.secret"


class Scripted:
    """An API process that sends a piece of a stream only when it is told that the client has the one before."""

    def __init__(self, headers: dict[str, str] | None = None) -> None:
        self.headers = HEADERS if headers is None else headers
        self.asked: list[Asked] = []
        self.read: list[bytes] = []
        self.told: asyncio.Queue[None] = asyncio.Queue()
        self.waiting, self.left = asyncio.Event(), asyncio.Event()

    async def __call__(self, asked: Asked) -> Answer:
        self.asked.append(asked)
        match asked.target.partition("?")[0].rpartition("/")[2]:
            case "stream" | "chat":
                return Answer(headers=self.headers, pieces=self._pieces())
            case "cut":
                return Answer(headers=self.headers, pieces=whole(PIECES[0], cut=True))
            case "silent":
                return Answer(status=0, pieces=whole(b""))
            case "chat.js":
                return Answer(headers={"content-type": "text/javascript"}, pieces=whole(b"// as the page's\n" * 500))
            case _:
                return Answer(headers={"content-type": "application/json"}, pieces=whole(b"{}"))

    async def _pieces(self) -> AsyncGenerator[bytes]:
        try:
            for piece in PIECES:
                yield piece
                self.waiting.set()
                await self.told.get()
        finally:
            self.left.set()


@asynccontextmanager
async def before(folder: Path, server: Scripted, changes: dict[str, str] | None = None) -> AsyncIterator[Front]:
    async with Loopback(server) as api:
        with front(folder, api.url.removeprefix("http://"), changes=changes) as running:
            yield running


@asynccontextmanager
async def before_unframed(folder: Path, server: Scripted, changes: dict[str, str]) -> AsyncIterator[Front]:
    """As `before`, but an answer ends with its connection, as it does to a proxy that asks in HTTP/1.0, nginx's default."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = await reader.readline()
        answer = await server(Asked(method="GET", target=line.split()[1].decode(), headers={}, body=b""))
        head = ["HTTP/1.0 200 OK", *(f"{name}: {value}" for name, value in answer.headers.items()), "", ""]
        writer.write("\r\n".join(head).encode())
        async for piece in answer.pieces:
            writer.write(piece)
            await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as api:
        with front(folder, f"127.0.0.1:{api.sockets[0].getsockname()[1]}", changes=changes) as running:
            yield running


def client_of(proxy: Front, *, address: str = "127.0.0.1") -> httpx2.AsyncClient:
    transport = httpx2.AsyncHTTPTransport(local_address=address)
    return httpx2.AsyncClient(base_url=proxy.url, transport=transport, timeout=20)


async def pieces_of(client: httpx2.AsyncClient, server: Scripted, path: str, method: str = "GET") -> list[bytes]:
    """Read a stream, asking for the next piece each time one came."""
    async with client.stream(method, path, headers=COMPRESSING) as answer:
        assert {name: answer.headers[name] for name in server.headers} == server.headers
        async for piece in answer.aiter_bytes():
            server.read.append(piece)
            server.told.put_nowait(None)
    return server.read


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/api/chat"), ("GET", f"/api/chat/{HANDLE}/stream"), ("GET", "/api/chat/stream")]
)
async def test_what_is_written_arrives_before_the_next_is(tmp_path: Path, method: str, path: str) -> None:
    server = Scripted()
    async with before(tmp_path, server) as proxy, client_of(proxy) as client:
        assert await pieces_of(client, server, path, method) == PIECES  # REQ-Y12, FR56, FR57


@pytest.mark.parametrize(("headers", "changes"), [({}, {}), (HEADERS, GATHERED)], ids=["place", "header"])
async def test_the_place_is_enough_and_so_is_the_header(
    tmp_path: Path, headers: dict[str, str], changes: dict[str, str]
) -> None:
    server = Scripted({"content-type": "text/event-stream", **headers})
    async with before_unframed(tmp_path, server, changes) as proxy, client_of(proxy) as client:
        assert await pieces_of(client, server, "/api/chat/stream") == PIECES  # FR57


async def test_without_both_nothing_comes_before_the_end(tmp_path: Path) -> None:
    """Shows what FR57 is about, and that the tests above can fail."""
    server = Scripted({"content-type": "text/event-stream"})
    async with (
        before_unframed(tmp_path, server, GATHERED) as proxy,
        client_of(proxy) as client,
        client_of(proxy) as other,
    ):
        reading = asyncio.create_task(pieces_of(client, server, "/api/chat/stream"))
        await server.waiting.wait()
        # nginx takes events as they come: when this answer is back, it has long had the first piece.
        assert (await other.get("/healthz")).json() == {}
        assert server.read == []

        for _ in PIECES:
            server.told.put_nowait(None)
        assert b"".join(await reading) == b"".join(PIECES)


async def test_a_cut_is_no_end(tmp_path: Path) -> None:
    async with (
        before(tmp_path, Scripted()) as proxy,
        client_of(proxy) as client,
        client.stream("GET", "/api/chat/cut") as answer,
    ):
        pieces = answer.aiter_raw()
        assert await anext(pieces) == PIECES[0]
        with pytest.raises(httpx2.RemoteProtocolError):
            await anext(pieces)


async def test_the_api_learns_of_a_reader_that_leaves(tmp_path: Path) -> None:
    server = Scripted()
    async with before(tmp_path, server) as proxy, client_of(proxy) as client:
        async with client.stream("GET", "/api/chat/stream") as answer:
            await anext(answer.aiter_raw())
        await server.left.wait()


async def test_a_body_may_be_as_large_as_the_api_takes(tmp_path: Path) -> None:
    most, server = Limits().body_bytes, Scripted()
    error = TurnkeepError("too_large", f"The body may have at most {most} bytes.")
    async with before(tmp_path, server) as proxy, client_of(proxy) as client:
        taken = await client.post("/api/conversations", content=b"x" * most)
        refused = await client.post("/api/conversations", content=b"x" * (most + 1))

    assert (taken.status_code, [len(one.body) for one in server.asked]) == (200, [most])
    assert (refused.status_code, refused.json()) == (413, {"error": error_value(error)})


async def test_a_process_that_is_gone_is_passed_over(tmp_path: Path) -> None:
    server = Scripted()
    async with Loopback(server) as api:
        with front(tmp_path, "127.0.0.1:1", api.url.removeprefix("http://")) as proxy:
            async with client_of(proxy) as client:
                answers = [await client.post("/api/conversations") for _ in range(3)]

    assert [answer.status_code for answer in answers] == [200, 200, 200]


async def test_a_question_that_may_have_arrived_is_not_sent_again(tmp_path: Path) -> None:
    server = Scripted()
    async with Loopback(server) as one, Loopback(server) as two:
        with front(tmp_path, *(api.url.removeprefix("http://") for api in (one, two))) as proxy:
            async with client_of(proxy) as client:
                answer = await client.post("/api/silent")

    assert [asked.line for asked in server.asked] == ["POST /api/silent"]
    error = TurnkeepError("unavailable", "No process answers just now.")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert answer.json() == {"error": error_value(error)}


async def test_metrics_do_not_leave_the_house(tmp_path: Path) -> None:
    server = Scripted()
    async with before(tmp_path, server) as proxy, client_of(proxy) as client:
        answer = await client.get("/metrics")

    assert (answer.status_code, answer.json()) == (404, {"error": error_value(not_found())})
    assert server.asked == []


async def test_only_the_proxy_that_is_named_says_who_a_client_is(tmp_path: Path) -> None:
    server, said = (
        Scripted(),
        {"x-forwarded-for": "203.0.113.7", "x-forwarded-proto": "https", "host": "chat.example:8"},
    )
    async with (
        before(tmp_path, server) as proxy,
        client_of(proxy) as named,
        client_of(proxy, address="127.0.0.2") as stranger,
    ):
        await named.get("/api/runs/1", headers=said)
        await stranger.get("/api/runs/1", headers=said)

    names = ("x-forwarded-for", "x-forwarded-proto", "host")
    assert [tuple(asked.headers[name] for name in names) for asked in server.asked] == [
        ("203.0.113.7", "https", "chat.example:8"),
        ("127.0.0.2", "http", "chat.example:8"),
    ]


async def test_the_page_is_compressed_and_the_api_is_not(tmp_path: Path) -> None:
    async with before(tmp_path, Scripted()) as proxy, client_of(proxy) as client:
        answers = [await client.get(path, headers=COMPRESSING) for path in ("/chat.js", "/api/chat.js")]

    assert [answer.headers.get("content-encoding") for answer in answers] == ["gzip", None]


async def test_the_logs_hold_routes_and_no_handles(tmp_path: Path) -> None:
    server = Scripted()
    async with before(tmp_path, server) as proxy, client_of(proxy) as client:
        ids = []
        for path in (
            "/",
            f"/api/runs/{HANDLE}",
            f"/api/chat/{HANDLE}/cut",
            f"/api/chat/{HANDLE}/silent?token={HANDLE}",
        ):
            async with client.stream("GET", path) as answer:
                ids.append(answer.headers["x-request-id"])
        written = proxy.stop()

    lines = [json.loads(line) for line in written.splitlines()]
    assert [(line["id"], line["route"], line["status"]) for line in lines] == [
        (ids[0], "page", "200"),
        (ids[1], "/api/runs/*", "200"),
        (ids[2], "other", "200"),
        (ids[3], "other", "503"),
    ]
    assert [asked.headers["x-request-id"] for asked in server.asked] == ids
    assert HANDLE not in written


def test_nginx_accepts_its_configuration(tmp_path: Path) -> None:
    checked = subprocess.run(
        [*command(tmp_path, free_port("127.0.0.1"), ["127.0.0.1:8000"]), "-t"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (checked.returncode, "test is successful" in checked.stderr) == (0, True), checked.stderr
