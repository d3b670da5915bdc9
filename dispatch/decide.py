"""Which transport a turn takes. A function of what is known without waiting for anybody."""

from dataclasses import dataclass
from typing import Final, Literal

from dispatch.switch import Switch
from protocol.turn import Transport

MAX_ENVELOPE_BYTES: Final = 800_000  # below what the server accepts as an input, with room for its own fields

Reason = Literal["chosen", "switched_off", "not_in_canary", "breaker_open", "envelope_too_large", "start_failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A transport and why."""

    transport: Transport
    reason: Reason


def decide(owner: str, *, switch: Switch, breaker_open: bool, envelope_bytes: int) -> Decision:
    """The durable path, unless something speaks against it."""
    if not switch.covers(owner):
        return Decision(
            transport="inline", reason="not_in_canary" if switch.percent or switch.allow else "switched_off"
        )
    if breaker_open:
        return Decision(transport="inline", reason="breaker_open")
    if envelope_bytes > MAX_ENVELOPE_BYTES:
        return Decision(transport="inline", reason="envelope_too_large")
    return Decision(transport="workflow", reason="chosen")
