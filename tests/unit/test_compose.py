"""What the processes are made of, where a setting names a file of the deployment's own."""

from pathlib import Path

import pytest

from app.compose import core
from app.settings import Settings
from app.settings_reading import RefusedSettings

SCRIPT = (
    '{"v": 1, "name": "own", "input": "Hello?"}\n{"events": [{"type": "text", "text": "Hello."}, {"type": "stop"}]}\n'
)


def settings_of(folder: Path, model: str = "demo") -> Settings:
    database = f"sqlite:///{folder / 'records.sqlite3'}"
    return Settings.read({"TURNKEEP_SCRIPTS": str(folder), "CHAT_MODEL": model, "TURNKEEP_DATABASE_URL": database})


async def test_a_scripted_turn_of_the_deployments_own_stands_beside_those_that_ship(tmp_path: Path) -> None:
    (tmp_path / "own.jsonl").write_text(SCRIPT)
    async with core(settings_of(tmp_path, "scripted:own")) as parts:
        names = set(parts.scripts)

    assert {"own", "smoke", "count"} <= names


@pytest.mark.parametrize(
    ("text", "model", "why"),
    [
        (SCRIPT, "scripted:other", "CHAT_MODEL: there is no scripted turn of this name"),
        (SCRIPT.replace("own", "smoke"), "demo", "TURNKEEP_SCRIPTS: own.jsonl: another script is called 'smoke'"),
        ("{}", "demo", "TURNKEEP_SCRIPTS: own.jsonl: line 1: v: Field required"),
    ],
)
async def test_a_scripted_turn_that_cannot_be_played_refuses_to_start(
    tmp_path: Path, text: str, model: str, why: str
) -> None:
    (tmp_path / "own.jsonl").write_text(text)
    with pytest.raises(RefusedSettings) as refused:
        async with core(settings_of(tmp_path, model)):
            pass

    assert str(refused.value) == why


async def test_a_folder_that_is_not_there_refuses_to_start(tmp_path: Path) -> None:
    with pytest.raises(RefusedSettings, match="there is no such folder"):
        async with core(settings_of(tmp_path / "none")):
            pass


@pytest.mark.parametrize(
    ("model", "prices", "warned"),
    [
        ("claude-opus-4-8", "", False),
        ("claude-of-another-year", "", True),
        ("claude-of-another-year", "claude-of-another-year=1/2", False),
    ],
)
async def test_a_model_without_a_price_is_named_at_the_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, model: str, prices: str, warned: bool
) -> None:
    """REQ-V6: it would not be asked; a price of the deployment's own helps."""
    environment = {"ANTHROPIC_API_KEY": "k", "CHAT_MODEL": model, "TURNKEEP_PRICES": prices}
    async with core(Settings.read({**environment, "TURNKEEP_DATABASE_URL": f"sqlite:///{tmp_path / 'r.sqlite3'}"})):
        pass

    assert ("TURNKEEP_PRICES" in caplog.text) == warned


def test_prices_that_cannot_be_read_refuse_to_start() -> None:
    with pytest.raises(RefusedSettings, match="TURNKEEP_PRICES: a price of claude-x is no number"):
        Settings.read({"TURNKEEP_PRICES": "claude-x=cheap/5"})
