"""Scripted turn files: what can be read, and what a mistake in one says."""

from pathlib import Path

import pytest

from protocol.model import Usage
from providers.script import Script, ScriptedCall, ScriptError, StopEvent, TextEvent, load_scripts, parse_script

HEADER = '{"v":1,"name":"one","input":"Hello"}\n'
CALL = '{"events":[{"type":"text","text":"Hi"},{"type":"stop","usage":{"output_tokens":2}}],"gap_ms":5}\n'


def test_a_script_is_its_header_and_its_calls() -> None:
    call = ScriptedCall(
        events=(TextEvent(type="text", text="Hi"), StopEvent(type="stop", usage=Usage(output_tokens=2))), gap_ms=5
    )
    assert parse_script(HEADER + "\n" + CALL) == Script(name="one", input="Hello", calls=(call,))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: a script begins with its header"),
        ('{"v":2,"name":"one"}', "line 1: v: Input should be 1"),
        (HEADER + "\n{", "line 3: Invalid JSON: EOF while parsing an object at line 1 column 1"),
        (HEADER + CALL + '{"events":[{"type":"text","txt":"a"},{"type":"stop"}]}', "line 3: events.0.text.text: Field required"),
        (HEADER + '{"events":[{"type":"text","text":"a"}]}', "line 2: Value error, a call has one stop or error event, its last one"),
        (HEADER + '{"events":[{"type":"stop"},{"type":"stop"}]}', "line 2: Value error, a call has one stop or error event, its last one"),
    ],
    ids=["empty", "version", "json", "field", "no-stop", "two-stops"],
)  # fmt: skip
def test_a_mistake_names_its_line(text: str, message: str) -> None:
    with pytest.raises(ScriptError) as raised:
        parse_script(text)
    assert str(raised.value) == message


def test_text_is_one_delta_or_one_a_word_repeated() -> None:
    assert TextEvent(type="text", text=" Two  words ", words=True, repeat=2).deltas == [" ", "Two  ", "words "] * 2
    assert TextEvent(type="text", text="Two words").deltas == ["Two words"]


def test_a_folder_holds_scripts_by_name_beside_their_recorded_frames(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(HEADER + CALL)
    (tmp_path / "a.frames.jsonl").write_text('{"type":"start"}')
    assert list(load_scripts(tmp_path)) == ["one"]
    (tmp_path / "b.jsonl").write_text(HEADER + CALL)
    with pytest.raises(ScriptError, match=r"b\.jsonl: another script is called 'one'"):
        load_scripts(tmp_path)
