"""The order of commands and replies on one connection, byte by byte and without a server."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.errors import StoreUnavailable
from resp.connection import Bounds, Connection, Push, Reply
from resp.errors import ReplyError, ScriptMissing

PATIENT = Bounds(command=60)
HASTY = Bounds(command=0.01, silence=60)


class Wire(asyncio.Transport):
    """A transport that keeps what was written."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self.aborted = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written.append(bytes(data))

    def abort(self) -> None:
        self.aborted = True


def connected(bounds: Bounds = PATIENT, pushes: list[Push] | None = None) -> tuple[Connection, Wire]:
    heard: list[Push] = [] if pushes is None else pushes
    connection, wire = Connection(bounds, heard.append), Wire()
    connection.connection_made(wire)
    return connection, wire


async def settle(*futures: "asyncio.Future[Reply]") -> list[object]:
    return list(await asyncio.gather(*futures, return_exceptions=True))


async def refused(connection: Connection) -> bool:
    """Whether a command is not even sent."""
    try:
        await connection.send("GET", "a")
    except StoreUnavailable:
        return True
    return False


async def test_what_is_sent_in_one_turn_of_the_loop_leaves_in_one_write() -> None:
    connection, wire = connected()

    first, second = connection.send("GET", "a"), connection.send("SET", b"b", 7)
    assert wire.written == []
    connection.data_received(b"$1\r\nx\r\n+OK\r\n")

    assert await settle(first, second) == [b"x", b"OK"]
    assert wire.written == [b"*2\r\n$3\r\nGET\r\n$1\r\na\r\n*3\r\n$3\r\nSET\r\n$1\r\nb\r\n$1\r\n7\r\n"]


async def test_replies_arrive_in_pieces_of_any_size() -> None:
    connection, _ = connected()
    futures = [connection.send("X") for _ in range(6)]

    for byte in b":1\r\n$-1\r\n_\r\n#f\r\n*2\r\n:1\r\n$1\r\n\r\r\n%1\r\n$1\r\nk\r\n,1.5\r\n":
        connection.data_received(bytes([byte]))

    assert await settle(*futures) == [1, None, None, False, [1, b"\r"], {b"k": 1.5}]


async def test_a_cancelled_commands_reply_is_nobody_elses() -> None:
    """FR31."""
    connection, _ = connected()
    mine, yours = connection.send("GET", "mine"), connection.send("GET", "yours")

    mine.cancel()
    connection.data_received(b"$4\r\nmine\r\n$5\r\nyours\r\n")

    assert await yours == b"yours"


async def test_a_timed_out_commands_reply_is_nobody_elses() -> None:
    """FR31."""
    connection, wire = connected(HASTY)
    late = connection.send("GET", "late")
    with pytest.raises(StoreUnavailable):
        await late

    next_one = connection.send("GET", "next")
    connection.data_received(b"$4\r\nlate\r\n$4\r\nnext\r\n")

    assert (await next_one, wire.aborted) == (b"next", False)


async def test_every_command_times_out_in_its_turn() -> None:
    connection, _ = connected(HASTY)
    futures = [connection.send("GET", "a")]
    await asyncio.wait(futures)
    futures += [connection.send("GET", "b"), connection.send("GET", "c")]

    assert [type(result) for result in await settle(*futures)] == [StoreUnavailable] * 3


async def test_a_peer_that_says_nothing_is_given_up() -> None:
    connection, wire = connected(Bounds(command=0.01, silence=0.02))
    waiting = connection.send("GET", "a")

    await connection.lost

    assert (wire.aborted, await settle(waiting)) == (True, [waiting.exception()])
    assert isinstance(waiting.exception(), StoreUnavailable)


async def test_with_the_connection_everything_in_flight_fails_once() -> None:
    connection, wire = connected()
    flying = [connection.send("INCR", "a"), connection.send("INCR", "a")]
    cancelled = connection.send("INCR", "a")
    cancelled.cancel()

    connection.connection_lost(None)

    assert [type(result) for result in await settle(*flying)] == [StoreUnavailable] * 2
    assert await refused(connection)
    assert (wire.written, connection.lost.done()) == ([], True)  # what had not left is not sent later


@pytest.mark.parametrize("stray", [b"+OK\r\n", b"?nonsense\r\n"], ids=["a reply to nothing", "no RESP at all"])
async def test_a_stream_that_makes_no_sense_is_left(stray: bytes) -> None:
    """FR31: nothing after it can be trusted."""
    connection, wire = connected()
    answered, waiting = connection.send("PING"), connection.send("PING")

    connection.data_received(b"+PONG\r\n+PONG\r\n" + stray + b"$5\r\nother\r\n")

    assert [wire.aborted, connection.lost.done()] == [True, True]
    assert len(await settle(answered, waiting)) == 2
    assert await refused(connection)


async def test_pushes_go_to_the_callback_and_answer_no_command() -> None:
    pushes: list[Push] = []
    connection, _ = connected(pushes=pushes)
    reply = connection.send("GET", "a")

    connection.data_received(b">3\r\n$8\r\nsmessage\r\n$1\r\nc\r\n$2\r\nhi\r\n$1\r\nx\r\n")

    assert (await reply, pushes) == (b"x", [[b"smessage", b"c", b"hi"]])


async def test_a_subscription_is_answered_by_its_own_push_or_by_an_error() -> None:
    pushes: list[Push] = []
    connection, _ = connected(pushes=pushes)
    entered, left, moved = (
        connection.send("SSUBSCRIBE", "c"),
        connection.send("SUNSUBSCRIBE", "c"),
        connection.send("SSUBSCRIBE", "d"),
    )
    after = connection.send("PING")

    connection.data_received(b">3\r\n$12\r\nsunsubscribe\r\n$1\r\nz\r\n:0\r\n")  # nobody asked for this one
    connection.data_received(
        b">3\r\n$10\r\nssubscribe\r\n$1\r\nc\r\n:1\r\n>3\r\n$12\r\nsunsubscribe\r\n$1\r\nc\r\n:0\r\n"
    )
    connection.data_received(b"-MOVED 1 other:6379\r\n$4\r\nPONG\r\n")

    results = await settle(entered, left, moved, after)
    assert results == [[b"ssubscribe", b"c", 1], [b"sunsubscribe", b"c", 0], moved.exception(), b"PONG"]
    assert isinstance(moved.exception(), StoreUnavailable)
    assert pushes == [[b"sunsubscribe", b"z", 0]]


async def test_error_replies_say_what_to_do_next() -> None:
    connection, _ = connected()
    futures = [connection.send("X") for _ in range(4)]

    connection.data_received(b"-ERR unknown\r\n-NOSCRIPT none\r\n-OOM used\r\n-READONLY You\r\n")

    results = await settle(*futures)
    assert [type(result) for result in results] == [ReplyError, ScriptMissing, StoreUnavailable, StoreUnavailable]
    assert [str(result) for result in results[2:]] == [
        "The run store is out of memory.",
        "The run store is a replica that takes no writes.",
    ]


async def test_commands_in_flight_are_bounded() -> None:
    connection, _ = connected(Bounds(in_flight=2))
    kept = [connection.send("GET", "a"), connection.send("GET", "b")]

    assert await refused(connection)
    connection.data_received(b":1\r\n")
    kept.append(connection.send("GET", "d"))
    connection.data_received(b":2\r\n:3\r\n")

    assert await settle(*kept) == [1, 2, 3]


@given(plan=st.lists(st.tuples(st.booleans(), st.integers(1, 9)), max_size=30))
async def test_whoever_leaves_the_others_get_their_own_reply(plan: list[tuple[bool, int]]) -> None:
    """FR31: any caller may leave at any moment, bytes come as they like."""
    connection, _ = connected()
    futures = [connection.send("ECHO", number) for number in range(len(plan))]
    stream = b"".join(b":%d\r\n" % number for number in range(len(plan)))

    for future, (leaves, size) in zip(futures, plan, strict=True):
        if leaves:
            future.cancel()
        connection.data_received(stream[:size])
        stream = stream[size:]
    connection.data_received(stream)

    replies = [None if future.cancelled() else future.result() for future in futures]
    assert [reply for reply in replies if reply is not None] == [
        number for number, reply in enumerate(replies) if reply is not None
    ]
    assert all(future.done() for future in futures)
