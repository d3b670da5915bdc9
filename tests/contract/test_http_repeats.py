"""What comes twice counts twice, and a run that is asked for twice runs once."""

from checkpoints.port import RunView
from protocol.json import Json
from records.values import Span
from tests.contract.http_house import House, error, frame, pieces, running, saying, script, types

RUN = "6f9a4c1e-0c1b-4a51-9a5e-3f1f0a5f6c11"
ASKED = {"message": "hi", "conversation_id": "c1", "run_id": RUN}
REPEATED = ["ha", "ha", "ha", " ", " ", "\n", "\n"]
LONG = "x" * 200_000


async def view_of(house: House) -> RunView:
    view = await house.rig.store.view(RUN)
    assert view is not None
    return view


async def test_live_replayed_and_stored_every_repeat_is_there_and_a_long_delta_too() -> None:
    """FR08 LAW-P2: told apart by index, never by content."""
    said: list[Json] = [{"type": "text", "text": text} for text in (*REPEATED, LONG)]
    async with running() as house:
        house.plays(script({"events": [*said, {"type": "stop"}]}))
        client = await house.client()
        live = await client.post("/api/chat", json=ASKED)
        replayed = await client.get(f"/api/chat/{live.headers['x-workflow-run-id']}/stream")
        stored = await house.parts.records.messages(house.key(client, "c1"), Span())

    deltas = [one["delta"] for one in map(frame, pieces(live.content)) if one["type"] == "text-delta"]
    assert pieces(replayed.content) == pieces(live.content)
    assert (deltas[: len(REPEATED)], "".join(deltas)) == (REPEATED, "".join(REPEATED) + LONG)
    assert stored is not None
    assert [part["text"] for part in stored[1].parts if part["type"] == "text"] == ["".join(deltas)]


async def test_a_run_that_failed_and_is_asked_for_again_is_replayed_and_stays_failed() -> None:
    """FR13 [A3] REQ-C3: with its handle, and without a second execution."""
    broken: list[Json] = [{"type": "text", "text": "one"}, {"type": "error", "kind": "upstream"}]
    async with running() as house:
        house.plays(script({"events": broken}))
        client = await house.client()
        first = await client.post("/api/chat", json=ASKED)
        before = await view_of(house)
        again = await client.post("/api/chat", json=ASKED)
        after = await view_of(house)

    assert (again.status_code, again.content) == (200, first.content)
    assert again.headers["x-workflow-run-id"] == first.headers["x-workflow-run-id"]
    assert (types(again.content)[-1], before.status, before.attempt) == ("finish", "failed", 1)
    assert after == before


async def test_a_run_id_that_another_message_has_is_refused() -> None:
    """[A3] FR11: no answer to another question is passed off as the answer to this one."""
    async with running() as house:
        house.plays(saying("one"))
        client = await house.client()
        await client.post("/api/chat", json=ASKED)
        before = await view_of(house)
        other = await client.post("/api/chat", json={**ASKED, "message": "something else"})

        assert (other.status_code, error(other)["kind"]) == (409, "conflict")
        assert await view_of(house) == before
