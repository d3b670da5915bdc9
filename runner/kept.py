"""What an executor keeps of what it has written, in case the store loses it.

The newest stretch of the log, append by append, with its deltas and ledger entries, and the checkpoint that stands. A store that
was started again lacks the last second or two: that much is appended again. One that lost more is given the run anew, and its
log then begins with what is kept.
"""

from collections import deque
from dataclasses import replace

from checkpoints.port import Append, Claimed, Loaded, Remains
from engine import checkpoint
from frames.sse import split
from protocol.checkpoint import TurnState
from protocol.log import Entry

# Two seconds of the fastest model, which is what `appendfsync everysec` may lose, are a tenth of this, and the largest frame
# fits beside them. More would only spare readers of an emptied store the way to the stored message.
MAX_KEPT_BYTES = 512 * 1024
APPEND_BYTES = 300  # what an append costs beside its payload: it may hold one short frame


class Kept:
    """`next` is the index after the last frame that the store took, `inputs` what was read since the checkpoint, by id."""

    def __init__(self, claimed: Claimed, loaded: Loaded, state: TurnState | None) -> None:
        self.next = claimed.next
        self.stop = claimed.stop
        self.inputs: dict[str, bytes] = {}
        self._request = loaded.request
        self._state = state
        self._index = loaded.index
        self._ledger = dict(loaded.ledger)
        self._first = claimed.next
        self._appends: deque[Append] = deque()
        self._size = 0

    @property
    def _taken(self) -> int:
        return self._state.taken if self._state else 0

    def taken(self, append: Append, state: TurnState | None) -> None:
        """The store took this append; `state` is what its delta leads to."""
        self.next = append.start + append.count
        self._appends.append(append)
        self._size += _weight(append)
        while self._size > MAX_KEPT_BYTES and len(self._appends) > 1:
            self._size -= _weight(self._appends.popleft())
            self._first = self._appends[0].start
        if state is not None:
            read = state.taken - self._taken
            self.inputs = dict(list(self.inputs.items())[read:])
            self._state, self._index = state, self.next
        if state is not None and state.phase == "open":
            self._ledger.clear()  # the step is closed, its calls are history
        elif append.ledger:
            self._ledger.update(append.ledger)

    def since(self, index: int) -> list[Append] | None:
        """What to append again to a log that ends at `index`. None where it is not kept any more."""
        if index < self._first:
            return None
        lost = [append for append in self._appends if append.start >= index or append.start + append.count > index]
        if lost and lost[0].start < index:
            lost[0] = _from(lost[0], index)
        return lost

    def remains(self) -> Remains:
        """The whole run, as far as it is known here."""
        entries = [
            Entry(append.start + append.count, append.count, append.payload) for append in self._appends if append.count
        ]
        return Remains(
            request=self._request,
            base=None if self._state is None else checkpoint.snapshot(self._state),
            index=self._index,
            ledger=dict(self._ledger),
            entries=tuple(entries),
            next=self.next,
            stop=self.stop,
            taken=self._taken,
            inputs=dict(self.inputs),
        )


def _weight(append: Append) -> int:
    weight = APPEND_BYTES + len(append.payload)
    if append.delta is not None or append.ledger:  # few are
        weight += len(append.delta or b"") + sum(map(len, append.ledger.values()))
    return weight


def _from(append: Append, index: int) -> Append:
    skip = index - append.start
    payload = b"".join(split(append.payload)[skip:])
    return replace(append, start=index, count=append.count - skip, payload=payload)
