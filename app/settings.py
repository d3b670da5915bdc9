"""Settings: a frozen value, read once from the environment by this file and no other.

A number out of range and a word that is not among the allowed ones fall to the default and leave a note, which is logged at
start: a slip gives a working service. A switch that is none, an address of the wrong form and a weak secret refuse to start.
The table in docs/operations.md is `app.settings_table` of this class.
"""

import os
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, PrivateAttr, ValidationError, ValidationInfo, field_validator
from pydantic import ValidatorFunctionWrapHandler as Check

from app.settings_fields import SWITCH_WORDS, Key, Prices, Ring, Secret, Switch, field, mark, number, secret, text, word

_OUR_NAMES = ("CHAT_", "MODEL_BUDGET_", "TURNKEEP_")
_DAYS_IN_A_MONTH = 30


class RefusedSettings(Exception):
    """The process must not start with this environment. One line for each reason; no value is among them."""


class Settings(BaseModel):
    """What a deployment may choose. Times are in the unit that the name says."""

    model_config = ConfigDict(frozen=True, extra="ignore", protected_namespaces=())

    environment: Literal["development", "production"] = word(
        "CHAT_ENV", "development", "`production` runs no turn durably until the switch is set"
    )
    dispatch: Switch | None = field(
        "CHAT_DISPATCH",
        None,
        "whether turns run durably while nobody has set the switch; unset, on outside production",
        allowed=", ".join(SWITCH_WORDS),
    )
    host: str = text("TURNKEEP_LISTEN_HOST", "127.0.0.1", "address to listen on", r"^\S+$")
    port: int = number("TURNKEEP_LISTEN_PORT", 8_000, "port the API listens on; 0 takes a free one", (0, 65_535))
    internal_token: Secret = secret(
        "INTERNAL_API_TOKEN", None, "guards `/internal/*`; unset, those routes do not exist"
    )
    resume_ring: Ring = secret(
        "CHAT_STREAM_RESUME_SECRET", (), "signs handles and tokens, several separated by commas, newest first; unset, "
        "`INTERNAL_API_TOKEN` signs; without both nothing can be resumed"
    )  # fmt: skip

    slice_ms: int = number(
        "CHAT_TURN_SLICE_ELAPSED_MS", 180_000, "a slice hands over at the first boundary past this", (100, 3_600_000)
    )
    checkpoint_bytes: int = number(
        "CHAT_TURN_MAX_CHECKPOINT_BYTES", 700_000, "a larger checkpoint is not handed over", (1_000, 16_000_000)
    )
    temporal_address: str = text(
        "TURNKEEP_TEMPORAL_ADDRESS", "127.0.0.1:7233", "host and port of Temporal", r"^\S+:\d+$"
    )
    temporal_namespace: str = text("TURNKEEP_TEMPORAL_NAMESPACE", "default", "namespace of the workflows", r"^\S+$")
    task_queue: str = text("TURNKEEP_TASK_QUEUE", "turnkeep", "task queue of the workers", r"^\S+$")
    start_ms: int = number(
        "TURNKEEP_START_MS", 750, "bound on starting a workflow; past it a turn runs inline", (50, 10_000)
    )
    worker_turns: int = number("TURNKEEP_WORKER_TURNS", 100, "turns that one worker runs at once", (1, 1_000))
    heartbeat_ms: int = number(
        "TURNKEEP_HEARTBEAT_MS", 5_000, "silence after which Temporal gives a slice to another worker", (500, 60_000)
    )
    lease_ms: int = number("TURNKEEP_LEASE_MS", 2_000, "silence after which an executor may be replaced", (500, 60_000))
    grace_ms: int = number("TURNKEEP_GRACE_MS", 10_000, "from SIGTERM to the end of a process", (0, 600_000))

    redis_url: str = text(
        "TURNKEEP_REDIS_URL", "redis://127.0.0.1:6379/0", "Redis or Valkey", r"^(redis|rediss|unix)://\S+$"
    )
    redis_prefix: str = text("TURNKEEP_REDIS_PREFIX", "turnkeep", "first word of every key", r"^[A-Za-z0-9_-]{1,32}$")
    redis_replicas: int = number(
        "TURNKEEP_REDIS_REPLICAS",
        0,
        "replicas that must have a durable write before it counts; needed for failovers",
        (0, 5),
    )
    retention_seconds: int = number(
        "TURNKEEP_RETENTION_SECONDS", 86_400, "life of a run's log after its end", (60, 2_592_000)
    )
    erase_after_seconds: int = number(
        "TURNKEEP_ERASE_AFTER_SECONDS", 86_400, "a deleted conversation is erased after this", (0, 31_536_000)
    )
    file_bytes: int = number("TURNKEEP_FILE_BYTES", 5_000_000, "of one attached file", (1_000, 10_000_000))
    files_bytes: int = number(
        "TURNKEEP_FILES_BYTES", 200_000_000, "of all files that one owner may have", (1_000, 1_000_000_000_000)
    )
    database_url: str = text(
        "TURNKEEP_DATABASE_URL", "sqlite:///.turnkeep/turnkeep.sqlite3", "conversations, messages and runs",
        r"^(sqlite|postgresql)(\+\w+)?://\S+$"
    )  # fmt: skip
    state_dir: str = text("TURNKEEP_STATE_DIR", ".turnkeep", "folder of the embedded stack and of the outbox", r"\S")

    model: str = word(
        "CHAT_MODEL",
        "claude-opus-4-8",
        "`claude-*`, `stub-chat-v1`, `demo`, or `scripted:` and the name of a scripted turn",
        pattern=r"^(claude-[\w.-]+|stub-chat-v1|demo|scripted:[a-z0-9][a-z0-9_-]*)$",
    )
    scripts: str = text(
        "TURNKEEP_SCRIPTS",
        "",
        "folder of scripted turns (`*.jsonl`) besides those that ship; `demo` plays one where its `input` is asked",
        r"",
    )
    max_tokens: int | None = number("CHAT_MAX_TOKENS", None, "of one model call; unset, the profile's", (1, 8_192))
    timeout_ms: int | None = number("CHAT_TIMEOUT_MS", None, "of one model call; unset, the profile's", (250, 60_000))
    prestream_ms: int = number("CHAT_PRESTREAM_TIMEOUT_MS", 10_000, "bound on all before a response", (1_000, 120_000))
    anthropic_key: Key = field("ANTHROPIC_API_KEY", None, "without it `claude-*` is answered by the demo or the stub")
    anthropic_url: str = text("TURNKEEP_ANTHROPIC_URL", "", "a compatible gateway to ask instead", r"^(https?://\S+)?$")
    daily_usd: float | None = number(
        "MODEL_BUDGET_DAILY_USD", None, "hard budget of a day; unset or 0, a thirtieth of the month's", (0, 1e6)
    )
    monthly_usd: float = number("MODEL_BUDGET_MONTHLY_USD", 50.0, "budget of a month", (0, 3e7))
    prices: Prices = field(
        "TURNKEEP_PRICES", "", "of models, in dollars for a million tokens, where the built-in list is wrong or has none",
        allowed="`model=input/output`, or with `/cache read/cache write`; several separated by commas"
    )  # fmt: skip

    trusted_proxies: str = text(
        "TURNKEEP_TRUSTED_PROXIES",
        "127.0.0.1",
        "whose `X-Forwarded-*` headers count: addresses, networks, or `*`",
        r"^\S+$",
    )
    comment_ms: int = number(
        "TURNKEEP_COMMENT_MS", 15_000, "silence after which a reader gets a comment", (100, 60_000)
    )
    sdk: int = number("TURNKEEP_SDK", 7, "AI SDK version of clients that do not tell theirs", (5, 7))
    log_level: Literal["debug", "info", "warning", "error"] = word("TURNKEEP_LOG_LEVEL", "info", "least level logged")
    log_format: Literal["auto", "json", "pretty"] = word(
        "TURNKEEP_LOG_FORMAT", "auto", "`auto` is pretty on a terminal and JSON elsewhere"
    )
    alert_url: str = text(
        "TURNKEEP_ALERT_URL",
        "",
        "gets a POST for each turn cut by its token limit or interrupted",
        r"^(https?://\S+)?$",
    )
    worker_metrics_port: int = number(
        "TURNKEEP_WORKER_METRICS_PORT", 0, "port of a worker's `/metrics`; 0 serves none", (0, 65_535)
    )

    _notes: tuple[str, ...] = PrivateAttr(())

    def model_post_init(self, context: Any) -> None:
        self._notes = tuple(context["notes"]) if context else ()

    @field_validator("*", mode="wrap")
    @classmethod
    def _fall_to_default(cls, value: object, check: Check, info: ValidationInfo) -> object:
        try:
            return check(value)
        except ValidationError:
            setting = cls.model_fields[info.field_name or ""]
            if not mark(setting, "lenient"):
                raise
            note = f"{setting.validation_alias} is out of range and counts as unset"
            (info.context or {"notes": []})["notes"].append(note)
            return setting.default

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> Self:
        """Make settings of an environment.

        Raises:
            RefusedSettings: where a value must not be guessed.
        """
        notes = _misspelt(environment, cls.names())
        try:
            return cls.model_validate(dict(environment), context={"notes": notes})
        except ValidationError as error:
            # Written by hand: pydantic's own message quotes the value, which may be a secret.
            raise RefusedSettings("\n".join(_reason(one["loc"], one["msg"]) for one in error.errors())) from None

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The variables that are read, in the order of the table."""
        return tuple(str(one.validation_alias) for one in cls.model_fields.values() if one.validation_alias)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was put right while reading, to be logged as warnings."""
        return self._notes

    @property
    def signing_secrets(self) -> tuple[str, ...]:
        """What signs handles, tokens and cookies, newest first; empty where nothing can be resumed."""
        ring = self.resume_ring or ((self.internal_token,) if self.internal_token else ())
        return tuple(one.get_secret_value() for one in ring)

    @property
    def first_percent(self) -> int:
        """The share of turns that run durably while nobody has set the switch."""
        wanted = self.environment != "production" if self.dispatch is None else self.dispatch
        return 100 if wanted else 0

    @property
    def budget_of_a_day(self) -> float:
        return self.daily_usd or self.monthly_usd / _DAYS_IN_A_MONTH

    @property
    def budget_micro_usd(self) -> int:
        """The same in millionths, in which spend is counted."""
        return int(self.budget_of_a_day * 1_000_000)


def read_settings(beneath: Mapping[str, str] | None = None) -> Settings:
    """The settings of this process: its environment, laid over `beneath`. Call it once, in the command that starts it."""
    return Settings.read({**(beneath or {}), **os.environ})


def environment_with(extra: Mapping[str, str]) -> dict[str, str]:
    """Our environment with additions, for a child process."""
    return {**os.environ, **extra}


def _misspelt(environment: Mapping[str, str], known: tuple[str, ...]) -> list[str]:
    """A switch under a wrong name would silently stay as it was: say which name was probably meant."""
    strangers = sorted(name for name in environment if name.startswith(_OUR_NAMES) and name not in known)
    meant = ((name, get_close_matches(name, known, n=1, cutoff=0.8)) for name in strangers)
    return [f"{name} is not a setting; {matches[0]} is" for name, matches in meant if matches]


def _reason(location: tuple[int | str, ...], message: str) -> str:
    return f"{'.'.join(str(piece) for piece in location)}: {message.removeprefix('Value error, ')}"
