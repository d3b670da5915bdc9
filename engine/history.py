"""The history a model is sent, from what the conversation stored. Always well formed, whatever happened before."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from engine.prompt import without_thoughts
from engine.repair import call_ids, repaired
from protocol.json import Json, JsonObject

NO_TEXT = "(no text)"  # providers refuse empty text, and an answer needs its question


@dataclass(frozen=True, slots=True)
class Said:
    """One stored message. `provider` holds the turn's messages as they went to the model, where that is known.

    `files` are the parts that attach one. They stand before the text in history, and stay references there.
    """

    role: str
    text: str
    provider: tuple[JsonObject, ...] = ()
    files: tuple[JsonObject, ...] = ()


def reconstruct(
    said: Sequence[Said], question: str, *, turns: int | None, files: tuple[JsonObject, ...] = ()
) -> tuple[JsonObject, ...]:
    """The messages for a new question and the files it attaches. `turns` is how many past turns are sent, None all, 0 none.

    A turn begins with a user's message; one that was never answered stays, joined with the next, because providers want the
    roles to alternate (REQ-I15). Past a window thoughts are left out: they are signed for all that stood before them.
    """
    messages: list[JsonObject] = []
    for one in _window(said, turns):
        if one.role == "user":
            _say(messages, one.text, one.files)
        elif one.provider:
            for message in one.provider if turns is None else without_thoughts(one.provider):
                _add(messages, message)
        elif one.text.strip():
            messages.append({"role": "assistant", "content": [_text(one.text)]})
    _say(messages, question, files)
    return tuple(messages)


def mended(said: Sequence[Said]) -> tuple[Said, ...]:
    """The stored messages with their histories well formed (FR19). One that needs no repair is the same object."""
    used: set[str] = set()
    answers: list[Said] = []
    for one in said:
        provider = repaired(one.provider, frozenset(used))
        used |= call_ids(provider)
        answers.append(one if provider is one.provider else replace(one, provider=provider))
    return tuple(answers)


def _window(said: Sequence[Said], turns: int | None) -> Sequence[Said]:
    starts = [at for at, one in enumerate(said) if one.role == "user"]
    if turns is None:
        return said[starts[0] :] if starts else ()
    if turns == 0 or not starts:
        return ()
    return said[starts[-turns] if len(starts) >= turns else starts[0] :]


def _say(messages: list[JsonObject], text: str, files: tuple[JsonObject, ...]) -> None:
    content: list[Json] = [*files, _text(text)]
    _add(messages, {"role": "user", "content": content})


def _add(messages: list[JsonObject], message: JsonObject) -> None:
    """Add a message; a user's goes into the one before it where that is the user's, too."""
    before = messages[-1] if messages else None
    if before is None or message["role"] != "user" or before["role"] != "user":
        messages.append(message)
    elif isinstance(before["content"], list) and isinstance(message["content"], list):
        messages[-1] = {"role": "user", "content": [*before["content"], *message["content"]]}


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": text if text.strip() else NO_TEXT}
