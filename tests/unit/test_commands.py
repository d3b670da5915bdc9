"""The command line: what is asked for, what is refused, what a switch becomes."""

import json
from argparse import ArgumentParser, Namespace

import pytest

from app.__main__ import COMMANDS, main
from app.commands import dispatch
from app.settings_table import describe
from dispatch.switch import OFF, ON, Switch
from protocol.errors import TurnkeepError

CANARY = Switch(percent=10, allow=frozenset({"ann"}))


def changed(*words: str, switch: Switch = CANARY) -> Switch:
    parser = ArgumentParser()
    dispatch.configure(parser)
    return dispatch.changed(switch, parser.parse_args(words))


def test_without_a_command_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert main(["--help"]) == 0

    printed = capsys.readouterr()
    assert printed.out == printed.err
    assert all(f"  {name} " in printed.out for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_says_what_it_takes(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])

    assert ended.value.code == 0
    assert f"usage: python -m app {name}" in capsys.readouterr().out


def test_settings_that_must_not_be_guessed_refuse_to_start(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CHAT_DISPATCH", "flase")

    assert main(["settings"]) == 78
    assert "CHAT_DISPATCH: must be one of on, off" in capsys.readouterr().err  # FR80


def test_the_settings_in_force_are_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.setenv("TURNKEEP_STATE_DIR", str(tmp_path_factory.mktemp("state")))
    monkeypatch.setenv("INTERNAL_API_TOKEN", "t" * 32)

    assert main(["settings"]) == 0

    shown = json.loads(capsys.readouterr().out)
    assert (list(shown), shown["INTERNAL_API_TOKEN"]) == ([row.name for row in describe()], "set")


def test_on_and_off_mean_everybody() -> None:
    assert (changed("on"), changed("off")) == (ON, OFF)


def test_a_percentage_keeps_those_who_are_named() -> None:
    assert changed("percent", "25") == Switch(percent=25, allow=frozenset({"ann"}))  # REQ-X12


def test_naming_owners_replaces_those_named_before_and_keeps_the_percentage() -> None:
    assert changed("allow", "bob", "cid") == Switch(percent=10, allow=frozenset({"bob", "cid"}))
    assert changed("allow") == Switch(percent=10)


def test_too_many_names_are_a_percentage() -> None:
    with pytest.raises(TurnkeepError, match="At most 1000"):
        dispatch.changed(OFF, Namespace(action="allow", owners=[str(number) for number in range(1_001)]))
