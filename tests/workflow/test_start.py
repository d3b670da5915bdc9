"""Starting, joining and finding workflows (FR13), against a server that accepts, refuses, hangs and dies."""

from pathlib import Path

import pytest
from temporalio.client import Client

from dispatch.temporal import API_RETRIES, Started, Workflows, workflow_id
from protocol.turn import ChatTurnInput
from tests.temporal import TemporalServer, temporal_server
from tests.workflow.starting import connected, losing_answers
from workflows.connection import connect


@pytest.fixture
async def workflows(client: Client, run_id: str) -> Workflows:
    return await connected(client, run_id)


async def execution(client: Client, run_id: str) -> str | None:
    return (await client.get_workflow_handle(run_id).describe()).run_id


async def test_a_start_that_was_accepted_and_not_answered_is_joined_by_the_next(
    client: Client, run_id: str, workflows: Workflows
) -> None:
    """FR13: while it runs. REQ-C2"""
    lost = await (await connected(losing_answers(client), run_id)).start(ChatTurnInput(run_id=run_id))
    first = await execution(client, run_id)
    again = await workflows.start(ChatTurnInput(run_id=run_id))

    assert (lost, again, await execution(client, run_id) == first) == (Started.UNKNOWN, Started.RUNNING, True)


async def test_a_start_after_the_end_starts_nothing(client: Client, run_id: str, workflows: Workflows) -> None:
    """FR13 C8: a closed workflow is never followed by another under the same id."""
    await workflows.start(ChatTurnInput(run_id=run_id))
    first = await execution(client, run_id)
    await client.get_workflow_handle(run_id).terminate()
    again = await workflows.start(ChatTurnInput(run_id=run_id))

    assert (again, await execution(client, run_id) == first) == (Started.CLOSED, True)


async def test_whether_a_workflow_runs_is_known_by_generation(
    client: Client, run_id: str, workflows: Workflows
) -> None:
    """C8: an adoption has the next generation's id."""
    await workflows.start(ChatTurnInput(run_id=run_id, generation=2))
    running = [await workflows.running(run_id, generation) for generation in (1, 2)]
    await client.get_workflow_handle(workflow_id(run_id, 2)).terminate()

    assert (running, await workflows.running(run_id, 2)) == ([False, True], False)


async def test_a_server_that_dies_hangs_and_returns(tmp_path: Path, run_id: str) -> None:
    """Every call is bounded, and the same client finds the server again."""
    with temporal_server(tmp_path) as server:
        workflows = Workflows(lambda: connect(server.address, retries=API_RETRIES), task_queue=run_id)
        before = await workflows.start(ChatTurnInput(run_id=run_id))
        seen = [await workflows.probe()]
        server.kill()
        dead = [await workflows.start(ChatTurnInput(run_id=run_id)), await workflows.running(run_id, 1)]
        seen.append(await workflows.probe())
        server.start()
        seen.append(await workflows.probe())
        alive = await workflows.start(ChatTurnInput(run_id=run_id))
        server.freeze()
        hung = [await workflows.start(ChatTurnInput(run_id=run_id)), await workflows.running(run_id, 1)]
        seen.append(await workflows.probe())
        server.thaw()

    assert (before, dead, hung) == (Started.UNKNOWN, [Started.UNKNOWN, None], [Started.UNKNOWN, None])
    assert (seen, alive) == ([True, False, True, False], Started.RUNNING)


async def test_no_server_is_no_client(server: TemporalServer) -> None:
    host, port = server.address.split(":")
    nobody = f"{host}:{int(port) - 1}"
    workflows = Workflows(lambda: connect(nobody), task_queue="nobody")

    assert [await workflows.probe(), await workflows.running("run", 1)] == [False, None]
