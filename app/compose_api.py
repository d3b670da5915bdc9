"""What an API process has besides the core: hubs, dispatch, and the application over all of it."""

import logging
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import cast
from uuid import uuid4

from api.application import Application, build
from api.identity import MayUse, everything
from api.ports import ApiParts, Limits, Operations, Place, Probe, Tokens
from api.rates import Rates
from api.redis import RedisWindows
from app.compose import ROOT, Core
from app.compose_care import care_parts
from app.compose_identity import admitted, quota
from app.observe import HttpMeter
from app.settings import Settings
from app.settings_table import effective
from app.smoke import Smoke
from checkpoints.memory import MemoryRunStore
from checkpoints.outbox import MemoryOutbox
from dispatch.dispatcher import Dispatcher, DispatchParts
from dispatch.temporal import API_RETRIES, Workflows
from frames.hub import Hub
from frames.projection import Sdk
from frames.redis import RedisFrameSource
from frames.tokens import KeyRing, Sessions
from workflows.connection import connect

logger = logging.getLogger(__name__)

_CONNECT_SECONDS = 0.75  # to Temporal: no request waits for it, and a probe must fail in time
_SECRET_BYTES = 32
_MEMORY_SECONDS = 300  # for a reader that is slow, or asks again


@asynccontextmanager
async def application(core: Core, may_use: MayUse = everything) -> AsyncIterator[tuple[Application, Dispatcher]]:
    """The application and who executes its turns. `may_use` is the deployment's own word on who may use what."""
    memory_store = MemoryRunStore(core.clock, durable=False)
    primary = Place(store=core.store, hub=Hub(RedisFrameSource(core.client, core.push, keys=core.keys)), durable=True)
    memory = Place(store=memory_store, hub=Hub(memory_store), durable=False)
    workflows = _workflows(core.settings)
    try:
        async with Dispatcher(_dispatch_parts(core, memory_store, workflows)) as dispatcher:
            core.metrics.watch_breaker(lambda: dispatcher.breaker_open)
            ring = _ring(core.settings)
            parts = ApiParts(
                records=core.records,
                primary=primary,
                memory=memory,
                dispatch=dispatcher,
                sessions=Sessions(ring),
                tokens=_tokens(core.settings, ring),
                assistants=core.assistants,
                default_assistant=core.settings.assistant,
                clock=core.clock,
                new_id=lambda: str(uuid4()),
                random_bytes=secrets.token_bytes,
                model_of=core.model_of,
                pages=ROOT / "web",
                tenant=core.settings.tenant,
                admitted=admitted(core.settings, core.clock),
                may_use=may_use,
                quota=quota(core.settings),
                rates=Rates(RedisWindows(core.client, core.keys)),
                default_sdk=cast("Sdk", core.settings.sdk),  # within its bounds
                limits=_limits(core.settings),
                operations=_operations(core, workflows, Smoke(core, workflows, primary.hub)),
            )
            yield build(parts), dispatcher
    finally:
        await primary.hub.close()
        await memory.hub.close()


def _limits(settings: Settings) -> Limits:
    return Limits(
        prestream_ms=settings.prestream_ms,
        heartbeat_ms=settings.comment_ms,
        log_kept_ms=settings.retention_seconds * 1_000,
        file_bytes=settings.file_bytes,
        files_bytes=settings.files_bytes,
    )


def _workflows(settings: Settings) -> Workflows:
    return Workflows(
        lambda: connect(
            settings.temporal_address,
            namespace=settings.temporal_namespace,
            timeout_seconds=_CONNECT_SECONDS,
            retries=API_RETRIES,
        ),
        task_queue=settings.task_queue,
        start_seconds=settings.start_ms / 1_000,
    )


def _dispatch_parts(core: Core, memory: MemoryRunStore, workflows: Workflows) -> DispatchParts:
    memory_outbox = MemoryOutbox()
    return DispatchParts(
        care=care_parts(core, workflows),
        runner=core.runner(core.store, core.outbox),
        memory_runner=_briefly_kept(core).runner(memory, memory_outbox),
        memory_outbox=memory_outbox,
        grace_seconds=core.settings.grace_ms / 1_000,
        on_decision=core.metrics.decided,
    )


def _briefly_kept(core: Core) -> Core:
    """The core of runs on the memory log. The records have the answer of an ended one, and its frames take our memory."""
    seconds = min(core.settings.retention_seconds, _MEMORY_SECONDS)
    return replace(core, settings=core.settings.model_copy(update={"retention_seconds": seconds}))


def _ring(settings: Settings) -> KeyRing:
    if settings.signing_secrets:
        return KeyRing([secret.encode() for secret in settings.signing_secrets])
    logger.warning("no secret signs: nothing can be resumed, and sessions end with this process")
    return KeyRing([secrets.token_bytes(_SECRET_BYTES)])


def _tokens(settings: Settings, ring: KeyRing) -> Tokens | None:
    return Tokens.signed_by(ring) if settings.signing_secrets else None


def _operations(core: Core, workflows: Workflows, smoke: Smoke) -> Operations:
    token = core.settings.internal_token

    async def redis_answers() -> bool:
        return bool(await core.client.execute("PING"))

    async def records_answer() -> bool:
        await core.records.unfinished(0, 1)
        return True

    return Operations(
        token=token.get_secret_value() if token else None,
        settings={**effective(core.settings)},
        probes={
            "records": Probe(check=records_answer),
            # Without these two turns run inline, and on the memory log: worse, but not out of service.
            "redis": Probe(check=redis_answers, required=False),
            "temporal": Probe(check=workflows.probe, required=False),
        },
        metrics=core.metrics.exposition,
        smoke=smoke,
        budget_micro_usd=core.settings.budget_micro_usd,
        meter=HttpMeter(core.metrics),
    )
