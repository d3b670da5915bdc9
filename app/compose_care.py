"""What a process needs to look after runs that are not its own: the same in API and workers."""

from app.compose import Core
from app.observe import ended_without_executor
from dispatch.caretaker import LONGEST_RUN_MS, CareParts
from dispatch.redis import RedisSwitch
from dispatch.switch import Switch
from dispatch.temporal import Workflows
from dispatch.watch import SwitchWatch


def care_parts(core: Core, workflows: Workflows) -> CareParts:
    """The parts of a caretaker, the switch included."""
    settings = core.settings
    first = Switch(percent=settings.first_percent)
    core.metrics.switched(first)

    def run_ms(assistant: str) -> int:
        known = core.assistants.get(assistant)
        return LONGEST_RUN_MS if known is None else int(known.effective_limits.run_seconds * 1_000)

    return CareParts(
        store=core.store,
        outbox=core.outbox,
        records=core.records,
        workflows=workflows,
        switch=SwitchWatch(RedisSwitch(core.client, core.keys), default=first, on_change=core.metrics.switched),
        clock=core.clock,
        lease_ms=settings.lease_ms,
        slice_ms=settings.slice_ms,
        heartbeat_ms=settings.heartbeat_ms,
        erase_after_ms=settings.erase_after_seconds * 1_000,
        kept_ms=settings.retention_seconds * 1_000,
        run_ms=run_ms,
        on_lost=ended_without_executor(core.metrics, core.alerts),
        on_late=core.metrics.late,
    )
