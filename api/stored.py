"""A finished run whose log is not kept any more, read from its stored message.

Only from the beginning: the indices of such a reading are its own and have nothing to do with the log's.
"""

from api.errors import not_found
from api.gate import gone
from frames.replay import frames_of
from frames.sse import encode
from protocol.checkpoint import Message
from records.records import Records
from records.values import Key, Run, Span


class StoredFrames:
    """An `api.stream.FrameReader` that has everything at once."""

    def __init__(self, payload: bytes) -> None:
        self.ended = False
        self._payload = payload

    async def next(self, timeout: float) -> bytes:
        self.ended = True
        return self._payload

    def close(self) -> None:
        pass


async def stored_frames(records: Records, run: Run) -> StoredFrames:
    """The run's frames out of its stored answer. Raises TurnkeepError: `not_found`; `gone` where none is stored."""
    key = Key(owner=run.owner, conversation_id=run.conversation_id, tenant=run.tenant)
    after = await records.messages(key, Span(limit=1, past=run.sequence))  # the answer's place is the next one
    if after is None:
        raise not_found()  # its conversation was deleted
    if not after or after[0].id != run.message_id:
        raise gone(run)
    message = Message(id=run.message_id, parts=after[0].parts)
    frames = frames_of(message, status=run.status, kind=run.kind, model=after[0].model)
    return StoredFrames(b"".join(encode(index, frame) for index, frame in enumerate(frames)))
