"""Reading a run to its end: every decision of the client, and no I/O.

`Reading.steps()` is a generator. It yields what it needs done (`Send`, `Read`, `Pause`, …) and is sent the answer, and it
yields an `Event` for each frame. The sync and the async client are shells that do as they are told, so there is one policy.

Rules
 - A frame counts by the index in its `id:` line. Below the next index it is old and dropped, above it is a gap: the log is
   read again from the next one and nothing is appended behind a hole (FR02).
 - The run id is minted by the client, so a question whose answer never came is sent again without being asked twice.
 - After `finish`, and after a stop that the server confirmed, nothing is read again.
 - A handle that the server no longer takes (401) is renewed by our session: the conversation's stream names the new one (FR44).
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal
from urllib.parse import quote

from turnkeep_client import fold
from turnkeep_client.errors import Damaged, Lost, Refused, Unreachable
from turnkeep_client.limits import Limits
from turnkeep_client.sse import FrameParser
from turnkeep_client.steps import Event, Pause, Read, ReadAll, Reply, Send, Steps

Outcome = Literal["", "finished", "stopped", "recovered"]

PASSING = frozenset({408, 425, 502, 503, 504})  # the same request may succeed in a moment
PASSING_FOR_READERS = frozenset({429, 500})  # who asks is told these, who reads comes back
GONE = frozenset({204, 404, 410})
MAX_DIGITS = 4_300  # CPython's own limit for int(text)


@dataclass(slots=True, kw_only=True)
class Place:
    """Where a run is and how far it was read: what to keep, as JSON, to go on in another process.

    `message` is the fold of the frames before `next`. It is None where somebody kept only a handle and an index: the rest of
    the frames can be read then, but not folded.
    """

    run_id: str = ""
    conversation_id: str = ""
    handle: str = ""
    next: int = 0
    message: fold.Message | None = None


class Reading:
    """One run being read. `question` is the request that starts it, None for a run that is there already."""

    def __init__(
        self,
        place: Place,
        question: Send | None,
        *,
        limits: Limits,
        chance: Callable[[], float],
        now: Callable[[], float],
    ) -> None:
        self.place = place
        self.outcome: Outcome = ""
        self.finish_reason = ""
        self.stopped = False  # the server confirmed that it stops
        self._question = question
        self.limits = limits
        self.chance = chance
        self._now = now
        self._asked = bool(place.handle)  # the question was accepted: there is something to come back to
        self._renewing = False
        self._failures = 0
        self._damaged = 0
        self._retry_after = 0.0

    def steps(self) -> Steps:
        """Everything to the end. Raises ClientError where the end cannot be reached."""
        while not self.outcome:
            if self._failures > self.limits.failures:
                raise Unreachable("unavailable", "The connection could not be restored.", retryable=True)
            if self._damaged >= self.limits.damaged:
                raise Damaged("upstream", "The answer arrived damaged.", retryable=True)
            yield from self._once()
        if self.outcome == "stopped" and self.place.message is not None:
            self.place.message = fold.settle(self.place.message)

    def _once(self) -> Steps:
        yield from self._try()
        if self.outcome:
            return
        if self.stopped and self._failures:
            self.outcome = "stopped"  # its end is not to be had, and nobody waits for it
            return
        self._failures += 1
        pause = self.limits.back_off(self._failures, self.chance())
        yield Pause(max(pause, self._retry_after))
        self._retry_after = 0.0

    def _try(self) -> Steps:
        request = self._request()
        if request is None:
            yield from self._recover()
            return
        reply: Reply | None = yield request
        if reply is None:
            return
        if request.query.get("stream") == "0":
            yield from self._take(reply)
        elif reply.status == 200:
            yield from self._read(reply)
        else:
            yield from self._refused(reply)

    def _request(self) -> Send | None:
        """How to reach the log now: by the handle, and without one by the question itself, which the server knows again."""
        start = {"startIndex": str(self.place.next)}
        if self._renewing:
            return Send("GET", f"/api/chat/{quote(self.place.conversation_id, safe='')}/stream")
        if self.place.handle:
            return Send("GET", f"/api/chat/{quote(self.place.handle, safe='')}/stream", start)
        if self._question is not None and self.place.next:
            return replace(self._question, query={**self._question.query, **start})
        return self._question

    def _read(self, reply: Reply) -> Steps:
        if not self._adopt(reply):
            yield from self._recover()
            return
        since = self._now()
        parser = FrameParser()
        try:
            while not self.outcome and (chunk := (yield Read())) is not None:
                for index, data in parser.feed(chunk):
                    if index >= self.place.next and not self.outcome:
                        yield Event(index, self._apply(index, data))
        except (ValueError, KeyError, TypeError):  # not UTF-8, not JSON, no frame, a gap: reading on would add to it
            self._damaged += 1
        if self._now() - since > self.limits.longest_pause:
            self._failures = 0  # it was quiet, not broken

    def _take(self, reply: Reply) -> Steps:
        """The whole answer in one piece. Cut, it is asked for again: the run id is the same.

        A turn that failed has the status of its error and is whole all the same.
        """
        body = yield ReadAll()
        if body is None:
            return
        try:
            answer = json.loads(body, parse_int=_exact)
            self.place.message, self.finish_reason = answer["message"], answer["finish_reason"]
        except (ValueError, KeyError, TypeError):
            yield from self._refused(reply, body)
        else:
            self.outcome = "finished"

    def _adopt(self, reply: Reply) -> bool:
        """Take over what the headers say. False: the conversation's active run is another one, ours has ended."""
        run_id = reply.headers.get("x-chat-run-id", self.place.run_id)
        if self._renewing and self.place.run_id and run_id != self.place.run_id:
            return False
        self._asked = True
        self._renewing = False
        self.place.run_id = run_id
        self.place.handle = reply.headers.get("x-workflow-run-id", self.place.handle)
        return True

    def _apply(self, index: int, data: str) -> fold.Frame:
        if index > self.place.next:
            raise ValueError("frames are missing before this one")
        frame: fold.Frame = json.loads(data, parse_int=_exact)
        if self.place.message is not None:
            self.place.message = fold.fold(self.place.message, frame)
        self.place.next = index + 1
        self._failures = self._damaged = 0
        if frame["type"] == "data-run":
            self.place.conversation_id = self.place.conversation_id or frame["data"]["conversationId"]
        elif frame["type"] == "finish":
            self.outcome = "finished"
            self.finish_reason = frame["finishReason"]
        return frame

    def _refused(self, reply: Reply, body: bytes | None = None) -> Steps:
        asking = not self._asked
        self._retry_after = _seconds(reply.headers.get("retry-after", ""))
        if reply.status == 408 and "x-workflow-run-id" in reply.headers:
            self._adopt(reply)  # it takes longer than one answer may: the run goes on, and its log is read
            return
        if reply.status in PASSING or (reply.status in PASSING_FOR_READERS and not asking):
            return
        if reply.status in GONE and not asking:
            yield from self._recover()
        elif reply.status == 401 and self.place.conversation_id and not asking and not self._renewing:
            self._renewing = True
        else:
            raise refusal(reply, body or (yield ReadAll()))

    def _recover(self) -> Steps:
        """The log is gone: the answer may be stored (REQ-E9)."""
        self._renewing = False
        yield Pause(self.limits.recovery_pause)
        path = f"/api/conversations/{quote(self.place.conversation_id, safe='')}/messages"
        reply: Reply | None = yield Send("GET", path, {"limit": "4", "order": "desc"})
        if reply is None or reply.status in PASSING:
            return
        body = (yield ReadAll()) if reply.status == 200 else b'{"messages":[]}'
        if body is None:
            return
        wanted = self._message_id()
        for stored in json.loads(body)["messages"]:
            if stored["id"] == wanted:
                self.place.message = {"id": wanted, "role": "assistant", "parts": stored["parts"]}
                self.outcome = "recovered"
                return
        raise Lost("gone", "The run is gone and no answer is stored.", retryable=True)

    def _message_id(self) -> str:
        known = self.place.message["id"] if self.place.message else ""
        return known or f"msg_{self.place.run_id.replace('-', '')}"


def refusal(reply: Reply, body: bytes | None) -> Refused:
    """The error in an answer that is none of ours to handle."""
    try:
        error = json.loads(body or b"")["error"]
        refused = Refused(error["kind"], error["message"], retryable=error["retryable"], status=reply.status)
        refused.handle = error.get("handle", "")
    except (ValueError, KeyError, TypeError):
        message = f"The server answered {reply.status}."
        refused = Refused("upstream", message, retryable=reply.status >= 500, status=reply.status)
    return refused


def _exact(digits: str) -> int | str:
    return int(digits) if len(digits) <= MAX_DIGITS else digits


def _seconds(text: str) -> float:
    return float(text) if text.isdecimal() else 0.0
