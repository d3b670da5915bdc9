"""What every process of ours is made of, put together in one place: plain constructor calls, no container."""

import logging
import random
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from app.alerts import Alerts
from app.clock import SystemClock
from app.compose_assistants import assistants_of
from app.metrics import Metrics
from app.models import reached
from app.observe import CountedRunner, RunObserver, nobody
from app.settings import Settings
from app.settings_reading import RefusedSettings
from assistants.definition import Assistant
from assistants.demo import TURNS
from assistants.demo_model import DemoModel
from assistants.routing import models_of
from checkpoints.outbox import Outbox
from checkpoints.outbox_redis import RedisOutbox
from checkpoints.port import Grip, RunStore
from checkpoints.redis import RedisRunStore
from protocol.turn import TurnRequest
from providers.choose import SCRIPTED, Providers
from providers.prices import PriceList, parse_rates
from providers.script import Script, ScriptError, load_scripts
from records.records import Records
from resp.address import parse_address
from resp.client import Client
from resp.keys import Keys
from resp.push import PushConnection
from runner.choosing import chosen
from runner.parts import Chosen, Parts, RunnerSettings, always_there
from runner.port import TurnRunner
from runner.turn import Runner

logger = logging.getLogger(__name__)

ROOT = Path(__file__).parents[1]

Compose = Callable[[Settings], AbstractAsyncContextManager["Core"]]  # `core`, or what a test puts in its place


@dataclass(frozen=True, slots=True, kw_only=True)
class Core:
    """What API and workers share."""

    settings: Settings
    metrics: Metrics
    clock: SystemClock
    client: Client
    push: PushConnection
    keys: Keys
    store: RedisRunStore
    outbox: RedisOutbox
    records: Records
    alerts: Alerts
    assistants: Mapping[str, Assistant]
    scripts: Mapping[str, Script]
    providers: Providers
    prices: PriceList

    def runner(
        self,
        store: RunStore,
        outbox: Outbox,
        *,
        reachable: Callable[[], Awaitable[bool]] = always_there,
        on_claim: Callable[[Grip], None] = nobody,
    ) -> TurnRunner:
        """A runner over a store and the outbox beside it, counted and logged. `on_claim` is told of each claim it wins."""
        parts = self.parts(store, outbox, reachable=reachable, on_claim=on_claim)
        return CountedRunner(Runner(parts), self.metrics)

    def parts(
        self,
        store: RunStore,
        outbox: Outbox,
        *,
        reachable: Callable[[], Awaitable[bool]] = always_there,
        on_claim: Callable[[Grip], None] = nobody,
    ) -> Parts:
        """What such a runner is built from."""
        return Parts(
            store=store,
            outbox=outbox,
            reachable=reachable,
            records=self.records,
            assistants=self.assistants,
            choose=self._choose,
            price=self.prices,
            clock=self.clock,
            new_owner=lambda: secrets.token_hex(8),
            chance=random.random,
            observer=RunObserver(self.metrics, self.alerts, on_claim),
            settings=RunnerSettings(
                lease_ms=self.settings.lease_ms,
                renew_ms=self.settings.lease_ms // 4,
                retention_ms=self.settings.retention_seconds * 1_000,
                max_checkpoint_bytes=self.settings.checkpoint_bytes,
                abandon_ms=self.settings.grace_ms * 2 // 5,
                budget_micro_usd=self.settings.budget_micro_usd,
            ),
        )

    def model_of(self, assistant: Assistant) -> str:
        """The model that answers for an assistant. Raises TurnkeepError: `not_configured`."""
        model = self._models_of(assistant, "")[0]
        return self.providers.choose(model, require_model=assistant.require_model)[1]

    def _choose(self, assistant: Assistant, request: TurnRequest) -> Chosen:
        named = (f"{SCRIPTED}{request.script}",) if request.script else self._models_of(assistant, request.tier)
        return chosen(self.providers, assistant, named)

    def _models_of(self, assistant: Assistant, tier: str) -> tuple[str, ...]:
        return models_of(assistant, tier, model=self.settings.model, fallbacks=self.settings.fallback_models)


@asynccontextmanager
async def core(settings: Settings) -> AsyncIterator[Core]:
    """Everything that is shared, closed at the end. Nothing is connected yet: each part connects when it is used.

    Raises:
        RefusedSettings: scripted turns or assistants cannot be read, or one that is named is not among them.
    """
    scripts = scripts_of(settings)
    assistants = assistants_of(settings, scripts)
    address, keys = parse_address(settings.redis_url), Keys(f"{settings.redis_prefix}:")
    client = Client(address, jitter=random.random)
    push = PushConnection(address, jitter=random.random)
    try:
        async with (
            Records(settings.database_url) as records,
            Alerts(settings.alert_url) as alerts,
            reached(settings) as (anthropic, others),
        ):
            yield Core(
                settings=settings,
                metrics=Metrics(),
                clock=SystemClock(),
                client=client,
                push=push,
                keys=keys,
                store=RedisRunStore(client, push, keys=keys, replicas=settings.redis_replicas),
                outbox=RedisOutbox(client, keys),
                records=records,
                alerts=alerts,
                assistants=assistants,
                scripts=scripts,
                providers=Providers(anthropic=anthropic, others=others, demo=DemoModel(scripts), scripts=scripts),
                prices=_prices(settings, paid=bool(anthropic or others)),
            )
    finally:
        await push.close()
        await client.close()


def scripts_of(settings: Settings) -> Mapping[str, Script]:
    """The scripted turns by name. Raises RefusedSettings."""
    try:
        scripts = load_scripts(TURNS, *([Path(settings.scripts)] if settings.scripts else []))
    except ScriptError as error:
        raise RefusedSettings(f"TURNKEEP_SCRIPTS: {error}") from None
    for name, models in (("CHAT_MODEL", (settings.model,)), ("TURNKEEP_FALLBACK_MODELS", settings.fallback_models)):
        if any(one.startswith(SCRIPTED) and one.removeprefix(SCRIPTED) not in scripts for one in models):
            raise RefusedSettings(f"{name}: there is no scripted turn of this name")
    return scripts


def _prices(settings: Settings, *, paid: bool) -> PriceList:
    rates = parse_rates(settings.prices)
    if not paid:
        return PriceList(rates=rates)
    # Only here: it takes long to import, and most starts ask no model that costs.
    from providers.snapshot import snapshot_price  # noqa: PLC0415 - see above

    if snapshot_price(settings.model, False) is None and settings.model not in rates:
        logger.warning("nobody knows what CHAT_MODEL costs, so it is not asked: see TURNKEEP_PRICES")
    return PriceList(rates=rates, snapshot=snapshot_price)
