"""What an executor keeps of its own writing."""

from checkpoints.port import Append, Claimed, Grip, Loaded, Remains
from engine.checkpoint import snapshot
from frames import sse
from protocol.checkpoint import Message, TurnState
from protocol.log import Entry
from runner.kept import MAX_KEPT_BYTES, Kept

GRIP = Grip("run", 2, "owner")
LOADED = Loaded(request=b"request", deltas=(b"d",), index=3, ledger={"1.0": b"started"})
ASKED = TurnState(run_id="run", message=Message(id="m"), phase="asked")


def kept(state: TurnState | None = ASKED) -> Kept:
    return Kept(Claimed(grip=GRIP, next=5, stop=False, room=1 << 20), LOADED, state)


def written(start: int, count: int, size: int = 0, ledger: dict[str, bytes] | None = None) -> Append:
    pieces = [
        sse.encode(index, {"type": "text-delta", "id": "t1", "delta": "x" * size})
        for index in range(start, start + count)
    ]
    return Append(start=start, count=count, payload=b"".join(pieces), ledger=ledger or {})


def test_what_a_log_lacks_is_what_was_written_from_there() -> None:
    """C9: also what came without frames, and half of an append."""
    book = kept()
    first, ledger, second = written(5, 1), written(6, 0, ledger={"1.0": b"finished"}), written(6, 3)
    for append in (first, ledger, second):
        book.taken(append, None)

    assert [book.since(index) for index in (4, 5, 6, 9)] == [None, [first, ledger, second], [ledger, second], []]
    assert book.since(7) == [written(7, 2)]


def test_no_more_is_kept_than_the_limit() -> None:
    """The oldest goes first, and the log of a run put back begins with what is left."""
    book = kept()
    large = [written(index, 2, MAX_KEPT_BYTES // 4) for index in (5, 7, 9)]
    for append in large:
        book.taken(append, None)

    assert (book.since(8), book.since(9)) == (None, large[2:])
    assert book.remains().entries == (Entry(11, 2, large[2].payload),)


def test_what_remains_is_the_state_of_what_the_store_took() -> None:
    """C5: the newest checkpoint, whole, with the ledger of the step that is open in it."""
    book = kept()
    book.taken(written(5, 2, ledger={"1.0": b"shown", "1.1": b"started"}), None)

    asked = Remains(
        request=b"request",
        base=snapshot(ASKED),
        index=3,
        ledger={"1.0": b"shown", "1.1": b"started"},
        entries=(Entry(7, 2, written(5, 2).payload),),
        next=7,
    )
    assert book.remains() == asked

    closed = ASKED.model_copy(update={"phase": "open", "step": 2})
    book.stop = True
    book.taken(written(7, 1, ledger={"1.1": b"shown"}), closed)

    remains = book.remains()
    assert (remains.base, remains.index, remains.ledger) == (snapshot(closed), 8, {})
    assert (remains.next, remains.stop) == (8, True)


def test_before_anything_was_written_there_is_no_checkpoint() -> None:
    assert kept(None).remains().base is None


def test_inputs_are_kept_until_a_checkpoint_has_taken_them_in() -> None:
    """C5, C12."""
    book = kept(ASKED.model_copy(update={"taken": 2}))
    book.inputs.update({"c": b"three", "d": b"four"})
    before = book.remains()
    book.taken(written(5, 1), ASKED.model_copy(update={"taken": 3}))
    after = book.remains()

    assert (before.taken, before.inputs) == (2, {"c": b"three", "d": b"four"})
    assert (after.taken, after.inputs) == (3, {"d": b"four"})
