"""Everything that can be killed, and where the suite hears from it.

Valkey and Temporal are real servers, workers and API processes are children of their own; all of them are started again
after a kill at the same address and on the same data. The suite itself holds what it counts by: the outbox, and the sockets
of runs that stand still.
"""

import asyncio
import multiprocessing
import os
import secrets
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Final, Self

import httpx2
import psutil

from app.stack.ports import free_port
from records.migrate import upgrade
from tests.crash.composition import SCRIPTS
from tests.crash.hearing import Hearing
from tests.crash.leaving import Leavers
from tests.crash.line import Line, tcp_line, unix_line
from tests.crash.points import Place, Plans
from tests.crash.processes import Child, run_api, run_supervisor, run_worker
from tests.crash.servers import LOOK_SECONDS, Servers
from tests.crash.standing_still import stand_still
from tests.postgresql import PostgreSQLServer, running_postgresql
from tests.servers import Server, running_server
from tests.temporal import TemporalServer, temporal_server
from workflows.connection import connect

READY_SECONDS: Final = 60.0
VALKEY_LINE: Final = "valkey"
LEASE_MS: Final = 1_000
HEARTBEAT_MS: Final = 1_500  # as short as it is safe on a machine that is shared
SLICE_MS: Final = 100  # every closed boundary hands over
SOAK_SLICE_MS: Final = 15_000
_FORK = multiprocessing.get_context("forkserver")
_FORK.set_forkserver_preload(["tests.crash.processes"])


class World(Servers, Hearing):
    """The servers and processes of one suite run. Made by `world`. With `postgresql` its workers have supervisors."""

    def __init__(
        self, folder: Path, valkey: Server, temporal: TemporalServer, postgresql: PostgreSQLServer | None, *, bug: str
    ) -> None:
        Servers.__init__(self, valkey, temporal, postgresql)
        Hearing.__init__(self)
        self.folder = folder
        self.plans = Plans(folder)
        self.temporal_port = free_port("127.0.0.1")  # of the line to it
        self.soaking = False
        self.lines: dict[str, Line] = {}
        self.secret = secrets.token_hex(32)
        self.addresses: dict[str, str] = {}  # of the APIs
        self._bug = bug
        self._children: dict[str, tuple[Child, BaseProcess]] = {}
        self._leavers = Leavers()

    async def start(self) -> None:
        """Start all and return when they can be used."""
        await upgrade(self._database)
        await self.sync("always")
        for number in range(self._each):
            port = free_port("127.0.0.1")
            self.addresses[f"api-{number}"] = f"http://127.0.0.1:{port}"
            self._spawn(self._child(f"api-{number}", port))
        for number in range(self._each):
            self._spawn(self._child(f"worker-{number}"))
        await self.ready()

    async def ready(self, *names: str) -> None:
        """Wait until these processes can be used again, or all."""
        waiting = (self.up[name].wait() for name in names or self._children)
        await asyncio.wait_for(asyncio.gather(*waiting), READY_SECONDS)

    def names(self, role: str) -> list[str]:
        """The processes of a role, "worker" or "api"."""
        return [name for name in self._children if name.startswith(role)]

    def kill(self, name: str) -> None:
        """As a crash does it, and start another in its place. Does not wait for that."""
        child, process = self._children[name]
        if self._supervised(child):
            self.up[name].clear()
            os.kill(self.pid(name), signal.SIGKILL)
            return
        _end(process)
        self._spawn(child)

    @asynccontextmanager
    async def without(self, names: Sequence[str]) -> AsyncIterator[None]:
        """Have none of these processes for a while."""
        away = {name: (*self._children.pop(name), self.addresses.pop(name, None)) for name in names}
        for _, process, _ in away.values():
            _end(process)
        yield
        for name, (child, _, address) in away.items():
            if address:
                self.addresses[name] = address
            self._spawn(child)
        await self.ready()

    def ask_to_leave(self, name: str) -> None:
        """As a deploy does it: another one takes its place, and it gets the time to end in good order."""
        child, process = self._children[name]
        if child.port:  # its place is an address: it is free when nobody has it any more
            self.up[name].clear()
            self._leavers.add(process, then=lambda: self._spawn(child))
        else:
            self._leavers.add(process)
            self._spawn(child)

    async def left(self) -> list[str]:
        """Wait for those that were told to leave, and end who does not. The names of these."""
        return await self._leavers.left()

    async def pause(self, name: str) -> None:
        await stand_still(self.pid(name), None if self.postgresql else self.file)

    def go_on(self, name: str) -> None:
        os.kill(self.pid(name), signal.SIGCONT)

    def blind(self, name: str) -> None:
        """Let the worker's supervisor see nothing for a while."""
        os.kill(self._children[name][1].pid or 0, signal.SIGSTOP)

    async def see(self, name: str) -> None:
        """Let it see again, and wait until it has given back what its dead worker held."""
        self.gave[name].clear()
        os.kill(self._children[name][1].pid or 0, signal.SIGCONT)
        await self.gave[name].wait()

    async def switch(self, *, on: bool) -> None:
        """Set where turns run, and wait until every API process knows it and could start a workflow."""
        async with httpx2.AsyncClient(
            headers={"authorization": f"Bearer {self.secret}"}, timeout=READY_SECONDS
        ) as client:
            wanted = {"switch": "on" if on else "off"}
            for address in self.addresses.values():
                await client.put(f"{address}/internal/dispatch", json=wanted)
                # Nothing tells when a process has seen it.
                while not _ready_to(wanted, (await client.get(f"{address}/internal/dispatch")).json()):  # noqa: ASYNC110 - see above
                    await asyncio.sleep(LOOK_SECONDS)

    async def attempt(self, run_id: str) -> int:
        """Which attempt at its slice the server waits for."""
        handle = (await connect(self.temporal.address)).get_workflow_handle(run_id)
        pending = (await handle.describe()).raw_description.pending_activities
        return pending[0].attempt if pending else 0

    def stand_again(self, run_id: str, place: Place) -> None:
        """Have the run stand once more, in a process that it was not in before."""
        self.forget(run_id)
        self.plans.again(run_id, place)

    async def closed(self, run_id: str) -> None:
        """Wait until the run's workflow is over."""
        await (await connect(self.temporal.address)).get_workflow_handle(run_id).result()

    def usage(self, name: str) -> psutil.Process:
        return psutil.Process(self.pid(name))

    async def tasks(self, name: str) -> int:
        """How many tasks the process has."""
        os.kill(self.pid(name), signal.SIGUSR1)
        return await self.counted.get()

    def close(self) -> None:
        self._leavers.close()
        for _, process in self._children.values():
            _end(process)
        super().close()

    @property
    def _each(self) -> int:  # workers, and API processes
        return 3 if self.soaking else 2

    @property
    def file(self) -> Path:
        """The records, where no PostgreSQL has them."""
        return self.folder / "records.sqlite3"

    @property
    def _database(self) -> str:
        if self.postgresql is not None:
            return self.postgresql.address
        return f"sqlite+aiosqlite:///{self.file}"

    def _child(self, name: str, port: int = 0) -> Child:
        environment = {
            "CHAT_STREAM_RESUME_SECRET": self.secret,
            "INTERNAL_API_TOKEN": self.secret,
            "CHAT_TURN_SLICE_ELAPSED_MS": str(SOAK_SLICE_MS if self.soaking else SLICE_MS),
            "TURNKEEP_DATABASE_URL": self._database,
            "TURNKEEP_HEARTBEAT_MS": str(HEARTBEAT_MS),
            "TURNKEEP_LEASE_MS": str(LEASE_MS),
            "TURNKEEP_REDIS_URL": f"unix://{self.valkey.address.path if self.soaking else self.folder / VALKEY_LINE}",
            "TURNKEEP_SCRIPTS": str(SCRIPTS),
            "TURNKEEP_STATE_DIR": str(self.folder),
            "TURNKEEP_TEMPORAL_ADDRESS": self.temporal.address if self.soaking else f"127.0.0.1:{self.temporal_port}",
        }
        return Child(name=name, folder=self.folder, environment=environment, bug=self._bug, port=port)

    def _spawn(self, child: Child) -> None:
        self.up[child.name].clear()
        target = run_api if child.port else run_supervisor if self._supervised(child) else run_worker
        process = _FORK.Process(target=target, args=(child,), name=child.name, daemon=True)
        process.start()
        self._children[child.name] = (child, process)

    def _supervised(self, child: Child) -> bool:
        return self.postgresql is not None and not child.port

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _end(process: BaseProcess) -> None:
    process.kill()
    process.join()
    process.close()


def _ready_to(switch: dict[str, str], known: dict[str, object]) -> bool:
    return (switch | {"breaker": "closed"}).items() <= known.items()


@asynccontextmanager
async def world(folder: Path, *, bug: str = "", guarded: bool = False, soaking: bool = False) -> AsyncIterator[World]:
    """A world in a folder, killed at the end. `guarded`: with PostgreSQL, and supervisors over the workers.

    `soaking`: more processes, longer slices, and no lines: all frames would pass through this one process.
    """
    with (
        running_server("valkey", append_only=True) as valkey,
        temporal_server(folder) as temporal,
        running_postgresql() if guarded else nullcontext() as postgresql,
        World(folder, valkey, temporal, postgresql, bug=bug) as made,
    ):
        server = await asyncio.start_unix_server(made.hear, made.plans.socket)
        async with (
            unix_line(str(folder / VALKEY_LINE), valkey.address.path) as to_valkey,
            tcp_line(made.temporal_port, temporal.address) as to_temporal,
        ):
            made.lines |= {"valkey-line": to_valkey, "temporal-line": to_temporal}
            try:
                made.soaking = soaking
                await made.start()
                yield made
            finally:
                server.close()
                await made.client.close()
