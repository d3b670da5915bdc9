"""The real runner over a real server that is killed, emptied, cut back, filled up, cut off and replaced in the middle of a turn.

A reader that was there all the time has no gap, nothing twice and in the end the stored message; the model is asked once.
Afterwards tasks and connections are as many as before.
"""

import asyncio
from collections.abc import Callable

import pytest

from protocol.turn import SliceResult
from runner.parts import no_fault
from tests.replication import replicated
from tests.rig import RUN_ID
from tests.scene import KINDS, Scene, scene_at
from tests.servers import Server, running_server
from tests.stores import client_at
from tests.unit.test_lost_and_found import script_of

Trouble = Callable[[Scene, Server], None]


def killed(scene: Scene, server: Server) -> None:
    """It comes back with its file, before the next word."""

    async def restart() -> None:
        await scene.seen(10)
        server.kill()
        server.start()

    scene.at = {10: restart}


def away(scene: Scene, server: Server) -> None:
    """It comes back some words later."""

    async def kill() -> None:
        await scene.seen(10)
        server.kill()

    async def start() -> None:
        server.start()

    scene.at = {10: kill, 20: start}


def cut_back(scene: Scene, server: Server) -> None:
    """The power fails: what was written last never reached the disk, readers have it."""
    size = 0

    async def look() -> None:
        nonlocal size
        await scene.seen(10)
        size = server.file_size()

    async def lose_power() -> None:
        await scene.seen(20)
        assert size < server.file_size()
        server.lose_power(size)
        server.start()

    scene.at = {10: look, 20: lose_power}


def emptied(scene: Scene, server: Server) -> None:
    """It comes back without its data."""

    async def empty() -> None:
        await scene.seen(10)
        server.empty()
        server.start()

    scene.at = {10: empty}


def cut_back_in_silence(scene: Scene, server: Server) -> None:
    """The model thinks while the power fails, and goes on once the log is as long as before: no append tells the loss."""
    cut_back(scene, server)
    lose_power = scene.at[20]

    async def lose_and_wait() -> None:
        await lose_power()
        await scene.stored(25)

    scene.at[20] = lose_and_wait


def flushed_in_silence(scene: Scene, _: Server) -> None:
    """The same with all data: what finds out is the renewal of the lease."""

    async def flush_and_wait() -> None:
        await scene.seen(10)
        await scene.client.execute("FLUSHALL")
        await scene.stored(15)

    scene.at = {10: flush_and_wait}


def flushed(scene: Scene, _: Server) -> None:
    """Somebody throws its data away."""
    scene.at = {10: lambda: scene.client.execute("FLUSHALL")}


def full(scene: Scene, server: Server) -> None:
    """It has no memory left, for a while."""
    _for_a_while(scene, server, ("CONFIG", "SET", "maxmemory", 1), ("CONFIG", "SET", "maxmemory", 0))


def demoted(scene: Scene, server: Server) -> None:
    """It is a replica, for a while."""
    _for_a_while(scene, server, ("REPLICAOF", "127.0.0.1", 1), ("REPLICAOF", "NO", "ONE"))


def _for_a_while(scene: Scene, server: Server, begin: tuple[str | int, ...], end: tuple[str | int, ...]) -> None:
    async def command(words: int, *parts: str | int) -> None:
        await scene.seen(words)
        async with client_at(server.address) as direct:
            await direct.execute(*parts)

    scene.at = {10: lambda: command(10, *begin), 20: lambda: command(0, *end)}


def silent(scene: Scene, _: Server) -> None:
    """Commands reach it, replies do not come back, and then the line breaks: what was sent may have happened."""

    async def hold() -> None:
        scene.proxy.hold()

    async def cut() -> None:
        scene.proxy.cut()

    scene.at = {10: hold, 20: cut}


def often_cut(scene: Scene, _: Server) -> None:
    """The line breaks at every third word."""

    async def cut() -> None:
        scene.proxy.cut()

    scene.at = dict.fromkeys(range(3, 39, 3), cut)


@pytest.mark.parametrize(
    "trouble",
    [
        killed, away, cut_back, cut_back_in_silence, emptied, flushed, flushed_in_silence, full, demoted, silent, often_cut,
    ],
    ids=lambda it: it.__name__,
)  # fmt: skip
async def test_a_turn_whose_store_fails_goes_on(trouble: Trouble) -> None:
    """C5, C9, FR18, FR31, FR60, LAW-P1, LAW-P2: the same frames as if nothing had happened."""
    with running_server("valkey", append_only=True) as server:
        async with scene_at(server.address) as scene:
            trouble(scene, server)
            watching = asyncio.create_task(scene.watch())

            result = await scene.attempt()
            await watching

            assert result == SliceResult(outcome="ended", status="completed", steps=1, frames=len(KINDS))
            assert await scene.check() == KINDS
            assert scene.at == {}
            clients = (await scene.client.execute("INFO", "clients")).decode()
            assert "connected_clients:3\r\n" in clients  # commands, durable writes, pushes


@pytest.mark.parametrize("lives", [True, False], ids=["the executor lives", "the executor dies, too"])
async def test_a_replica_that_lacks_the_last_words_takes_over(*, lives: bool) -> None:
    """C9: what readers have seen is written again, or its indices are not used for anything else."""
    async with replicated() as pair, scene_at(pair.primary) as scene:

        async def detach() -> None:
            await scene.seen(10)
            await pair.caught_up()
            await pair.detach()

        async def fail_over() -> None:
            await scene.seen(20)
            scene.proxy.turn_to(pair.replica)
            if not lives:
                executor.cancel()

        scene.at = {10: detach, 20: fail_over}
        watching = asyncio.create_task(scene.watch())
        executor = asyncio.create_task(scene.attempt())
        await asyncio.wait([executor])
        if not lives:
            await scene.last_attempt()
        await watching

        kinds = await scene.check()
        if lives:
            assert kinds == KINDS
        else:
            # The reader had 25 frames, of which the replica lacked ten.
            voids = ["data-void"] * (4 + 512 - 25)
            assert kinds == [*KINDS[:25], *voids, "data-recovering", "reset-step", *KINDS[4:]]


@pytest.mark.parametrize("together", [True, False], ids=["at once", "one by one"])
@pytest.mark.parametrize("lives", [True, False], ids=["the executor lives", "the executor dies, too"])
async def test_a_server_killed_once_a_step_is_asked_repeats_no_call(*, lives: bool, together: bool) -> None:
    """C1, C9, LAW-P3"""
    with running_server("valkey", append_only=True) as server:
        async with scene_at(server.address, script=script_of("parallel_tools")) as scene:
            scene.rig.parallel_tools = together

            async def fail(point: str) -> None:
                if point == "boundary:asked":
                    server.lose_power(server.file_size())
                    server.start()
                    if not lives:
                        raise asyncio.CancelledError

            scene.rig.fault = fail
            watching = asyncio.create_task(scene.watch())
            executor = asyncio.create_task(scene.attempt())
            await asyncio.wait([executor])
            scene.rig.fault = no_fault
            if not lives:
                await scene.last_attempt()
            await watching

            kinds = await scene.check()
            assert "reset-step" not in kinds
            # What was never begun for sure is begun; what may have been is told as unknown.
            assert scene.rig.outside.effects == ([f"{RUN_ID}:1.2"] if lives else [])
            assert kinds.count("tool-output-error") == (0 if lives else 1)
