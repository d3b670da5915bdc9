"""A turn's own observers: asked at every boundary, told once how it ended. Whatever they do, the turn goes on (REQ-D12)."""

import asyncio

from protocol.checkpoint import Seal, TurnState
from runner.parts import Parts


def observed(parts: Parts, state: TurnState) -> TurnState:
    """The state with what its observers know at this boundary."""
    if not parts.turn_observers:
        return state
    known = dict(state.observed)
    for name, observer in parts.turn_observers.items():
        try:
            known[name] = observer.observe(known.get(name), state)
        except Exception:  # noqa: BLE001 - somebody else's code: it loses its view of a step, nobody loses the turn
            parts.observer.trouble(state.run_id, "an observer of the turn failed")
    return state.model_copy(update={"observed": known})


async def tell_ended(parts: Parts, run_id: str, seal: Seal) -> None:
    """Tell every observer, at the same time and within a bound."""
    tellings = [
        observer.ended(run_id, seal.observed.get(name), seal) for name, observer in parts.turn_observers.items()
    ]
    try:
        async with asyncio.timeout(parts.settings.collect_ms / 1000):
            ends = await asyncio.gather(*tellings, return_exceptions=True)
    except TimeoutError:
        parts.observer.trouble(run_id, "an observer took too long with the end of a turn")
    else:
        if any(isinstance(end, Exception) for end in ends):
            parts.observer.trouble(run_id, "an observer failed at the end of a turn")
