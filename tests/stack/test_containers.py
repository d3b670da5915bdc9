"""The containers' own commands, settings and health checks, run without containers: from the image's files, over loopback.

Redis, Temporal's namespace and nginx have the deployment's configuration too. What this cannot show is what Docker does with
it: building, networks, volumes, limits.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from app.stack.ports import free_port
from tests.deployment import ROOT, entry, image, leashed, resolved
from tests.nginx import front
from tests.postgresql import postgresql_server
from tests.temporal import TemporalServer, temporal_server

pytestmark = pytest.mark.timeout(120)

SECONDS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """Where the image lies, and the variables that take the place of the file's addresses."""

    services: dict[str, Any]
    image: Path
    places: dict[str, str]

    def environment(self, service: str) -> dict[str, str]:
        given = self.services[service]["environment"]
        names = {name: str(value) for name, value in given.items() if value is not None}
        # A model that answers at once and needs no key.
        return {"PATH": os.defpath, **names, "CHAT_MODEL": "stub-chat-v1", **self.places}

    def run(self, service: str, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a container to its end, with its command or another one."""
        words = entry(command or self.services[service]["command"])
        return subprocess.run(
            words,
            cwd=self.image,
            env=self.environment(service),
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )

    def healthy(self, service: str) -> bool:
        """What the health check of a container says."""
        kind, program, *words = self.services[service]["healthcheck"]["test"]
        assert (kind, program) == ("CMD", "python")
        ports = {"8000": self.places["TURNKEEP_LISTEN_PORT"], "9100": self.places["TURNKEEP_WORKER_METRICS_PORT"]}
        for inside, here in ports.items():
            words = [word.replace(f":{inside}/", f":{here}/") for word in words]
        return (
            subprocess.run([sys.executable, *words], capture_output=True, timeout=SECONDS, check=False).returncode == 0
        )

    @contextmanager
    def started(self, service: str) -> Iterator[None]:
        """A container that stays, entered once it is healthy. Told to stop, it has to end in time and in order."""
        assert not self.healthy(service)
        process = subprocess.Popen(
            leashed(*entry(self.services[service]["command"])), cwd=self.image, env=self.environment(service)
        )
        try:
            while not self.healthy(service):
                assert process.poll() is None
            yield
            process.send_signal(signal.SIGTERM)
            assert process.wait(int(self.services[service]["stop_grace_period"].removesuffix("s"))) == 0
        finally:
            process.kill()


@pytest.fixture(scope="module")
def deployment() -> Iterator[Deployment]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="deployment-")))
        for name in ("image", "redis", "temporal", "state"):
            (folder / name).mkdir()
        temporal = stack.enter_context(temporal_server(folder / "temporal"))
        register_namespace(temporal)
        places = {
            "TURNKEEP_REDIS_URL": stack.enter_context(redis_server(folder / "redis")),
            "TURNKEEP_DATABASE_URL": stack.enter_context(postgresql_server()).replace(
                "postgresql:", "postgresql+asyncpg:"
            ),
            "TURNKEEP_TEMPORAL_ADDRESS": temporal.address,
            "TURNKEEP_STATE_DIR": str(folder / "state"),
            "TURNKEEP_LISTEN_HOST": "127.0.0.1",
            "TURNKEEP_LISTEN_PORT": str(free_port("127.0.0.1")),
            "TURNKEEP_WORKER_METRICS_PORT": str(free_port("127.0.0.1")),
        }
        yield Deployment(services=resolved()["services"], image=image(folder / "image"), places=places)


@contextmanager
def redis_server(folder: Path) -> Iterator[str]:
    """Debian's Redis with the deployment's configuration."""
    binary, socket = shutil.which("redis-server"), folder / "socket"
    assert binary is not None, "redis-server is missing: apt-get install redis-server"
    places = ("--port", "0", "--unixsocket", str(socket))
    process = subprocess.Popen(
        leashed(binary, str(ROOT / "deploy/redis.conf"), *places), cwd=folder, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert any("eady to accept connections" in line for line in process.stdout)
        yield f"unix://{socket}"
    finally:
        process.kill()
        process.communicate()


def register_namespace(temporal: TemporalServer) -> None:
    """What the container `temporal-namespace` does, twice: it does it at every start of the deployment."""
    for _ in range(2):
        subprocess.run(
            ["sh", str(ROOT / "deploy/temporal/namespace.sh")],
            env={
                "PATH": f"{Path(sys.executable).parent}:{os.defpath}",
                "HOME": tempfile.gettempdir(),
                "TEMPORAL_ADDRESS": temporal.address,
                "TEMPORAL_NAMESPACE": "default",
            },
            check=True,
            timeout=SECONDS,
        )


@pytest.mark.long
def test_a_deployment_serves_turns_through_its_front(deployment: Deployment, tmp_path: Path) -> None:
    """REQ-Y12 with the real API behind the real nginx; the smoke turn is sliced over the real Temporal (REQ-Y9)."""
    migrated = deployment.run("migrate")
    assert migrated.returncode == 0, migrated.stderr

    api = f"127.0.0.1:{deployment.places['TURNKEEP_LISTEN_PORT']}"
    with deployment.started("api"), deployment.started("worker"), front(tmp_path, api) as proxy:
        smoke = deployment.run("api", "smoke", proxy.url)
        with httpx2.Client(base_url=proxy.url, timeout=SECONDS) as client:
            page = client.get("/")
            with client.stream("POST", "/api/chat", json={"message": "What is promised?"}) as answer:
                pieces = list(answer.iter_text())

    assert (smoke.returncode, json.loads(smoke.stdout)["ok"]) == (0, True)
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert pieces[0] == ": open\n\n"
    assert "".join(pieces).endswith("data: [DONE]\n\n")


def test_no_command_of_ours_is_left_out(deployment: Deployment) -> None:
    ours = {name: one["command"] for name, one in deployment.services.items() if one["image"].startswith("turnkeep:")}

    # The test above runs each.
    assert ours == {"migrate": ["migrate"], "api": ["api"], "worker": ["worker", "--supervised"]}
