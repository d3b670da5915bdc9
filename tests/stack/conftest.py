"""One stack with scripted turns and short slices, for all tests that leave it as they found it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stack.embedded import Stack, running_stack
from tests.stack.scripts import write_scripts

SLICE_MS = 1_000
COMMENT_MS = 100
START_MS = 3_000  # on a busy machine the default would make some turns inline


@pytest.fixture(scope="session")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the scripted turns."""
    folder = tmp_path_factory.mktemp("scripts")
    write_scripts(folder)
    return folder


@pytest.fixture(scope="session")
def scripted_stack(tmp_path_factory: pytest.TempPathFactory, scripts: Path) -> Iterator[Stack]:
    settings = {
        "TURNKEEP_SCRIPTS": str(scripts),
        "CHAT_TURN_SLICE_ELAPSED_MS": str(SLICE_MS),
        "TURNKEEP_COMMENT_MS": str(COMMENT_MS),
        "TURNKEEP_START_MS": str(START_MS),
    }
    with running_stack(tmp_path_factory.mktemp("scripted"), **settings) as stack:
        yield stack


@pytest.fixture
def scripted(scripted_stack: Stack) -> Stack:
    """The stack, running turns durably: what a test before did to Temporal is over."""
    scripted_stack.until_dispatch(switch="on", breaker="closed")
    return scripted_stack
