"""One server for the tier; a client and a task queue of its own for each test."""

from collections.abc import Iterator
from uuid import NAMESPACE_OID, uuid5

import pytest
from temporalio.client import Client

from tests.temporal import TemporalServer, temporal_server
from workflows.connection import connect


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TemporalServer]:
    with temporal_server(tmp_path_factory.mktemp("temporal")) as running:
        yield running


@pytest.fixture
async def client(server: TemporalServer) -> Client:
    """A client is bound to its event loop, so each test has one."""
    return await connect(server.address)


@pytest.fixture
def run_id(request: pytest.FixtureRequest) -> str:
    """The run of this test: nobody else's workflow has its id. It names the task queue too."""
    return str(uuid5(NAMESPACE_OID, request.node.nodeid))
