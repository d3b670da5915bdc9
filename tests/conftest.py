"""What every tier shares: the marker from the folder, the Hypothesis profile, and no network for unit tests."""

import os
import socket
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.servers", "tests.stores"]

TIERS = ("unit", "contract", "golden", "workflow", "stack", "browser", "crash")
HERE = Path(__file__).parent

# Derandomised, so that a red build is reproducible.
settings.register_profile("ci", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_configure(config: pytest.Config) -> None:
    for tier in TIERS:
        config.addinivalue_line("markers", f"{tier}: tests/{tier}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        tier = Path(item.path).relative_to(HERE).parts[0]
        if tier not in TIERS:
            raise pytest.UsageError(f"{item.path} lies in no tier")
        item.add_marker(tier)


@pytest.fixture(autouse=True)
def _no_network_in_unit_tests(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.node.get_closest_marker("unit") is not None:

        def refuse(*_: object) -> None:
            raise AssertionError("a unit test opened a connection")

        monkeypatch.setattr(socket.socket, "connect", refuse)
