"""The history a model is sent, from what the conversation stored. Always well formed, whatever happened before."""

from collections.abc import Sequence
from dataclasses import dataclass

from protocol.json import Json, JsonObject


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
    roles to alternate (REQ-I15).
    """
    messages: list[JsonObject] = []
    for one in _window(said, turns):
        if one.role == "user":
            _say(messages, one.text, one.files)
        elif one.provider:
            messages.extend(one.provider)
        elif one.text.strip():
            messages.append({"role": "assistant", "content": [_text(one.text)]})
    _say(messages, question, files)
    return tuple(messages)


def _window(said: Sequence[Said], turns: int | None) -> Sequence[Said]:
    starts = [at for at, one in enumerate(said) if one.role == "user"]
    if turns is None:
        return said[starts[0] :] if starts else ()
    if turns == 0 or not starts:
        return ()
    return said[starts[-turns] if len(starts) >= turns else starts[0] :]


def _say(messages: list[JsonObject], text: str, files: tuple[JsonObject, ...]) -> None:
    """Add what a user said, in the message before it where that is the user's too."""
    said: list[Json] = [*files, _text(text)]
    if messages and messages[-1]["role"] == "user" and isinstance(messages[-1]["content"], list):
        messages[-1] = {"role": "user", "content": [*messages[-1]["content"], *said]}
    else:
        messages.append({"role": "user", "content": said})


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": text}
