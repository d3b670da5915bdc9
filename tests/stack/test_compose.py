"""docker-compose.yml as docker-compose understands it."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from app.settings import Settings
from records.postgresql import CONNECTIONS
from tests.deployment import ROOT, SECRETS, Refused, resolved

OURS = ("api", "worker", "migrate")
ONCE = {"migrate", "temporal-schema", "temporal-namespace"}
TEMPORAL_CONNECTIONS = 4 * (20 + 10)  # its four services, each with a pool for its data and one for visibility
# Folders: the image has the one, and the other needs a mount as well.
ELSEWHERE = {"TURNKEEP_STATE_DIR", "TURNKEEP_SCRIPTS"}


@pytest.fixture(scope="module")
def whole() -> dict[str, Any]:
    return resolved()


@pytest.fixture(scope="module")
def services(whole: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return dict(whole["services"])


def amount(text: str) -> int:
    """Bytes or seconds, of "2g" and "20s"."""
    units = {"g": 1024**3, "gb": 1024**3, "m": 1024**2, "s": 1}
    number, unit = re.fullmatch(r"(\d+)([a-z]+)", text).groups()  # type: ignore[union-attr] # another form fails the test
    return int(number) * units[unit]


def test_the_secrets_are_made_as_the_page_says(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "deploy.md").read_text()
    script = next(block for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL) if "> .env" in block)
    making = script.partition("docker compose")[0]
    subprocess.run(["sh", "-euc", making], cwd=tmp_path, check=True)

    environment = resolved({}, file=tmp_path / ".env")["services"]["api"]["environment"]
    settings = Settings.read({name: str(value) for name, value in environment.items() if value is not None})

    assert (settings.environment, settings.first_percent, settings.notes) == ("production", 100, ())
    assert settings.internal_token
    assert settings.resume_ring
    assert (tmp_path / ".env").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("name", SECRETS)
def test_without_a_secret_it_is_refused_by_name(name: str) -> None:
    others = {other: value for other, value in SECRETS.items() if other != name}

    with pytest.raises(Refused, match=f"{name} is not set, see docs/deploy.md"):
        resolved(others)


def test_every_setting_can_be_chosen_or_is_made_true(services: dict[str, dict[str, Any]]) -> None:
    named = {*services["api"]["environment"], *services["worker"]["environment"]}

    assert named == set(Settings.names()) - ELSEWHERE
    assert resolved({**SECRETS, "CHAT_MODEL": "demo"})["services"]["worker"]["environment"]["CHAT_MODEL"] == "demo"


def test_only_the_api_holds_what_opens_runs(services: dict[str, dict[str, Any]]) -> None:
    secrets = {SECRETS["INTERNAL_API_TOKEN"], SECRETS["CHAT_STREAM_RESUME_SECRET"]}

    assert [name for name, one in services.items() if secrets & {*map(str, one.get("environment", {}).values())}] == [
        "api"
    ]


def test_one_port_is_open_and_to_this_host_alone(services: dict[str, dict[str, Any]]) -> None:
    published = {name: one["ports"] for name, one in services.items() if "ports" in one}

    assert published == {"nginx": ["127.0.0.1:8080:8080/tcp"]}


def test_the_stores_are_on_a_network_without_a_way_out(
    whole: dict[str, Any], services: dict[str, dict[str, Any]]
) -> None:
    assert whole["networks"] == {"inside": {"internal": True}, "outside": {}}
    assert {name for name, one in services.items() if "outside" in one["networks"]} == {"nginx", *OURS}
    assert {name for name, one in services.items() if "inside" in one["networks"]} == set(services) - {"nginx"}


def test_whatever_stays_is_watched_and_whatever_ends_is_waited_for(services: dict[str, dict[str, Any]]) -> None:
    watched = {name for name, one in services.items() if "healthcheck" in one and one["restart"] == "unless-stopped"}
    conditions = {
        (other, wait["condition"]) for one in services.values() for other, wait in one.get("depends_on", {}).items()
    }

    assert watched == set(services) - ONCE
    assert {name for name, one in services.items() if one["restart"] == "no"} == ONCE
    assert {other for other, condition in conditions if condition == "service_completed_successfully"} == ONCE


def test_images_are_official_and_named_to_the_last_digit(services: dict[str, dict[str, Any]]) -> None:
    foreign = {one["image"] for name, one in services.items() if name not in OURS}

    assert {image.partition(":")[0] for image in foreign} == {
        *("nginx", "postgres", "redis", "temporalio/server", "temporalio/admin-tools")
    }
    assert [image for image in foreign if not re.search(r":\d+\.\d+(\.\d+)?(-|$)", image)] == []
    assert {services[name]["image"] for name in OURS} == {"turnkeep:local"}
    assert (services["api"]["scale"], services["worker"]["scale"]) == (2, 2)


def test_a_process_may_end_by_itself_before_it_is_ended(services: dict[str, dict[str, Any]]) -> None:
    for name in ("api", "worker"):
        grace = int(services[name]["environment"]["TURNKEEP_GRACE_MS"]) / 1_000
        assert (
            amount(services[name]["stop_grace_period"]) >= 1.5 * grace
        )  # a supervisor waits a little longer than its child


def test_the_limits_fit_into_each_other(services: dict[str, dict[str, Any]]) -> None:
    redis = (ROOT / "deploy" / "redis.conf").read_text()
    held = re.search(r"^maxmemory (\S+)$", redis, re.MULTILINE)
    most = re.search(r"max_connections=(\d+)", " ".join(services["postgres"]["command"]))
    assert held
    assert most

    assert 2 * amount(held[1]) <= amount(services["redis"]["mem_limit"])
    ours = sum(services[name]["scale"] for name in ("api", "worker")) * CONNECTIONS
    assert int(most[1]) >= TEMPORAL_CONNECTIONS + 2 * ours  # while a new set of processes takes over


def test_what_is_mounted_is_there(services: dict[str, dict[str, Any]]) -> None:
    mounted = {volume.split(":")[0] for one in services.values() for volume in one.get("volumes", [])}
    files = {path for path in mounted if path.startswith("/")}

    assert {str(Path(path).relative_to(ROOT)) for path in files} == {
        *("deploy/nginx.conf", "deploy/redis.conf", "deploy/temporal")
    }
    assert [path for path in files if not Path(path).exists()] == []
    for script in (ROOT / "deploy" / "temporal").glob("*.sh"):
        subprocess.run(["sh", "-n", str(script)], check=True)


def test_the_page_names_every_container(services: dict[str, dict[str, Any]]) -> None:
    page = (ROOT / "docs" / "deploy.md").read_text()
    rows = re.findall(r"^\| `([\w-]+)`(?: .(\d))? \|", page.partition("## What runs")[2], re.MULTILINE)

    assert {name: int(number or 1) for name, number in rows} == {
        name: one.get("scale", 1) for name, one in services.items()
    }
