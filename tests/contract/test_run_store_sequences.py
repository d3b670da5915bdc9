"""Any sequence of what executors do, by several at once, gives what the laws say: the stores against a simple model.

Executors are stale, repeat writes whose replies they lost, write at wrong indices, take over, release and come back. After
every step the reply is the model's; at the end so are the log, from every index, and the checkpoint.
"""

from dataclasses import dataclass, field

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from checkpoints.port import Append, Claimed, Grip, Order
from tests.run_model import RunModel, outcome
from tests.stores import YEAR_MS, World

EXECUTORS = ("north", "south", "west")


@dataclass(frozen=True)
class Step:
    """What one executor does. `shift` is how far off its index is; `again` that the reply was lost and it repeats."""

    who: str
    what: str
    size: int
    shift: int
    again: bool
    flag: bool


STEPS = st.lists(
    st.builds(
        Step,
        who=st.sampled_from(EXECUTORS),
        what=st.sampled_from(
            ("claim", "append", "append", "append", "renew", "release", "stop", "load", "seal", "finish")
        ),
        size=st.integers(0, 5),
        shift=st.sampled_from((0, 0, 0, 0, -1, 1)),
        again=st.booleans(),
        flag=st.booleans(),
    ),
    min_size=20,
    max_size=60,
)


@dataclass
class Play:
    """A run in a store and in the model, and what each executor believes."""

    world: World
    model: RunModel
    grips: dict[str, Grip]
    written: int = 0
    differences: list[tuple[Step, object, object]] = field(default_factory=list)

    async def step(self, step: Step) -> None:
        grip = self.grips[step.who]
        texts = [b"<%d.%d>" % (self.written, n) for n in range(step.size)]
        self.written += 1
        start = max(0, len(self.model.frames) + step.shift)
        for _ in range(1 + step.again):
            real, expected = await getattr(self, f"_{step.what}")(step, grip, start, texts)
            if real != expected:
                self.differences.append((step, real, expected))

    async def _claim(self, step: Step, _grip: Grip, _start: int, _texts: list[bytes]) -> tuple[object, object]:
        lease = YEAR_MS if step.flag else 0
        request = self.world.request(Order(1, step.size, 0), owner=step.who, lease_ms=lease, most=step.size + 1)
        real = outcome(await self.world.store.claim(self.model.run_id, request))
        if isinstance(real, Claimed):
            self.grips[step.who] = real.grip
        return real, self.model.claim(request)

    async def _append(self, step: Step, grip: Grip, start: int, texts: list[bytes]) -> tuple[object, object]:
        delta, entry = (b"delta%d" % self.written, b"entry%d" % self.written) if step.flag else (None, b"")
        write = Append(
            start=start, count=len(texts), payload=b"".join(texts), delta=delta, ledger={"1.0": entry} if entry else {}
        )
        return await self.world.store.append(grip, write), self.model.append(grip, start, texts, delta, entry)

    async def _renew(self, step: Step, grip: Grip, _start: int, _texts: list[bytes]) -> tuple[object, object]:
        real = await self.world.store.renew(grip, YEAR_MS if step.flag else 0)
        return real, self.model.renew(grip, live=step.flag)

    async def _release(self, _step: Step, grip: Grip, _start: int, _texts: list[bytes]) -> tuple[object, object]:
        return await self.world.store.release(grip, None, Order(1, 1, 1)), self.model.release(grip)

    async def _stop(self, _step: Step, _grip: Grip, _start: int, _texts: list[bytes]) -> tuple[object, object]:
        self.model.stop = self.model.stop or self.model.seal is None
        view = await self.world.store.stop(self.model.run_id)
        return view is not None and view.stop, self.model.stop

    async def _load(self, _step: Step, grip: Grip, _start: int, _texts: list[bytes]) -> tuple[object, object]:
        return await self.world.store.load(grip), self.model.load(grip)

    async def _seal(self, step: Step, grip: Grip, start: int, texts: list[bytes]) -> tuple[object, object]:
        write = Append(start=start, count=len(texts), payload=b"".join(texts))
        real = await self.world.store.seal(grip, write, step.who.encode(), stop_seen=step.flag)
        return real, self.model.sealed(grip, start, texts, step.who.encode(), seen=step.flag)

    async def _finish(self, step: Step, grip: Grip, start: int, texts: list[bytes]) -> tuple[object, object]:
        write = Append(start=start, count=len(texts), payload=b"".join(texts))
        return await self.world.store.finish(grip, write, step.who, 60_000), self.model.finish(
            grip, start, texts, step.who
        )


@given(steps=STEPS)
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_any_sequence_keeps_the_laws(world: World, steps: list[Step]) -> None:
    """S2 to S8, S10 to S15, C2, C3, C4."""
    run_id = await world.opened()
    play = Play(world, RunModel(run_id), {who: Grip(run_id, 0, who) for who in EXECUTORS})

    for step in steps:
        await play.step(step)

    assert play.differences == []
    model, view = play.model, await world.store.view(run_id)
    newest = Grip(run_id, model.attempt, model.owner)
    assert await world.store.load(newest) == model.load(newest)
    assert view is not None
    counters = (view.attempt, view.next, view.stop, view.deaths, view.order.key, view.status, view.lease_ms > 0)
    frames = model.frames
    assert counters == (model.attempt, len(frames), model.stop, model.deaths, model.order, model.status, model.lease)
    for start in range(len(frames) + 1):
        page = await world.page(run_id, start)
        before = page.entries[0].end - page.entries[0].count if page.entries else start
        assert b"".join(entry.payload for entry in page.entries) == b"".join(frames[before:])
        assert (page.next, page.ended, before <= start) == (len(frames), bool(model.status), True)
