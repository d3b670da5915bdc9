"""The Python client, watching while the worker of its turn is killed."""

from collections import Counter
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import httpx2
import pytest
import pytest_asyncio
from turnkeep_client import AsyncClient

from tests.crash.watching import SCENES, Scene, effects, lose_the_worker, salts, watched_world
from tests.crash.world import World

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(120), pytest.mark.long]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def made() -> AsyncIterator[World]:
    async with watched_world() as made:
        yield made


@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES)
async def test_the_client_ends_with_the_stored_message(made: World, scene: Scene) -> None:
    """LAW-P2 LAW-P3 FR09 FR23 [L7] [L8] [L9]: what a lost attempt said of an open step is gone, what was asked for stays."""
    run_id, kinds, before = str(uuid4()), Counter[str](), ""
    made.plans.write(run_id, scene.place)
    kind, times = scene.shown
    async with (
        httpx2.AsyncClient(base_url=made.addresses["api-0"], timeout=60) as http,
        AsyncClient(http=http) as client,
    ):
        run = client.ask(scene.turn, assistant=scene.turn, run_id=run_id)
        async for event in run:
            kinds[event.type] += 1
            if event.type == kind and kinds[kind] == times:
                before = run.text
                await lose_the_worker(made, run_id)
        stored = await _stored(http, run.conversation_id)

    assert (run.outcome, run.finish_reason, kinds["finish"]) == ("finished", "stop", 1)
    assert run.message == stored
    assert len(salts(before)) == 1
    assert (salts(before) <= salts(run.text), run.text.startswith(before)) == (scene.kept, scene.kept)
    assert kinds["data-recovering"] == kinds["reset-step"] == (not scene.kept)
    assert effects(made, run_id).items() >= scene.effects.items()


async def _stored(http: httpx2.AsyncClient, conversation_id: str) -> dict[str, Any]:
    """The last message of the conversation."""
    path = f"/api/conversations/{conversation_id}/messages?limit=1&order=desc"
    (message,) = (await http.get(path)).json()["messages"]
    return {key: message[key] for key in ("id", "role", "parts")}
