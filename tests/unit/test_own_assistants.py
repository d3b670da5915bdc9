"""Assistants outside the repository: how they are found, and how wrong ones are refused."""

import os
import re
from argparse import Namespace
from pathlib import Path

import pytest

import assistants.definition
import tools.declare
from app.commands.assistants import run as print_assistants
from app.compose import scripts_of
from app.compose_assistants import assistants_of
from app.settings import Settings
from app.settings_reading import RefusedSettings
from assistants.loading import AssistantError, load_assistants
from protocol.checkpoint import ToolCall
from tests.own_assistants import PAGE, written
from tools.declare import Call
from tools.execute import execute

ONE = 'from assistants.definition import Assistant\none = Assistant(name="one", title="One", instructions="x"{})\n'
TOOL = 'from tools.declare import Call, tool\n\n\n@tool(repeat="safe")\n'


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    return written(tmp_path)


def refused(*paths: Path, taken: frozenset[str] = frozenset()) -> str:
    with pytest.raises(AssistantError) as error:
        load_assistants(paths, taken=taken)
    return str(error.value)


def source(folder: Path, text: str, name: str = "a.py") -> Path:
    path = folder / name
    path.write_text(text)
    return path


async def call(name: str, given: dict[str, object], *, file: Path) -> tuple[object, list[object]]:
    (found,) = load_assistants([file], taken=())
    told: list[object] = []
    asked = ToolCall(step=1, ordinal=0, id="c1.0", provider_id="p", name=name, input=given)
    context = Call(run_id="r", conversation_id="c", owner="ada", key="r:1.0", progress=told.append)
    result = await execute({tool.name: tool for tool in found.tools}, asked, context)
    return result.output if not result.error else result.text, told


async def test_the_tools_of_the_page_work(files: dict[str, Path]) -> None:
    assert await call("stock", {"item": "lamp"}, file=files["orders.py"]) == (4, [])
    told = "The tool failed: ValueError: there is no sofa; there are lamp, chair"
    assert await call("stock", {"item": "sofa"}, file=files["orders.py"]) == (told, [])
    assert await call("prepare", {"letters": 2}, file=files["mailing.py"]) == (
        {"letters": 2},
        [{"done": 0, "of": 2}, {"done": 1, "of": 2}],
    )
    assert await call("send", {"text": "Hello."}, file=files["mailing.py"]) == ("sent as r:1.0", [])


def test_a_folder_is_read_in_the_order_of_its_names(files: dict[str, Path], tmp_path: Path) -> None:
    source(tmp_path, "raise RuntimeError", "_not_read.py")
    found = load_assistants([tmp_path], taken=())

    assert [(one.name, [tool.name for tool in one.tools]) for one in found] == [
        ("mailing", ["prepare", "send", "ask_address"]),
        ("clerk", ["stock"]),
    ]


def test_modules_beside_a_file_can_be_imported(tmp_path: Path) -> None:
    source(tmp_path, 'TITLE = "Shared"\n', "_titles_of_mine.py")
    path = source(tmp_path, "from _titles_of_mine import TITLE\n" + ONE.format("").replace('"One"', "TITLE"))

    assert [one.title for one in load_assistants([path], taken=())] == ["Shared"]


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ("x = (\n", 1, "was never closed"),
        ("import no_such_module\n", 1, "ModuleNotFoundError: No module named 'no_such_module'"),
        ("\n\nraise SystemExit(2)\n", 3, "SystemExit: 2"),
        (ONE.format(", tools=(print,)"), 2, "tools[0] is no tool: put @tool(repeat="),
        (ONE.format(", tools=print"), 2, "tools is a tuple: write (tool,) with the comma"),
        (ONE.format(', starters="Hi"'), 2, "starters is a tuple of texts"),
        (ONE.format(', profile="fast"'), 2, "profile is one of interactive, kb, agent"),
        (ONE.format("").replace('"one"', '"number one"'), 2, "name is letters, digits, _ and -"),
        (ONE.format("").replace('"x"', '"\\0"'), 2, "instructions holds a control character"),
        (ONE.format(", temperature=1"), 2, "unexpected keyword argument 'temperature'"),
        (TOOL + 'def look() -> str:\n    """Look."""\n', 4, "look: a tool is an `async def`"),
        (TOOL + "async def look() -> str:\n    return ''\n", 4, "look: it has no docstring"),
        (TOOL + 'async def look(what) -> str:\n    """Look."""\n', 4, "parameter what has no type"),
        (TOOL + 'async def look(what: "Thing") -> str:\n    """Look."""\n', 4, "the type of parameter what is not known"),
        (TOOL + 'async def look(what: type(print)) -> str:\n    """Look."""\n', 4, "what: JSON has no word for its type"),
        (TOOL + 'async def look(what: int = "x") -> str:\n    """Look."""\n', 4, "what: its default is not of its type"),
        (TOOL + 'async def look(*what: str) -> str:\n    """Look."""\n', 4, "what: a model gives its arguments by name"),
        (TOOL + 'async def look(what: str, call: Call) -> str:\n    """Look."""\n', 4, "call is a Call: it comes first"),
        (TOOL + 'async def look(_what: str) -> str:\n    """Look."""\n', 4, "_what: no name here begins with _"),
        (TOOL + 'async def look() -> str:\n    """Look.\n\n    Args:\n        at: it.\n    """\n', 4, "describes 'at', which is no"),
        (TOOL.replace("safe", "maybe") + 'async def look() -> str:\n    """Look."""\n', 4, 'repeat is "safe" where'),
        (TOOL.replace(")\n", ", timeout_seconds=0)\n") + 'async def look() -> str:\n    """Look."""\n', 4, "timeout_seconds is more"),
        (TOOL.replace(")\n", ', name="a b")\n') + 'async def look() -> str:\n    """Look."""\n', 4, "the name of a tool is letters"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, text: str, line: int, told: str) -> None:
    path = source(tmp_path, text)
    said = refused(path)

    assert said.startswith(f"{path}:{line}: ")
    assert told in said
    assert "\n" not in said


def test_what_is_not_there_is_told(tmp_path: Path) -> None:
    path = source(tmp_path, "x = 1\n")

    assert refused(tmp_path / "none.py") == f"{tmp_path / 'none.py'}: there is no such file or folder"
    assert "it holds no assistant: add a variable" in refused(path)
    (tmp_path / "empty").mkdir()
    assert "there is no *.py file" in refused(tmp_path / "empty")


def test_a_name_belongs_to_one_assistant(tmp_path: Path) -> None:
    first, second = source(tmp_path, ONE.format("")), source(tmp_path, ONE.format(""), "b.py")

    assert "choose another" in refused(first, taken=frozenset({"one"}))
    assert refused(first, second) == f"{second}: {first} has an assistant 'one' already: rename one of them"


def composed(**environment: str) -> list[str]:
    settings = Settings.read(environment)
    return [*assistants_of(settings, scripts_of(settings))]


def test_a_deployment_has_those_that_ship_and_its_own(files: dict[str, Path]) -> None:
    paths = os.pathsep.join((str(files["orders.py"]), str(files["mailing.py"])))

    assert composed() == ["demo"]
    assert composed(TURNKEEP_ASSISTANTS=paths) == ["demo", "clerk", "mailing"]
    assert composed(TURNKEEP_ASSISTANTS=paths, TURNKEEP_ASSISTANT="mailing") == ["mailing", "demo", "clerk"]


def test_what_a_deployment_names_must_be_there(files: dict[str, Path], tmp_path: Path) -> None:
    wrong = source(tmp_path, ONE.format(', model="gpt"'), "wrong.py")
    unplayed = source(tmp_path, ONE.format(', model="scripted:none"'), "unplayed.py")
    for environment, told in (
        ({"TURNKEEP_ASSISTANTS": "/no/such.py"}, "TURNKEEP_ASSISTANTS: /no/such.py: there is no such file"),
        ({"TURNKEEP_ASSISTANTS": str(wrong)}, "'one' names a model that is not known here"),
        ({"TURNKEEP_ASSISTANTS": str(unplayed)}, "'one' names a model that is not known here"),
        ({"TURNKEEP_ASSISTANT": "clerk"}, "TURNKEEP_ASSISTANT: there is no such assistant; there are demo"),
    ):
        with pytest.raises(RefusedSettings, match=re.escape(told)):
            composed(**environment)


@pytest.fixture
def environment(files: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNKEEP_ASSISTANTS", str(files["orders.py"]))
    monkeypatch.setenv("TURNKEEP_STATE_DIR", str(tmp_path / "state"))


@pytest.mark.usefixtures("environment")
def test_the_command_lists_who_answers_with_which_tools(capsys: pytest.CaptureFixture[str]) -> None:
    assert print_assistants(Namespace(name=None)) == 0
    listed = capsys.readouterr().out
    assert [line for line in listed.splitlines() if line[:1].strip()] == ["demo: Demo", "clerk: Order clerk"]
    assert "  tool         send_note(text): repeat never, 60 s\n" in listed
    assert "  tool         ask_before_sending(text): repeat never, 60 s, a person approves it\n" in listed

    assert print_assistants(Namespace(name="clerk")) == 0
    clerk = capsys.readouterr().out
    assert clerk.startswith("clerk: Order clerk\n")
    assert "How many of an item are in stock." in clerk

    assert print_assistants(Namespace(name="nobody")) == 1
    assert "there are demo, clerk" in capsys.readouterr().err


def test_only_these_names_are_public() -> None:
    assert tools.declare.__all__ == ["TOOL_SECONDS", "Artifact", "Call", "Repeat", "Tool", "WrongTool", "tool"]
    assert assistants.definition.__all__ == ["PROFILES", "Assistant", "Limits", "Profile", "WrongDefinition"]
    imported = set(re.findall(r"^from (assistants|tools|app|engine|protocol)\.(\w+) import (.*)$", PAGE, re.MULTILINE))
    public = {"definition": assistants.definition.__all__, "declare": tools.declare.__all__}
    assert {module for _, module, _ in imported} == set(public)
    assert all(name in public[module] for _, module, names in imported for name in names.split(", "))
