"""What the files of a deployment say, held against what the code does. Running them is for tests/stack."""

import re
import tomllib
from pathlib import Path

import uvicorn

from api.ports import Limits
from app.settings import Settings
from app.stack.parts.temporal import TUNING

ROOT = Path(__file__).parents[2]
NGINX = (ROOT / "deploy" / "nginx.conf").read_text()
DOCKERFILE = (ROOT / "Dockerfile").read_text()
COPIED = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]


def directive(name: str) -> str:
    """The one value of a directive of nginx."""
    values = re.findall(rf"^\s*{name} ([^;]+);", NGINX, re.MULTILINE)
    assert len(values) == 1, f"{name}: {values}"
    return str(values[0])


def seconds(name: str) -> int:
    return int(directive(name).removesuffix("s"))


def test_nginx_waits_twice_as_long_as_any_stream_is_silent() -> None:
    longest = next(one.le for one in Settings.model_fields["comment_ms"].metadata if hasattr(one, "le"))

    assert seconds("proxy_read_timeout") > 2 * longest / 1_000  # FR56
    assert seconds("proxy_read_timeout") > Limits().json_ms / 1_000


def test_nginx_lets_go_of_a_connection_before_the_api_does() -> None:
    assert seconds("keepalive_timeout") < uvicorn.Config("none").timeout_keep_alive


def test_nginx_takes_bodies_as_large_as_the_api_does() -> None:
    assert directive("client_max_body_size") == f"{Limits().body_bytes // 1024**2}m"


def test_the_temporal_of_a_deployment_is_tuned_like_the_embedded_one() -> None:
    text = (ROOT / "deploy" / "temporal" / "dynamicconfig.yaml").read_text()
    tuned = dict(re.findall(r"^([\w.]+):\n  - value: (.+)$", text, re.MULTILINE))

    assert tuned == {name: value.strip('"') for name, value in TUNING.items()}
    assert len(tuned) == text.count("value:")


def test_the_image_holds_our_packages_the_pages_and_nothing_else() -> None:
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["root_packages"]
    beside = {"requirements.txt", "LICENSE", "web", "docs", "README.md", "PROTOCOL.md"}

    assert set(COPIED) == {*packages, *beside}


def test_the_image_runs_without_root_from_packages_named_by_their_hashes() -> None:
    final = DOCKERFILE.rpartition("\nFROM ")[2]

    assert re.findall(r"^USER (.+)$", final, re.MULTILINE) == ["turnkeep"]
    assert "pip" not in final
    assert "--require-hashes" in DOCKERFILE
    assert set(re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)) == {"python:3.11.15-slim-bookworm"}
