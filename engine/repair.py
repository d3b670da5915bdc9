"""Makes a stored history one that a provider takes, whatever wrote it.

A conversation whose history holds one of these could never go on, for every later request would be refused:

    a call without its result, or with a second one      told as interrupted; the first one counts
    a result without its call                            left out
    an id that another call has                          another id, in call and result
    text of nothing but blanks, a message of nothing     left out
    thoughts without their signature, or as last words   left out: who wrote them would not know them again
    a call of the provider's own tool without its result, and the other way round      left out

All else stays as it is, to the byte. What is well formed comes back as the same object, so that a repair is written once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from engine.blocks import SERVED_CALLS, THOUGHTS, blocks
from protocol.json import Json, JsonObject

INTERRUPTED = "The call was interrupted and its outcome is not known. It may or may not have taken effect: check before doing it again."


def repaired(messages: tuple[JsonObject, ...], used: frozenset[str] = frozenset()) -> tuple[JsonObject, ...]:
    """The messages of one turn after its question. `used` are the ids of calls in the turns before it."""
    repair = _Repair(used=set(used), paired=_paired(messages))
    for message in messages:
        if message.get("role") == "assistant":
            repair.model_said(message)
        elif message.get("role") == "user":
            repair.user_said(message)
    repair.answer(())
    fixed = tuple(repair.messages)
    return messages if fixed == messages else fixed


def call_ids(messages: Sequence[JsonObject]) -> set[str]:
    """The ids of all calls."""
    return {str(block["id"]) for message in messages for block in blocks(message) if block.get("type") == "tool_use"}


@dataclass(slots=True, kw_only=True)
class _Repair:
    """What is well formed so far. `owed` are the calls of the last message: their ids as they were and as they are."""

    used: set[str]
    paired: set[Json]
    messages: list[JsonObject] = field(default_factory=list)
    owed: dict[str, str] = field(default_factory=dict)

    def model_said(self, message: JsonObject) -> None:
        self.answer(())
        content: list[Json] = [kept for block in blocks(message) if (kept := self._kept(block)) is not None]
        while content and _kind(content[-1]) in THOUGHTS:
            content.pop()
        if content:
            self.messages.append(_with(message, content))

    def user_said(self, message: JsonObject) -> None:
        self.answer(tuple(blocks(message)), message)

    def answer(self, said: tuple[JsonObject, ...], message: JsonObject | None = None) -> None:
        """Results of all calls that are owed, first of all, then what else was said."""
        results: dict[Json, JsonObject] = {}
        for block in said:
            if block.get("type") == "tool_result":
                results.setdefault(block.get("tool_use_id"), block)
        content: list[Json] = [_result(results.get(was), now) for was, now in self.owed.items()]
        content += [block for block in said if not _blank(block) and not _of_the_model(block)]
        self.owed = {}
        if not content:
            return
        if self.messages and self.messages[-1]["role"] == "user":
            before = self.messages.pop()
            content = [*blocks(before), *content]
        self.messages.append(_with(message or {"role": "user"}, content))

    def _kept(self, block: JsonObject) -> JsonObject | None:
        match block.get("type"):
            case "text":
                return None if _blank(block) else block
            case "thinking":
                return block if block.get("signature") else None
            case "redacted_thinking":
                return block if block.get("data") else None
            case "tool_use":
                return self._call(block)
            case kind if kind in SERVED_CALLS:
                return block if block.get("id") in self.paired else None
            case str(kind) if kind.endswith("tool_result"):
                return block if kind != "tool_result" and block.get("tool_use_id") in self.paired else None
            case str():
                return block
            case _:
                return None

    def _call(self, block: JsonObject) -> JsonObject | None:
        was, name = block.get("id"), block.get("name")
        if not (isinstance(was, str) and was and isinstance(name, str) and name) or was in self.owed:
            return None
        now = next(new for new in _names(was) if new not in self.used)
        self.used.add(now)
        self.owed[was] = now
        changes: JsonObject = {} if now == was else {"id": now}
        if not isinstance(block.get("input"), dict):
            changes["input"] = {}
        return {**block, **changes} if changes else block


def _names(name: str) -> Iterator[str]:
    yield name
    number = 2
    while True:
        yield f"{name}_{number}"
        number += 1


def _result(block: JsonObject | None, now: str) -> JsonObject:
    """The result of a call under its id as it is now."""
    if block is None:
        text: list[Json] = [{"type": "text", "text": INTERRUPTED}]
        return {"type": "tool_result", "tool_use_id": now, "content": text, "is_error": True}
    content = block.get("content")
    changes: JsonObject = {} if block["tool_use_id"] == now else {"tool_use_id": now}
    if isinstance(content, str) and not content.strip():
        changes["content"] = []
    elif isinstance(content, list) and any(isinstance(part, dict) and _blank(part) for part in content):
        changes["content"] = [part for part in content if not (isinstance(part, dict) and _blank(part))]
    return {**block, **changes} if changes else block


def _paired(messages: Sequence[JsonObject]) -> set[Json]:
    """Ids of the provider's own calls that have their result."""
    said = [block for message in messages for block in blocks(message) if message.get("role") == "assistant"]
    called = {str(block.get("id")) for block in said if block.get("type") in SERVED_CALLS}
    answered = {str(block.get("tool_use_id")) for block in said if _kind(block).endswith("_tool_result")}
    return {*(called & answered)}


def _kind(block: Json) -> str:
    return str(block.get("type")) if isinstance(block, dict) else ""


def _blank(block: JsonObject) -> bool:
    return block.get("type") == "text" and not str(block.get("text") or "").strip()


def _of_the_model(block: JsonObject) -> bool:
    """Whether no user says such a thing; what a call owes is looked at before."""
    kind = _kind(block)
    return kind in ("tool_use", *SERVED_CALLS, *THOUGHTS) or kind.endswith("tool_result")


def _with(message: JsonObject, content: list[Json]) -> JsonObject:
    return message if message.get("content") == content else {**message, "content": content}
