"""The demo assistant: it knows this project's documentation and has one tool of every kind that matters here."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from assistants.definition import Assistant
from assistants.demo_tools import counting_tools, docs_tools, load_docs, outbox_tools
from assistants.outbox import Outbox

NAME = "demo"
TURNS = Path(__file__).parent / "turns"  # scripted turns of the demo model, see providers/script.py

STARTERS = (
    "How does a turn survive a crash?",
    "What is 17.5% of 2,480? Note it in the outbox.",
    "Count slowly to 20.",
    "Explain frames.",
)

SUGGESTED = 2
FURTHER = (
    "Send a note, but ask me first.",
    "What if the model is busy?",
)  # there is more to see than fits an empty page

INSTRUCTIONS = """\
You are the demo assistant of Turnkeep, a durable chat runner. Answer in a few plain sentences.
For questions about Turnkeep search the documentation, read the best part, and answer from it, naming the page. If the \
documentation does not say it, say that. Use the calculator for arithmetic. Send a note only when you are asked to, and once."""


def demo_assistant(
    *, root: Path, outbox: Path, model: str = "", pace: Callable[[float], Awaitable[None]] = asyncio.sleep
) -> Assistant:
    """The assistant over the pages below `root`, sending notes to the file `outbox`. `model` empty: the deployment's."""
    return Assistant(
        name=NAME,
        title="Demo",
        instructions=INSTRUCTIONS,
        model=model,
        tools=(*docs_tools(load_docs(root)), *counting_tools(pace), *outbox_tools(Outbox(outbox))),
        starters=STARTERS,
        suggest=what_else,
    )


async def what_else(question: str, _answer: str) -> tuple[str, ...]:
    """What else there is to see, beginning after what was just seen."""
    everything = (*STARTERS, *FURTHER)
    after = everything.index(question) + 1 if question in everything else 0
    return (*everything[after:], *everything[:after])[:SUGGESTED]
