"""The readers' side of a run store: laws F1 to F3 over every store."""

import asyncio

from protocol.log import Pushed
from tests.stores import World, frames


async def test_every_later_append_is_pushed_with_its_index(world: World) -> None:
    """F1, F2: what was refused is not, and the end is told."""
    grip = (await world.running()).grip
    run_id, ended = grip.run_id, asyncio.Event()
    heard: list[Pushed] = []

    def listen(pushed: Pushed) -> None:
        heard.append(pushed)
        if pushed.ended:
            ended.set()

    await world.store.append(grip, frames(0, b"before"))
    await world.source.subscribe(run_id, listen)
    await world.store.append(grip, frames(1, b"a\n\n", b"b\n\n", delta=b"d"))
    await world.store.append(grip, frames(1, b"repeated", b"b\n\n"))
    await world.store.append(grip, frames(3, delta=b"alone"))
    await world.store.seal(grip, frames(3, b"c"), b"seal", stop_seen=False)
    await world.store.finish(grip, frames(4, b"d"), "completed", 60_000)
    await world.store.finish(grip, frames(5, b"x"), "completed", 60_000)

    await ended.wait()
    assert heard == [
        Pushed(run_id, 3, 2, b"a\n\nb\n\n"),
        Pushed(run_id, 4, 1, b"c"),
        Pushed(run_id, 5, 1, b"d"),
        Pushed(run_id, 5, 0, b"", ended=True),
    ]


async def test_runs_are_heard_apart(world: World) -> None:
    """F1."""
    grips = [(await world.running()).grip for _ in range(5)]
    heard: list[tuple[str, bytes]] = []
    complete = asyncio.Event()

    def listen(pushed: Pushed) -> None:
        heard.append((pushed.run_id, pushed.payload))
        if len(heard) == len(grips):
            complete.set()

    await asyncio.gather(*[world.source.subscribe(grip.run_id, listen) for grip in grips])
    await asyncio.gather(*[world.store.append(grip, frames(0, grip.run_id.encode())) for grip in grips])

    await complete.wait()
    assert sorted(heard) == sorted((grip.run_id, grip.run_id.encode()) for grip in grips)


async def test_nothing_is_heard_after_leaving_and_all_after_coming_back(world: World) -> None:
    """F1: leaving and coming back in one breath loses nothing that is written after it."""
    grip = (await world.running()).grip
    heard: list[int] = []
    third = asyncio.Event()

    def listen(pushed: Pushed) -> None:
        heard.append(pushed.end)
        if pushed.end == 3:
            third.set()

    await world.source.subscribe(grip.run_id, listen)
    await world.source.unsubscribe(grip.run_id)
    await world.store.append(grip, frames(0, b"a"))
    assert heard == []

    leaving = asyncio.ensure_future(world.source.unsubscribe(grip.run_id))
    await asyncio.gather(world.source.subscribe(grip.run_id, listen), leaving)
    await asyncio.gather(world.source.unsubscribe(grip.run_id), world.source.subscribe(grip.run_id, listen))
    await world.store.append(grip, frames(1, b"b"))
    await world.store.append(grip, frames(2, b"c"))

    await third.wait()
    assert heard == [2, 3]


async def test_listeners_are_called_in_the_loop(world: World) -> None:
    """F3: without a thread, and never while the writer's own step is under way in another store."""
    grip = (await world.running()).grip
    called_in: asyncio.Future[object] = asyncio.get_running_loop().create_future()
    await world.source.subscribe(grip.run_id, lambda _: called_in.set_result(asyncio.get_running_loop()))

    await world.store.append(grip, frames(0, b"a"))

    assert await called_in is asyncio.get_running_loop()


async def test_a_log_is_read_through_the_source_as_through_the_store(world: World) -> None:
    """F2, S14."""
    grip = (await world.running()).grip
    await world.store.append(grip, frames(0, b"a", b"b"))
    await world.store.append(grip, frames(2, b"c"))

    for start in range(4):
        assert await world.source.read(grip.run_id, start, 1) == await world.store.read(grip.run_id, start, 1)
    assert await world.source.read("gone", 0, 1) is None
