"""The two-parameter form: a run id and a resume token in a header."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import httpx2
import pytest

from frames.tokens import LEEWAY_MS, ResumeClaims, Right
from tests.contract.http_house import TOKENS, House, error, pieces, reading, running, saying
from tests.rig import NOW_MS

ASKED = {"message": "hi", "conversation_id": "c1"}
OTHER_RUN = "11111111-1111-4111-8111-111111111111"
HEADER = "x-chat-resume-token"


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with running() as opened:
        yield opened


@dataclass(kw_only=True)
class Asked:
    """A finished run and what its owner was given."""

    owner: httpx2.AsyncClient
    run_id: str
    handle: str
    token: str
    whole: list[bytes]


async def asked(house: House) -> Asked:
    client = await house.client()
    response = await client.post("/api/chat", json=ASKED)
    headers = response.headers
    return Asked(
        owner=client,
        run_id=headers["x-chat-run-id"],
        handle=headers["x-workflow-run-id"],
        token=headers[HEADER],
        whole=pieces(response.content),
    )


async def resume(client: httpx2.AsyncClient, run_id: str, token: str | bytes | None, index: int = 3) -> httpx2.Response:
    headers = {} if token is None else {HEADER.encode(): token if isinstance(token, bytes) else token.encode()}
    return await client.get("/api/chat/stream", params={"runId": run_id, "startIndex": index}, headers=headers)


async def test_a_token_lets_in_its_owner_and_a_client_without_cookies(house: House) -> None:
    run = await asked(house)

    for client in (run.owner, await house.client()):
        response = await resume(client, run.run_id, run.token)
        assert pieces(response.content) == run.whole[3:]  # [R1] REQ-E3 REQ-E8
        chained = await resume(client, run.run_id.upper(), response.headers[HEADER], 7)
        assert pieces(chained.content) == run.whole[7:]  # [T1] REQ-E6


async def test_a_token_is_for_its_run_and_its_owner(house: House) -> None:
    run = await asked(house)
    stranger = await house.client()
    await stranger.get("/api/conversations")

    wrong_run = await resume(run.owner, OTHER_RUN, run.token)
    wrong_user = await resume(stranger, run.run_id, run.token)
    no_run = await resume(run.owner, "", run.token)

    for response in (wrong_run, wrong_user, no_run):
        assert (response.status_code, error(response)["kind"]) == (404, "not_found")  # [T2] REQ-E8


async def test_anything_but_the_exact_token_is_unauthenticated(house: House) -> None:
    run = await asked(house)
    body, _, signature = run.token.partition(".")

    for token in (
        run.token[:-1], f"{run.token}A", f"{run.token}=", f"{run.token} x", body, f"{body}.", f".{signature}", "", "x",
        f"{body}.{signature[::-1]}", run.token.encode() + b"\xff", b"\xc3\xa9", "a" * 60_000, run.handle,
        run.owner.cookies["turnkeep_session"],
    ):  # fmt: skip
        response = await resume(run.owner, run.run_id, token)
        assert (response.status_code, error(response)["code"]) == (401, "invalid")  # [T4] FR46
        assert run.token[:20] not in response.text
    missing = await resume(run.owner, run.run_id, None)
    assert (missing.status_code, error(missing)["code"]) == (401, "missing")


async def test_a_token_serves_for_nothing_else(house: House) -> None:
    run = await asked(house)

    assert (await run.owner.get(f"/api/chat/{run.token}/stream")).status_code == 404  # [T4] FR46
    browser = await house.client(cookie=f"turnkeep_session={run.token}")
    assert (await browser.get(f"/api/chat/{run.handle}/stream")).status_code == 404


async def test_an_expired_token_says_so_and_the_owner_gets_another_for_the_same_index(house: House) -> None:
    house.plays(saying("one", "two"), hold=1)
    client = await house.client()

    async with reading(client, "POST", "/api/chat", json=ASKED) as connected:
        await connected.until(b'"one"')
        run_id, token = connected.headers["x-chat-run-id"], connected.headers[HEADER]
        handle = connected.headers["x-workflow-run-id"]
        house.rig.clock.now = NOW_MS + TOKENS.resume_ms + LEEWAY_MS + 1

        expired = await resume(client, run_id, token)
        assert (expired.status_code, error(expired)["code"]) == (401, "expired")  # [T3] FR44
        renewed = (await client.get(f"/api/runs/{handle}")).headers[HEADER]
        house.model.release()
        whole = pieces(await connected.rest())  # who is connected reads on
        assert pieces((await resume(client, run_id, renewed)).content) == whole[3:]

    by_handle = await client.get(f"/api/chat/{handle}/stream", params={"startIndex": 3})
    assert pieces(by_handle.content) == whole[3:]  # the handle does not expire before its run
    assert pieces((await resume(client, run_id, by_handle.headers[HEADER])).content) == whole[3:]


async def test_a_token_stops_only_with_the_right_to(house: House) -> None:
    run = await asked(house)
    owner = TOKENS.handles.open(run.handle).owner
    reads: frozenset[Right] = frozenset({"read"})
    reader = ResumeClaims(run_id=run.run_id, owner=owner, sdk=7, rights=reads, expires_ms=NOW_MS + 1)
    nobody = await house.client()

    refused = await nobody.post(f"/api/chat/{run.run_id}/stop", headers={HEADER: TOKENS.resume.mint(reader)})
    allowed = await nobody.post(f"/api/chat/{run.run_id}/stop", headers={HEADER: run.token})

    assert (refused.status_code, allowed.status_code) == (404, 200)  # [T2]
