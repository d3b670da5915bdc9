"""Settings: a frozen value, read once from the environment by this file and no other.

The table in docs/operations.md is `app.settings_table` of this class.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from app.settings_fields import (
    RATE,
    SWITCH_WORDS,
    Key,
    Prices,
    Ring,
    Secret,
    Switch,
    field,
    number,
    secret,
    text,
    word,
)
from app.settings_reading import ReadSettings

MODEL = r"(claude-[\w.-]+|(bedrock|bedrock-runtime|gateway|vertex):[\w.:@/-]+|stub-chat-v1|demo|scripted:[a-z0-9][a-z0-9_-]*)"

_DAYS_IN_A_MONTH = 30


class Settings(ReadSettings):
    """What a deployment may choose. Times are in the unit that the name says."""

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
        "`claude-*`; `bedrock:`, `bedrock-runtime:`, `vertex:` or `gateway:` and a model's id there; `stub-chat-v1`, `demo`, or "
        "`scripted:` and the name of a scripted turn",
        pattern=f"^{MODEL}$",
    )
    others: str = text(
        "TURNKEEP_FALLBACK_MODELS",
        "",
        "models asked in this order, separated by commas, where the first one stays busy or broken",
        f"^({MODEL}(, *{MODEL})*)?$",
    )
    scripts: str = text(
        "TURNKEEP_SCRIPTS",
        "",
        "folder of scripted turns (`*.jsonl`) besides those that ship; `demo` plays one where its `input` is asked",
        r"",
    )
    assistants: str = text(
        "TURNKEEP_ASSISTANTS",
        "",
        "files of assistants of your own, or folders of them, separated like `PATH`; see `docs/assistants.md`",
        r"",
    )
    assistant: str = word(
        "TURNKEEP_ASSISTANT", "demo", "name of the one that answers where a request names none", pattern=r"^[\w-]+$"
    )
    max_tokens: int | None = number("CHAT_MAX_TOKENS", None, "of one model call; unset, the profile's", (1, 8_192))
    timeout_ms: int | None = number("CHAT_TIMEOUT_MS", None, "of one model call; unset, the profile's", (250, 60_000))
    prestream_ms: int = number("CHAT_PRESTREAM_TIMEOUT_MS", 10_000, "bound on all before a response", (1_000, 120_000))
    anthropic_key: Key = field("ANTHROPIC_API_KEY", None, "without it `claude-*` is answered by the demo or the stub")
    anthropic_url: str = text("TURNKEEP_ANTHROPIC_URL", "", "a compatible gateway to ask instead", r"^(https?://\S+)?$")
    bedrock_url: str = text(
        "TURNKEEP_BEDROCK_URL", "", "Bedrock's Messages API, `https://bedrock-mantle.<region>.api.aws/anthropic`",
        r"^(https?://\S+)?$"
    )  # fmt: skip
    bedrock_key: Key = field("TURNKEEP_BEDROCK_KEY", None, "a Bedrock API key; with both, `bedrock:` models are asked")
    bedrock_region: str = text(
        "TURNKEEP_BEDROCK_REGION", "", "with it and AWS credentials, `bedrock-runtime:` models are asked", r"^[\w-]*$"
    )
    bedrock_access_key: Key = field(
        "TURNKEEP_BEDROCK_ACCESS_KEY", None, "an AWS access key; unset, the credentials are those that boto3 finds"
    )
    bedrock_secret_key: Key = field("TURNKEEP_BEDROCK_SECRET_KEY", None, "the secret of that access key")
    bedrock_runtime_url: str = text(
        "TURNKEEP_BEDROCK_RUNTIME_URL", "", "an address to ask instead of the region's", r"^(https?://\S+)?$"
    )
    vertex_project: str = text("TURNKEEP_VERTEX_PROJECT", "", "project at Google", r"^[\w.:-]*$")
    vertex_region: str = text(
        "TURNKEEP_VERTEX_REGION", "", "`global`, `us`, `eu`, or a region; with both and Google credentials, `vertex:` models are "
        "asked", r"^[\w-]*$"
    )  # fmt: skip
    vertex_token: Key = field(
        "TURNKEEP_VERTEX_TOKEN",
        None,
        "an access token of an hour; unset, the credentials are those that google-auth finds",
    )
    vertex_url: str = text(
        "TURNKEEP_VERTEX_URL", "", "an address to ask instead of the region's, up to `/v1`", r"^(https?://\S+)?$"
    )
    gateway_url: str = text("TURNKEEP_GATEWAY_URL", "", "a gateway beside Anthropic's address", r"^(https?://\S+)?$")
    gateway_key: Key = field("TURNKEEP_GATEWAY_KEY", None, "its key; with both, `gateway:` models are asked there")
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
        "whose `X-Forwarded-*` headers count: addresses, networks, or `*`, behind a proxy that replaces what it was sent",
        r"^\S+$",
    )
    admit: str = text(
        "TURNKEEP_ADMIT",
        "session,key,jwt",
        "what lets somebody in: anonymous `session`s, API `key`s, an issuer's `jwt`s",
        r"^(session|key|jwt)(,(session|key|jwt))*$",
    )
    tenant: str = text(
        "TURNKEEP_TENANT", "", "tenant of sessions, and of whoever names none", r"^[A-Za-z0-9_.-]{0,64}$"
    )
    jwks: str = text(
        "TURNKEEP_JWKS",
        "",
        "the issuer's public keys: a file, or an address (`https://`); unset, no `jwt` lets anybody in",
        r"^(https://\S+|http://(127\.0\.0\.1|localhost)[:/]\S*|[^:]*)$",
    )
    jwt_issuer: str = text("TURNKEEP_JWT_ISSUER", "", "`iss` of a token; needed with `TURNKEEP_JWKS`", r"")
    jwt_audience: str = text("TURNKEEP_JWT_AUDIENCE", "", "`aud` of a token; needed with `TURNKEEP_JWKS`", r"")
    jwt_algorithms: str = text(
        "TURNKEEP_JWT_ALGORITHMS",
        "RS256,ES256,EdDSA",
        "with which a token may be signed; none with a shared secret",
        r"^((RS|PS|ES)(256|384|512)|EdDSA)(,((RS|PS|ES)(256|384|512)|EdDSA))*$",
    )
    jwt_leeway_seconds: int = number("TURNKEEP_JWT_LEEWAY_SECONDS", 30, "between the issuer's clock and ours", (0, 300))
    jwt_tenant_claim: str = text(
        "TURNKEEP_JWT_TENANT_CLAIM", "", "claim that names the tenant; a token without it lets nobody in", r""
    )
    jwt_tier_claim: str = text("TURNKEEP_JWT_TIER_CLAIM", "tier", "claim that names the tier", r"")
    origins: str = text(
        "TURNKEEP_ORIGINS",
        "",
        "sites besides this one whose pages may ask (`https://app.example.com,…`)",
        r"^(https?://[^\s/,*]+(,https?://[^\s/,*]+)*)?$",
    )
    address_rate: str = text(
        "TURNKEEP_ADDRESS_RATE",
        "",
        "requests of one address, such as `600/minute`, or `off`; unset, that in production and off elsewhere",
        RATE,
    )
    owner_rate: str = text(
        "TURNKEEP_OWNER_RATE", "", "new turns of one owner; unset, `60/minute` in production and off elsewhere", RATE
    )
    owner_turns: int | None = number(
        "TURNKEEP_OWNER_TURNS",
        None,
        "turns of one owner under way at once, 0 for any number; unset, 20 in production and 0 elsewhere",
        (0, 10_000),
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
    def fallback_models(self) -> tuple[str, ...]:
        """Whom to ask in order where the model fails."""
        return tuple(name.strip() for name in self.others.split(",") if name.strip())

    @property
    def assistant_paths(self) -> tuple[Path, ...]:
        return tuple(Path(path.strip()) for path in self.assistants.split(os.pathsep) if path.strip())

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
