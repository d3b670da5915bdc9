"""Settings: what is put right, what refuses, what never shows."""

from pathlib import Path

import pytest

from app.settings import Settings
from app.settings_reading import RefusedSettings
from app.settings_table import describe, effective, table

OPERATIONS = Path(__file__).parents[2] / "docs" / "operations.md"
STRONG = "k" * 32


def refusal(environment: dict[str, str]) -> str:
    with pytest.raises(RefusedSettings) as raised:
        Settings.read(environment)
    return str(raised.value)


def test_nothing_needs_to_be_set() -> None:
    settings = Settings.read({})  # REQ-X17 REQ-X19

    assert settings == Settings.model_construct()
    assert settings.notes == ()


def test_the_names_of_the_documents_are_read() -> None:
    settings = Settings.read({
        "CHAT_MODEL": "claude-haiku-9", "CHAT_MAX_TOKENS": "600", "CHAT_TIMEOUT_MS": "9000",
        "CHAT_PRESTREAM_TIMEOUT_MS": "21000", "MODEL_BUDGET_DAILY_USD": "2.5", "MODEL_BUDGET_MONTHLY_USD": "60",
        "CHAT_TURN_SLICE_ELAPSED_MS": "1000", "CHAT_TURN_MAX_CHECKPOINT_BYTES": "5000",
    })  # fmt: skip

    # REQ-X1 REQ-X3 REQ-X4 REQ-X5 REQ-X7 REQ-X8 REQ-X9 REQ-X18
    assert (settings.model, settings.max_tokens, settings.timeout_ms, settings.prestream_ms) == (
        "claude-haiku-9", 600, 9_000, 21_000,
    )  # fmt: skip
    assert (settings.daily_usd, settings.monthly_usd) == (2.5, 60.0)
    assert (settings.slice_ms, settings.checkpoint_bytes) == (1_000, 5_000)


@pytest.mark.parametrize("value", ["", "5s", "99", "3600001", "-1", "nan"])
def test_a_number_out_of_range_falls_to_the_default_and_says_so(value: str) -> None:
    settings = Settings.read({"CHAT_TURN_SLICE_ELAPSED_MS": value})

    assert settings.slice_ms == 180_000  # REQ-X17
    assert settings.notes == ("CHAT_TURN_SLICE_ELAPSED_MS is out of range and counts as unset",)


@pytest.mark.parametrize(
    ("name", "attribute", "default"),
    [
        ("CHAT_ENV", "environment", "development"),
        ("CHAT_MODEL", "model", "claude-opus-4-8"),
        ("TURNKEEP_SDK", "sdk", 7),
    ],
)
def test_an_unknown_word_falls_to_the_default(name: str, attribute: str, default: object) -> None:
    settings = Settings.read({name: "gpt"})

    assert getattr(settings, attribute) == default
    assert settings.notes == (f"{name} is out of range and counts as unset",)


@pytest.mark.parametrize("word", ["on", "true", "1", "yes", "TRUE", "True ", " On", "YES"])
def test_every_documented_word_for_on_is_on(word: str) -> None:
    assert Settings.read({"CHAT_DISPATCH": word}).dispatch is True


@pytest.mark.parametrize("word", ["off", "false", "0", "no", "FALSE", " False ", "No", "OFF\n"])
def test_every_documented_word_for_off_is_off(word: str) -> None:
    assert Settings.read({"CHAT_DISPATCH": word}).dispatch is False  # FR80


@pytest.mark.parametrize("word", ["", " ", "flase", "null", "None", "2", "t", "enabled"])
def test_anything_else_in_a_switch_refuses_to_start(word: str) -> None:
    assert refusal({"CHAT_DISPATCH": word}) == (
        "CHAT_DISPATCH: must be one of on, off, true, false, yes, no, 1, 0"  # FR80
    )


@pytest.mark.parametrize(
    ("environment", "percent"),
    [
        ({}, 100),
        ({"CHAT_ENV": "production"}, 0),  # REQ-F3
        ({"CHAT_ENV": "production", "CHAT_DISPATCH": "on"}, 100),
        ({"CHAT_DISPATCH": "off"}, 0),  # REQ-X12
    ],
)
def test_production_runs_nothing_durably_until_it_is_told_to(environment: dict[str, str], percent: int) -> None:
    assert Settings.read(environment).first_percent == percent


def test_a_switch_under_a_wrong_name_is_pointed_out() -> None:
    assert Settings.read({"CHAT_DISPTACH": "off", "CHAT_HISTORY": "x"}).notes == (
        "CHAT_DISPTACH is not a setting; CHAT_DISPATCH is",
    )


@pytest.mark.parametrize("name", ["CHAT_STREAM_RESUME_SECRET", "INTERNAL_API_TOKEN"])
def test_a_weak_secret_refuses_to_start_and_is_not_quoted(name: str) -> None:
    assert refusal({name: "hunter2"}) == f"{name}: is shorter than 32 bytes"


def test_one_weak_secret_in_a_ring_refuses_to_start() -> None:
    assert refusal({"CHAT_STREAM_RESUME_SECRET": f"{STRONG},short"}).endswith("is shorter than 32 bytes")


@pytest.mark.parametrize("name", ["TURNKEEP_REDIS_URL", "TURNKEEP_DATABASE_URL"])
def test_an_address_is_never_guessed_nor_quoted(name: str) -> None:
    assert "opensesame" not in refusal({name: "http://user:opensesame@host"})


def test_the_resume_secret_signs_or_else_the_internal_token_or_nothing() -> None:
    ring = {"CHAT_STREAM_RESUME_SECRET": f"{'a' * 32}, {'b' * 32}", "INTERNAL_API_TOKEN": STRONG}

    assert Settings.read(ring).signing_secrets == ("a" * 32, "b" * 32)  # REQ-X10
    assert Settings.read({"INTERNAL_API_TOKEN": STRONG}).signing_secrets == (STRONG,)  # REQ-E2
    assert Settings.read({"CHAT_STREAM_RESUME_SECRET": " "}).signing_secrets == ()


@pytest.mark.parametrize(
    ("daily", "budget"), [({}, 2.0), ({"MODEL_BUDGET_DAILY_USD": "0"}, 2.0), ({"MODEL_BUDGET_DAILY_USD": "5"}, 5.0)]
)
def test_the_budget_of_a_day_is_its_own_or_a_thirtieth_of_the_month(daily: dict[str, str], budget: float) -> None:
    assert Settings.read({"MODEL_BUDGET_MONTHLY_USD": "60", **daily}).budget_of_a_day == budget  # REQ-Q3 REQ-X7


def test_no_secret_and_no_password_shows() -> None:
    names = ("INTERNAL_API_TOKEN", "CHAT_STREAM_RESUME_SECRET", "ANTHROPIC_API_KEY")
    secrets = {name: f"opensesame-{name}-{STRONG}" for name in names}
    addresses = {
        "TURNKEEP_REDIS_URL": "redis://user:opensesame@host:6379/0",
        "TURNKEEP_DATABASE_URL": "postgresql+asyncpg://user:opensesame@host/db",
    }
    settings = Settings.read(secrets | addresses)
    shown = effective(settings)

    assert "opensesame" not in f"{settings!r} {settings} {shown}"  # REQ-X6 REQ-W3
    assert [shown[name] for name in names] == ["set", "set", "set"]
    assert shown["TURNKEEP_REDIS_URL"] == "redis://…@host:6379/0"
    assert list(shown) == [row.name for row in describe()]  # REQ-Y14


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Settings.read({}).slice_ms = 1  # type: ignore[misc]  # what the type checker refuses is refused when running


def test_the_table_in_the_documentation_is_the_one_in_the_code() -> None:
    written = OPERATIONS.read_text().split("<!-- settings -->\n")[1]

    assert written == table()
