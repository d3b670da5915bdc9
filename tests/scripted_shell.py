"""A shell for `Reading` that does no I/O: it answers as a case says and notes what it was asked."""

import json
from dataclasses import replace
from typing import Any

from turnkeep_client.limits import Limits
from turnkeep_client.reading import Place, Reading
from turnkeep_client.steps import Effect, Event, Pause, Read, ReadAll, Reply, Send

from tests.client_cases import RUN_ID, ClientCase, folded, stream_bytes

QUESTION = {"message": "What is a slice?", "conversation_id": "c-1", "run_id": RUN_ID}
ASK = Send("POST", "/api/chat", json=QUESTION)
NOT_UTF_8 = b"d\xff\xfe"


def reading_of(case: ClientCase, limits: Limits | None = None) -> Reading:
    place = Place(run_id=RUN_ID, conversation_id="c-1", message=folded([]))
    question: Send | None = ASK
    if case.start is not None:
        question = None
        place = replace(place, **case.start, message=folded(case.frames[: case.start["next"]]))
    return Reading(place, question, limits=limits or Limits(), chance=lambda: 1.0, now=lambda: 0.0)


class ScriptedShell:
    """Does what a `Reading` asks by a case: notes the requests and pauses, answers with what is written."""

    def __init__(self, case: ClientCase, pieces: int = 1_000, *, stopped_at: int = -1) -> None:
        self.case = case
        self.pieces = pieces
        self.stopped_at = stopped_at  # at this frame the server confirms a stop
        self.left = list(case.exchanges)
        self.asked: list[str] = []
        self.sent: list[Any] = []
        self.pauses: list[int] = []
        self._chunks: list[bytes] = []
        self._body = b""

    def run(self, reading: Reading) -> list[int]:
        """Play everything to the end and return the indices of the frames that were given."""
        seen: list[int] = []
        steps, answer = reading.steps(), None
        while True:
            try:
                step = steps.send(answer)
            except StopIteration:
                return seen
            if isinstance(step, Event):
                seen.append(step.index)
                reading.stopped = reading.stopped or step.index == self.stopped_at
                answer = None
            else:
                answer = self._do(step)

    def _do(self, effect: Effect) -> Any:
        match effect:
            case Send():
                return self._send(effect)
            case Read():
                return self._chunks.pop(0) if self._chunks else None
            case Pause(seconds=seconds):
                self.pauses.append(round(seconds * 1000))
                return None
            case ReadAll():
                return self._body

    def _send(self, request: Send) -> Reply | None:
        query = "&".join(f"{name}={value}" for name, value in request.query.items())
        self.asked.append(f"{request.method} {request.path}{'?' if query else ''}{query}")
        self.sent.append(request.json)
        exchange = self.left.pop(0)
        if exchange["status"] == 0:
            return None
        self._body = json.dumps(exchange["body"]).encode() if "body" in exchange else b""
        if "frames" in exchange:
            body = stream_bytes(self.case, exchange)
            self._chunks = [body[at : at + self.pieces] for at in range(0, len(body), self.pieces)]
            if exchange["end"] == "garbage":
                self._chunks.append(NOT_UTF_8)
        return Reply(exchange["status"], exchange["headers"])
