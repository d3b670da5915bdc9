"""What both clients have in common: what is known of a run while it is read, how it begins and what it is told."""

import random
import time
import uuid
from collections.abc import Generator
from dataclasses import asdict
from typing import Any
from urllib.parse import quote

from turnkeep_client import fold
from turnkeep_client.errors import Unreachable
from turnkeep_client.limits import Limits
from turnkeep_client.reading import Outcome, Place, Reading, refusal
from turnkeep_client.steps import Effect, Pause, ReadAll, Reply, Send


class RunView:
    """A run as far as it was read."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    @property
    def run_id(self) -> str:
        """The canonical id; empty where the run was resumed by a handle and the server did not answer yet."""
        return self._reading.place.run_id

    @property
    def conversation_id(self) -> str:
        """The conversation it belongs to, as soon as it is known."""
        return self._reading.place.conversation_id

    @property
    def handle(self) -> str:
        """What names the run to the server; empty until it answered, and where it gives none."""
        return self._reading.place.handle

    @property
    def next(self) -> int:
        """The index of the frame that comes next."""
        return self._reading.place.next

    @property
    def message(self) -> fold.Message | None:
        """The answer so far as an AI SDK UI message. None where a run was resumed without the message it had."""
        return self._reading.place.message

    @property
    def text(self) -> str:
        """The text of the answer so far."""
        return fold.text_of(self.message) if self.message else ""

    @property
    def outcome(self) -> Outcome:
        """How it ended: "finished", "stopped" or "recovered" (read from the stored messages); empty before the end."""
        return self._reading.outcome

    @property
    def finish_reason(self) -> str:
        """The `finishReason` of the last frame, "error" where the turn failed on the server."""
        return self._reading.finish_reason

    @property
    def error(self) -> dict[str, Any] | None:
        """Why the turn failed on the server: {"kind", "message", "retryable"}. None where it did not."""
        parts = self.message["parts"] if self.message else []
        return next((part["data"] for part in parts if part["type"] == "data-error"), None)

    @property
    def waiting(self) -> list[fold.Message]:
        """The calls that wait for a person, as parts of the message: `toolCallId`, `toolName`, `input`, `state`.

        One in the state "approval-requested" is approved or denied, one in "input-available" is a question to answer.
        """
        parts = self.message["parts"] if self.message else []
        asked = {part["data"]["toolCallId"] for part in parts if part["type"] == "data-question"}
        return [
            part
            for part in parts
            if part.get("state") == "approval-requested"
            or (part.get("state") == "input-available" and part["toolCallId"] in asked)
        ]

    def snapshot(self) -> dict[str, Any]:
        """What `resume` needs to go on from here, as JSON."""
        return asdict(self._reading.place)


def stop_steps(reading: Reading) -> Generator[Effect, Any, bool]:
    """Tell the server to stop the run. Returns whether it confirmed."""
    reply = yield from _tell(reading, "stop")
    reading.stopped = reading.stopped or _took(reply)
    return _took(reply)


def say_steps(reading: Reading, said: dict[str, str]) -> Generator[Effect, Any, None]:
    """Say something to the run. Returns once the server recorded it. Raises Refused, Unreachable."""
    reply = yield from _tell(reading, "input", said)
    if reply is None:
        raise Unreachable("unavailable", "The run could not be told.", retryable=True)
    if not _took(reply):
        raise refusal(reply, (yield ReadAll()))


def _tell(reading: Reading, verb: str, body: dict[str, str] | None = None) -> Generator[Effect, Any, Reply | None]:
    """Tell the server, again until it answers for good: both verbs are harmless to repeat. None where it never did."""
    for attempt in range(1, reading.limits.stops + 1):
        name = reading.place.handle or reading.place.run_id
        reply: Reply | None = yield Send("POST", f"/api/chat/{quote(name, safe='')}/{verb}", json=body)
        # An id that the server does not know yet: this overtook the question.
        overtook = reply is not None and reply.status == 404 and not reading.place.handle
        if reply is not None and reply.status < 500 and not overtook:
            return reply
        yield Pause(reading.limits.back_off(attempt, reading.chance()))
    return None


def _took(reply: Reply | None) -> bool:
    return reply is not None and 200 <= reply.status < 300


def deciding(call: str, *, approved: bool, reason: str) -> dict[str, str]:
    """What `input` is told of a call that waits for approval."""
    return {"type": "approve" if approved else "deny", "toolCallId": call} | ({"reason": reason} if reason else {})


def answering(call: str, text: str) -> dict[str, str]:
    """What it is told of a question."""
    return {"type": "answer", "toolCallId": call, "text": text}


def steering(text: str) -> dict[str, str]:
    """What it is told for the model to hear next."""
    return {"type": "steer", "id": str(uuid.uuid4()), "text": text}  # an id, so that it can be sent twice


def asking(text: str, given: dict[str, str], limits: Limits, *, whole: bool = False) -> Reading:
    """A run that begins with this question. `given` are fields of the request; what is empty is left to the server."""
    fields = {name: value for name, value in given.items() if value}
    fields.setdefault("run_id", str(uuid.uuid4()))  # ours, so that it can be sent twice
    place = Place(run_id=fields["run_id"], conversation_id=fields.get("conversation_id", ""), message=fold.empty())
    query = {"stream": "0"} if whole else {}
    return _reading(place, Send("POST", "/api/chat", query, {"message": text, **fields}), limits)


def resuming(saved: dict[str, Any] | str, next_index: int, limits: Limits) -> Reading:
    """A run that is there already: a snapshot, or a handle and an index."""
    if isinstance(saved, str):
        message = None if next_index else fold.empty()
        saved = {"handle": saved, "next": next_index, "message": message}
    return _reading(Place(**saved), None, limits)


def _reading(place: Place, question: Send | None, limits: Limits) -> Reading:
    return Reading(place, question, limits=limits, chance=random.random, now=time.monotonic)
