"""The demo assistant's tools, run as the runner runs them."""

import json
from pathlib import Path

import pytest

from assistants.definition import Assistant
from assistants.demo import demo_assistant
from assistants.demo_tools import load_docs
from assistants.registry import registry
from protocol.checkpoint import ToolCall, ToolResult
from protocol.json import Json
from tools.declare import Call
from tools.execute import execute

PAGE = "# Leases\n\nA lease lasts two seconds."


async def no_pause(_: float) -> None:
    """The count does not take its time."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/leases.md").write_text(PAGE)
    (tmp_path / "README.md").write_text("Hello.")
    (tmp_path / "docs/requirements.md").write_text("Generated.")
    (tmp_path / "secret.md").write_text("Not a page.")
    return tmp_path


@pytest.fixture
def demo(project: Path) -> Assistant:
    return demo_assistant(root=project, outbox=project / "state/outbox.jsonl", pace=no_pause)


async def run(
    demo: Assistant, name: str, *, owner: str = "o", key: str = "r:1.0", seen: list[Json] | None = None, **given: Json
) -> ToolResult:
    asked = ToolCall(step=1, ordinal=0, id="c1.0", provider_id="x", name=name, input=given)
    progress: list[Json] = [] if seen is None else seen
    call = Call(run_id="r", conversation_id="c", owner=owner, key=key, progress=progress.append)
    return await execute({tool.name: tool for tool in demo.tools}, asked, call)


def test_the_pages_are_those_of_the_project_and_no_other_file(project: Path) -> None:
    assert list(load_docs(project).pages) == ["README.md", "docs/leases.md"]


async def test_the_docs_are_searched_and_read(demo: Assistant) -> None:
    found = await run(demo, "search_docs", query="How long is a lease?")
    assert found.output == [
        {"path": "docs/leases.md", "part": 1, "heading": "Leases", "snippet": "A lease lasts two seconds."}
    ]
    assert (await run(demo, "read_doc", path="docs/leases.md")).output == {
        "path": "docs/leases.md",
        "part": 1,
        "parts": 1,
        "heading": "Leases",
        "text": "A lease lasts two seconds.",
    }


@pytest.mark.parametrize("path", ["secret.md", "../secret.md", "docs/../secret.md", "/etc/passwd", ""])
async def test_no_path_leads_out_of_the_pages(demo: Assistant, path: str) -> None:
    result = await run(demo, "read_doc", path=path)
    assert result.error
    assert "the pages are README.md, docs/leases.md" in result.text
    assert (await run(demo, "read_doc", path="README.md", part=2)).error


async def test_a_count_reports_its_progress(demo: Assistant) -> None:
    seen: list[Json] = []
    assert (await run(demo, "slow_count", seen=seen, to=3)).output == {"counted": 3}
    assert seen == [{"counted": number, "of": 3} for number in (1, 2, 3)]


async def test_the_calculator_complains_in_words(demo: Assistant) -> None:
    assert (await run(demo, "calculator", expression="2 * 21")).text == "42"
    assert (await run(demo, "calculator", expression="1 / 0")).text == "The tool failed: ValueError: division by zero"


async def test_every_sent_note_is_there_with_its_key(demo: Assistant, project: Path) -> None:
    """LAW-P3: a call made twice would show as two lines with one key."""
    assert (await run(demo, "send_note", key="r:1.0", text="é\nline")).output == {"sent": True, "notes": 1}
    assert (await run(demo, "send_note", key="r:1.0", text="é\nline")).output == {"sent": True, "notes": 2}
    lines = (project / "state/outbox.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [{"key": "r:1.0", "owner": "o", "text": "é\nline"}] * 2


async def test_a_sent_note_is_shown_as_it_was_sent(demo: Assistant) -> None:
    """REQ-G5"""
    (shown,) = (await run(demo, "send_note", text="**é**")).artifacts

    assert {name: shown[name] for name in ("kind", "mediaType", "content")} == {
        "kind": "note",
        "mediaType": "text/markdown",
        "content": "**é**",
    }


async def test_an_owner_reads_only_their_own_notes(demo: Assistant) -> None:
    """LAW-P5"""
    await run(demo, "send_note", owner="a", text="of a")
    await run(demo, "send_note", owner="b", text="of b")
    assert (await run(demo, "read_outbox", owner="a")).output == {
        "notes": 1,
        "newest": [{"key": "r:1.0", "text": "of a"}],
    }
    assert (await run(demo, "read_outbox", owner="c")).output == {"notes": 0, "newest": []}


def test_only_the_note_is_never_repeated(demo: Assistant) -> None:
    assert [tool.name for tool in demo.tools if tool.repeat == "never"] == ["send_note", "ask_before_sending"]


def test_names_are_unique_in_a_registry(demo: Assistant) -> None:
    assert registry(demo)["demo"] is demo
    with pytest.raises(ValueError, match="two assistants"):
        registry(demo, demo)
    with pytest.raises(ValueError, match="two tools"):
        registry(Assistant(name="x", title="X", instructions="", tools=(demo.tools[0], demo.tools[0])))
