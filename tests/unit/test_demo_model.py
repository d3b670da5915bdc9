"""The demo model in whole turns, with the demo assistant's real tools."""

import json
from pathlib import Path

import pytest

from assistants.definition import Assistant
from assistants.demo import FURTHER, STARTERS, SUGGESTED, TURNS, demo_assistant
from assistants.demo_model import ABOUT, NO_TOOLS, NOTHING, DemoModel
from engine.blocks import blocks
from protocol.checkpoint import ToolCall
from protocol.errors import ProviderError
from protocol.json import JsonObject
from protocol.model import Cited, ModelRequest, Stopped, TextDelta
from providers.script import Script, load_scripts, parse_script
from tools.declare import Call
from tools.execute import execute

PAGES = {
    "README.md": "# Turnkeep\n\nA chat runner.",
    "docs/crash.md": "# After a crash\n\nA turn survives a crash.\n\nAnother worker goes on.\n\n# Worker\n\nOne that may crash.",
}
SCRIPTS = load_scripts(TURNS)


async def no_pause(_: float) -> None:
    """Nothing takes time."""


MODEL = DemoModel(SCRIPTS, pace=no_pause)


@pytest.fixture
def demo(tmp_path: Path) -> Assistant:
    (tmp_path / "docs").mkdir()
    for path, text in PAGES.items():
        (tmp_path / path).write_text(text)
    return demo_assistant(root=tmp_path, outbox=tmp_path / "outbox.jsonl", pace=no_pause)


def request_of(assistant: Assistant, history: list[JsonObject], attempt: int = 0) -> ModelRequest:
    return ModelRequest(
        model="demo",
        system=assistant.instructions,
        messages=tuple(history),
        tools=tuple(tool.schema for tool in assistant.tools),
        max_tokens=8192,
        idle_seconds=60,
        call_seconds=60,
        attempt=attempt,
    )


async def call_model(assistant: Assistant, history: list[JsonObject]) -> tuple[list[str], Stopped]:
    events = [event async for event in MODEL.stream(request_of(assistant, history))]
    stopped = events[-1]
    assert isinstance(stopped, Stopped)
    return [event.text for event in events if isinstance(event, TextDelta)], stopped


async def result_of(assistant: Assistant, block: JsonObject) -> JsonObject:
    given = block["input"]
    assert isinstance(given, dict)
    asked = ToolCall(step=1, ordinal=0, id="c", provider_id=str(block["id"]), name=str(block["name"]), input=given)
    call = Call(run_id="r", conversation_id="c", owner="o", key="k", progress=lambda _: None)
    result = await execute({tool.name: tool for tool in assistant.tools}, asked, call)
    content: JsonObject = {"type": "text", "text": result.text}
    return {"type": "tool_result", "tool_use_id": block["id"], "content": [content], "is_error": result.error}


async def turn(
    assistant: Assistant, asked: str, history: list[JsonObject] | None = None
) -> tuple[str, list[JsonObject]]:
    """Play a turn to its end. Returns the last call's text, and every message."""
    messages: list[JsonObject] = [*(history or []), {"role": "user", "content": [{"type": "text", "text": asked}]}]
    while True:
        said, stopped = await call_model(assistant, messages)
        messages.append({"role": "assistant", "content": list(stopped.content)})
        if stopped.reason != "tool_use":
            return "".join(said), messages
        asked_for = [block for block in stopped.content if block["type"] == "tool_use"]
        messages.append({"role": "user", "content": [await result_of(assistant, block) for block in asked_for]})


def tools_of(messages: list[JsonObject]) -> list[list[object]]:
    said = [message for message in messages if message["role"] == "assistant"]
    return [[block["name"] for block in blocks(message) if block["type"] == "tool_use"] for message in said]


@pytest.mark.parametrize(
    ("asked", "tools"),
    [
        (STARTERS[0], [["search_docs"], ["read_doc"], []]),
        (STARTERS[1], [["calculator", "send_note"], ["read_outbox"], []]),
        (STARTERS[2], [["slow_count"], []]),
        (STARTERS[3], [[]]),
        ("  explain FRAMES", [[]]),
        ("Run the smoke turn.", [["calculator"]] * 6 + [[]]),
    ],
)
async def test_a_starter_question_is_a_turn_with_real_tools(
    demo: Assistant, asked: str, tools: list[list[str]]
) -> None:
    text, messages = await turn(demo, asked)
    assert tools_of(messages) == tools
    assert text
    assert not any(block.get("is_error") for message in messages for block in blocks(message))


async def test_any_other_question_is_answered_by_quoting_the_best_part(demo: Assistant) -> None:
    text, _ = await turn(demo, "What happens to a turn after a crash?")
    assert text == (
        "docs/crash.md, After a crash:\n\n> A turn survives a crash.\n>\n> Another worker goes on.\n\n"
        f"See also: Worker (docs/crash.md).\n\n{ABOUT}"
    )


async def test_what_the_docs_do_not_say_is_not_answered(demo: Assistant) -> None:
    assert (await turn(demo, "Who won the zebra race?"))[0] == NOTHING
    without = Assistant(name="x", title="X", instructions="")
    assert (await turn(without, "What is a lease?"))[0] == NO_TOOLS


async def test_a_conversation_never_repeats_a_call_id(demo: Assistant) -> None:
    """Another model may read this history one day, and providers refuse a repeated id."""
    _, messages = await turn(demo, STARTERS[1])
    _, messages = await turn(demo, STARTERS[1], messages)
    _, messages = await turn(demo, STARTERS[0], messages)
    ids = [block["id"] for message in messages for block in blocks(message) if block["type"] == "tool_use"]
    assert len(ids) == 8
    assert len(set(ids)) == len(ids)


async def test_the_long_explanation_comes_in_many_small_pieces(demo: Assistant) -> None:
    said, _ = await call_model(demo, [{"role": "user", "content": STARTERS[3]}])
    assert len(said) >= 80
    assert max(map(len, said)) < 20


async def test_a_busy_model_is_busy_once(demo: Assistant) -> None:
    """REQ-G2: the turn waits and asks again, and a person can see it."""
    asked: list[JsonObject] = [{"role": "user", "content": [{"type": "text", "text": FURTHER[1]}]}]
    with pytest.raises(ProviderError) as busy:
        await call_model(demo, asked)
    events = [event async for event in MODEL.stream(request_of(demo, asked, attempt=1))]

    assert (busy.value.kind, busy.value.retry_after) == ("rate_limited", 3)
    assert isinstance(events[-1], Stopped)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_shipped_script_asks_for_tools_that_take_its_input(name: str, demo: Assistant) -> None:
    tools = {tool.name: tool for tool in demo.tools}
    script: Script = SCRIPTS[name]
    for call in script.calls:
        for event in call.events:
            if event.type == "tool_input":
                tools[event.name].arguments.model_validate(json.loads(event.delta))


def test_every_starter_but_the_first_is_a_script() -> None:
    """The first is about the docs, and shows how every other question is answered."""
    assert {*STARTERS[1:], *FURTHER} <= {script.input for script in SCRIPTS.values()}


async def test_what_is_suggested_goes_round_and_never_repeats_the_question(demo: Assistant) -> None:
    """REQ-G6: everything can be seen by pressing on."""
    assert demo.suggest is not None
    everything, seen = {*STARTERS, *FURTHER}, [STARTERS[0]]
    for _ in range(len(everything) - 1):
        suggested = await demo.suggest(seen[-1], "")
        assert len(suggested) == SUGGESTED
        seen.append(suggested[0])

    assert (sorted(seen), await demo.suggest("Anything", "")) == (sorted(everything), STARTERS[:SUGGESTED])


async def test_a_quotation_names_its_page_as_a_source(demo: Assistant) -> None:
    _, messages = await turn(demo, STARTERS[0])
    events = [event async for event in MODEL.stream(request_of(demo, messages[:-1]))]

    assert [event for event in events if isinstance(event, Cited)] == [
        Cited(title="docs/crash.md", media_type="text/markdown")
    ]


async def test_a_script_that_fails_at_first_goes_on_where_it_is_asked_again() -> None:
    lines: list[JsonObject] = [
        {"v": 1, "name": "again", "input": "Once more."},
        {
            "events": [{"type": "error", "kind": "upstream"}],
            "again": [{"type": "text", "text": "Well."}, {"type": "stop", "reason": "end_turn"}],
        },
    ]
    script = parse_script("\n".join(json.dumps(line) for line in lines))
    asked: JsonObject = {"role": "user", "content": [{"type": "text", "text": "Once more."}]}
    request = ModelRequest(
        model="demo", system="", messages=(asked,), max_tokens=1, idle_seconds=1, call_seconds=1, attempt=1
    )

    events = [event async for event in DemoModel({"again": script}, pace=no_pause).stream(request)]

    assert [event.text for event in events if isinstance(event, TextDelta)] == ["Well."]
