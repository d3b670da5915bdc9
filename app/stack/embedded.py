"""The embedded stack put together: its folder, its addresses, its stages."""

import os
import socket
from dataclasses import dataclass

from app.process import LEAVE_SECONDS
from app.settings import Settings, environment_with
from app.stack.lock import FolderLock, lock_folder
from app.stack.output import OURSELVES, Output
from app.stack.parts.own import api, worker
from app.stack.parts.temporal import temporal
from app.stack.parts.valkey import valkey
from app.stack.ports import free_port, listen
from app.stack.reclaim import Reclaim, reclaiming
from app.stack.state import StateFolder, kept_secrets, open_folder, remember, remembered
from app.stack.supervisor import Stages, Supervisor
from providers.choose import DEMO as DEMO_MODEL
from records.migrate import upgrade

_LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where this stack lives and listens. `variables` is what its parts find in their environment besides ours."""

    folder: StateFolder
    lock: FolderLock
    listener: socket.socket
    temporal_port: int
    variables: dict[str, str]

    @property
    def address(self) -> tuple[str, int]:
        host, port = self.listener.getsockname()[:2]
        return host, port

    @property
    def url(self) -> str:
        host, port = self.address
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


async def run(settings: Settings, *, workers: int, output: Output) -> None:
    """Run the stack until SIGINT or SIGTERM; a second one ends it at once.

    Raises:
        FolderInUse, UnusableFolder, PortTaken, PartFailed: it could not be started. Nothing is left running.
    """
    place = await _settle_down(settings, output)
    await upgrade(place.variables["TURNKEEP_DATABASE_URL"])
    grace_seconds = settings.grace_ms / 1_000 + LEAVE_SECONDS
    async with reclaiming(Settings.read(environment_with(place.variables))) as reclaim:
        supervisor = Supervisor(_stages(place, workers, reclaim), output=output, grace_seconds=grace_seconds)
        await supervisor.run(ready=lambda: _welcome(place, settings, output), leaving=place.listener.close)


async def _settle_down(settings: Settings, output: Output) -> Place:
    folder = open_folder(settings.state_dir)
    lock = await lock_folder(folder.path)
    known = remembered(folder)
    given = settings.port if "port" in settings.model_fields_set else 0
    # The port everybody tries first, if it is free: an address that can be typed, and the one in the README.
    wish = int(known.get("TURNKEEP_LISTEN_PORT", settings.port))
    listener = listen(settings.host, given=given, last=wish)
    temporal_port = free_port(_LOOPBACK, last=int(known.get("TURNKEEP_TEMPORAL_ADDRESS", ":0").split(":")[1]))
    variables = {
        **kept_secrets(settings, known),
        "TURNKEEP_STATE_DIR": str(folder.path),
        "TURNKEEP_LISTEN_HOST": settings.host,
        "TURNKEEP_LISTEN_PORT": str(listener.getsockname()[1]),
        "TURNKEEP_TEMPORAL_ADDRESS": f"{_LOOPBACK}:{temporal_port}",
        "TURNKEEP_REDIS_URL": f"unix://{folder.valkey_socket}",
        "TURNKEEP_DATABASE_URL": f"sqlite:///{folder.database}",
        **(
            {"CHAT_MODEL": DEMO_MODEL}
            if settings.anthropic_key is None and "model" not in settings.model_fields_set
            else {}
        ),
        **({"TURNKEEP_LOG_FORMAT": "pretty"} if output.on_terminal and settings.log_format == "auto" else {}),
    }
    remember(folder, variables)
    place = Place(folder=folder, lock=lock, listener=listener, temporal_port=temporal_port, variables=variables)
    lock.sign(place.url)
    return place


def _stages(place: Place, workers: int, reclaim: Reclaim) -> Stages:
    folder, inherited = place.folder, (place.lock.fileno,)
    # Others' programs get none of our secrets, and find no configuration of the user's.
    bare = {"PATH": os.defpath, "HOME": str(folder.path)}
    ours = environment_with(place.variables)
    return (
        (valkey(folder.valkey, folder.valkey_socket, environment=bare, inherited=inherited),),
        (temporal(folder.temporal, place.temporal_port, environment=bare, inherited=inherited),),
        tuple(
            worker(number, environment=ours, inherited=inherited, give_back=reclaim.give_back)
            for number in range(1, workers + 1)
        ),
        (api(place.listener.fileno(), place.address, environment=ours, inherited=inherited),),
    )


def _welcome(place: Place, settings: Settings, output: Output) -> None:
    output.say(OURSELVES, "")
    output.say(OURSELVES, f"Turnkeep answers at {place.url} and stops with Ctrl-C")
    if settings.anthropic_key is None:
        output.say(OURSELVES, "No ANTHROPIC_API_KEY is set: the answers are a demo's, not a model's")
    output.say(OURSELVES, "")
