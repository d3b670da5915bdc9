"""The tools of the demo assistant: the project's own documentation, a calculator, a slow count, and an outbox."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated

from pydantic import Field

from assistants.calculator import calculate
from assistants.docs_search import Docs
from assistants.outbox import Note, Outbox
from protocol.json import JsonObject
from tools.declare import Artifact, Call, Tool, tool

GENERATED = {"requirements.md"}  # a list of tests answers no question
NoteText = Annotated[str, Field(min_length=1, max_length=2000)]
SHOWN_NOTES = 20  # the newest; all of them would grow with every demo


def load_docs(root: Path) -> Docs:
    """The pages of the project: README.md, PROTOCOL.md and docs/*.md, as far as they exist; no generated tables."""
    paths = [root / "README.md", root / "PROTOCOL.md", *sorted((root / "docs").glob("*.md"))]
    pages = [path for path in paths if path.is_file() and path.name not in GENERATED]
    return Docs({path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in pages})


def docs_tools(docs: Docs) -> tuple[Tool, ...]:
    """Search and read a set of pages."""

    @tool(repeat="safe")
    async def search_docs(query: str, limit: Annotated[int, Field(ge=1, le=10)] = 3) -> list[JsonObject]:
        """Search the documentation. Gives the best parts, best first: path, part, heading and a snippet."""
        return [
            {"path": hit.part.path, "part": hit.part.number, "heading": hit.part.heading, "snippet": hit.snippet}
            for hit in docs.search(query, limit)
        ]

    @tool(repeat="safe")
    async def read_doc(path: str, part: Annotated[int, Field(ge=1)] = 1) -> JsonObject:
        """Read one part of a page of the documentation, as search_docs names it."""
        parts = docs.pages.get(path)
        if not parts:
            raise ValueError(f"there is no page {path!r}; the pages are {', '.join(docs.pages)}")
        if part > len(parts):
            raise ValueError(f"{path} has {len(parts)} parts")
        found = parts[part - 1]
        return {"path": path, "part": part, "parts": len(parts), "heading": found.heading, "text": found.text}

    return (search_docs, read_doc)


def counting_tools(pace: Callable[[float], Awaitable[None]] = asyncio.sleep) -> tuple[Tool, ...]:
    """Arithmetic, and a count that takes its time. `pace` waits so many seconds."""

    @tool(repeat="safe")
    async def calculator(expression: str) -> str:
        """Compute an arithmetic expression exactly: + - * / // % ** ( ), abs, max, min, round, sqrt."""
        return calculate(expression)

    @tool(repeat="safe", timeout_seconds=600)  # a hundred numbers at the slowest take 500 s
    async def slow_count(
        call: Call,
        to: Annotated[int, Field(ge=1, le=100)],
        pause_seconds: Annotated[float, Field(ge=0, le=5)] = 0.5,
    ) -> JsonObject:
        """Count from 1 to a number with a pause before each, reporting progress."""
        for number in range(1, to + 1):
            await pace(pause_seconds)
            call.progress({"counted": number, "of": to})
        return {"counted": to}

    return (calculator, slow_count)


def outbox_tools(outbox: Outbox) -> tuple[Tool, ...]:
    """Send a note, once; send one that a person has seen before; read one's own notes."""

    async def send(call: Call, text: str) -> JsonObject:
        number = await outbox.append(Note(key=call.key, owner=call.owner, text=text))
        call.present(Artifact(kind="note", title="The note as it was sent", media_type="text/markdown", content=text))
        return {"sent": True, "notes": number}

    @tool(repeat="never")
    async def send_note(call: Call, text: NoteText) -> JsonObject:
        """Send a note to the outbox. This has an effect: do not send the same note twice."""
        return await send(call, text)

    @tool(repeat="never", approval=True)
    async def ask_before_sending(call: Call, text: NoteText) -> JsonObject:
        """Send a note to the outbox after the user has seen and approved it. The user may decline it and say why."""
        return await send(call, text)

    @tool(repeat="safe")
    async def read_outbox(call: Call) -> JsonObject:
        """Read your newest notes in the outbox, oldest first."""
        notes = await outbox.notes(call.owner)
        shown: list[JsonObject] = [{"key": note.key, "text": note.text} for note in notes[-SHOWN_NOTES:]]
        return {"notes": len(notes), "newest": [*shown]}

    return (send_note, ask_before_sending, read_outbox)
