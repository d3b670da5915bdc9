"""What both clients have in common: what is known of a run while it is read, how it begins and how it is stopped."""

import random
import time
import uuid
from collections.abc import Generator
from dataclasses import asdict
from typing import Any
from urllib.parse import quote

from turnkeep_client import fold
from turnkeep_client.limits import Limits
from turnkeep_client.reading import Outcome, Place, Reading
from turnkeep_client.steps import Effect, Pause, Reply, Send


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

    def snapshot(self) -> dict[str, Any]:
        """What `resume` needs to go on from here, as JSON."""
        return asdict(self._reading.place)


def stop_steps(reading: Reading) -> Generator[Effect, Any, bool]:
    """Tell the server to stop the run. Returns whether it confirmed."""
    for attempt in range(1, reading.limits.stops + 1):
        name = reading.place.handle or reading.place.run_id
        reply: Reply | None = yield Send("POST", f"/api/chat/{quote(name, safe='')}/stop")
        status = reply.status if reply else 0
        if 200 <= status < 300:
            reading.stopped = True
            return True
        # An id that the server does not know yet: the stop overtook the question.
        overtook = status == 404 and not reading.place.handle
        if 400 <= status < 500 and not overtook:
            return False
        yield Pause(reading.limits.back_off(attempt, reading.chance()))
    return False


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
