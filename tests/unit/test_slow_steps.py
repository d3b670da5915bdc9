"""Steps that take longer than a slice may: they are finished, not cut and begun again (FR21)."""

from dataclasses import dataclass, field

from providers.script import parse_script
from records.records import Records
from tests.rig import RUN_ID, Outside, Rig, StillClock
from tools.declare import Call, Tool, tool

SLICE_MS = 2_000
SLOW_MS = 3 * SLICE_MS

SCRIPT = parse_script(
    '{"v":1,"name":"slow","input":"Send it."}\n'
    '{"events":[{"type":"tool_input","id":"a","name":"send","delta":"{\\"text\\": \\"hi\\"}"},{"type":"stop","reason":"tool_use"}]}\n'
    '{"gap_ms":1,"events":[{"type":"text","text":"It is on its way, and so on.","words":true},'
    '{"type":"tool_input","id":"b","name":"send","delta":"{\\"text\\": \\"ho\\"}"},{"type":"stop","reason":"tool_use"}]}\n'
    '{"events":[{"type":"text","text":"Sent."},{"type":"stop"}]}\n'
)


@dataclass(slots=True)
class SlowOutside(Outside):
    """Whose tool takes longer than a slice."""

    clock: StillClock = field(default_factory=StillClock)

    @property
    def tools(self) -> tuple[Tool, ...]:
        @tool(repeat="never")
        async def send(call: Call, text: str) -> str:
            """Send a message."""
            self.clock.now += SLOW_MS
            self.effects.append(call.key)
            return f"sent {text}"

        return (send,)


async def test_a_step_longer_than_a_slice_is_done_once_and_the_slice_ends_after_it() -> None:
    """FR21 LAW-P3: a slow tool, then a model that speaks longer than a slice lasts."""
    async with await Records.in_memory() as records:
        clock = StillClock()

        async def slow_words(_: float) -> None:
            clock.now += SLICE_MS

        rig = Rig(records=records, clock=clock, outside=SlowOutside(clock=clock), pace=slow_words)
        await rig.begin(SCRIPT.input)

        slices = await rig.run(SCRIPT, slice_ms=SLICE_MS)

        kinds = [frame["type"] for frame in await rig.frames()]
        view = await rig.store.view(RUN_ID)
    assert [(one.outcome, one.reason, one.steps) for one in slices] == [
        ("handed_over", "budget", 2),
        ("handed_over", "budget", 3),
        ("ended", "", 3),
    ]
    assert rig.outside.effects == [f"{RUN_ID}:1.0", f"{RUN_ID}:2.0"]
    assert (kinds.count("reset-step"), kinds.count("tool-input-start"), kinds.count("tool-output-available")) == (
        0,
        2,
        2,
    )
    assert view is not None
    assert (view.attempt, view.deaths) == (3, 0)
