"""Who is let in, as whom, and for how long."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx2
import pytest

from api.identity import Principal, Resources
from api.ports import ApiParts
from assistants.definition import Assistant
from tests.contract.http_callers import ISSUER, admitting, holding, key_of
from tests.contract.http_house import House, error, frame, pieces, reading, running, saying
from tests.rig import NOW_MS

NOT_FOUND = {"error": {"kind": "not_found", "message": "There is nothing here for you.", "retryable": False}}


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with running(admitting()) as opened:
        yield opened


async def test_a_key_and_a_token_stand_for_their_owners_and_for_nobody_else(house: House) -> None:
    """REQ-W2, LAW-P5"""
    shop, ann = await holding(house, await key_of(house, "shop")), await holding(house, ISSUER.token("ann"))

    for client in (shop, ann):
        said = await client.post("/api/chat?stream=0", json={"message": "hi", "conversation_id": f"of-{id(client)}"})
        assert (said.status_code, "set-cookie" in said.headers) == (200, False)
    listed = [(await client.get("/api/conversations")).json()["conversations"] for client in (shop, ann)]

    assert [[one["id"] for one in each] for each in listed] == [[f"of-{id(shop)}"], [f"of-{id(ann)}"]]
    foreign = await ann.get(f"/api/conversations/of-{id(shop)}/messages")
    assert (foreign.status_code, foreign.json()) == (404, NOT_FOUND)


async def test_the_same_owner_in_another_tenant_is_somebody_else(house: House) -> None:
    """[T8], LAW-P5: the tenant is the key's, whatever the request says."""
    here, there = (
        await holding(house, await key_of(house, "shop")),
        await holding(house, await key_of(house, "shop", tenant="t")),
    )
    body = {"message": "hi", "conversation_id": "c1", "tenant": "", "owner": "shop", "user_id": "shop"}
    async with reading(here, "POST", "/api/chat", json=body) as stream:
        handle, run_id = stream.headers["x-workflow-run-id"], stream.headers["x-chat-run-id"]
        await stream.rest()

    answers = [
        await there.get(path)
        for path in (f"/api/runs/{handle}", f"/api/runs/{run_id}", f"/api/chat/{handle}/stream", "/api/conversations/c1/messages")
    ]  # fmt: skip

    assert [(answer.status_code, answer.json()) for answer in answers] == [(404, NOT_FOUND)] * 4


@pytest.mark.parametrize(
    ("changed", "code"),
    [({"revoked_ms": 1}, "invalid"), ({"expires_ms": NOW_MS}, "expired"), ({"digest": "0" * 64}, "invalid")],
)
async def test_a_key_that_does_not_count_is_told_so(house: House, changed: dict[str, Any], code: str) -> None:
    client = await holding(house, await key_of(house, "shop", **changed))

    answer = await client.get("/api/conversations")

    assert (answer.status_code, error(answer)["code"], answer.headers["www-authenticate"]) == (401, code, "Bearer")


async def test_what_is_sent_counts_or_is_refused(house: House) -> None:
    """[T7], REQ-V6: a wrong key is never an anonymous session instead, nor the session that is sent beside it."""
    browser = await house.client()
    await browser.get("/api/conversations")
    wrong = [
        "Bearer", "Bearer x", "Basic YTpi", "bearer tk_", f"Bearer tk_{'0' * 16}_{'A' * 43}", "Bearer a.b.c", "\xff",
        f"Bearer {await key_of(house)}x", "Token x",
    ]  # fmt: skip

    answers = [
        await browser.get("/api/conversations", headers=[(b"authorization", text.encode("latin-1"))]) for text in wrong
    ]
    twice = await browser.get(
        "/api/conversations", headers=[("authorization", "Bearer a"), ("authorization", "Bearer b")]
    )

    assert {(answer.status_code, error(answer)["code"]) for answer in (*answers, twice)} == {(401, "invalid")}


async def test_only_what_is_admitted_lets_somebody_in() -> None:
    async with running(admitting(keys=False, tokens=False)) as house:
        for text in (await key_of(house, "shop"), ISSUER.token()):
            assert (await (await holding(house, text)).get("/api/conversations")).status_code == 401
        assert (await (await house.client()).get("/api/conversations")).status_code == 200


async def test_a_key_with_the_right_acts_for_whom_it_names(house: House) -> None:
    shop = await key_of(house, "shop", rights=frozenset({"read", "write", "act_for"}))
    ann, ben = [await holding(house, shop, **{"x-turnkeep-owner": name}) for name in ("ann@example.com", "ben")]

    said = await ann.post("/api/chat?stream=0", json={"message": "hi"})
    conversation = said.json()["conversation_id"]

    assert (await house.parts.records.run(said.headers["x-chat-run-id"])).owner == "ann@example.com"  # type: ignore[union-attr] # it is there
    assert (await ann.get(f"/api/conversations/{conversation}/messages")).status_code == 200
    assert (await ben.get(f"/api/conversations/{conversation}/messages")).json() == NOT_FOUND


async def test_nobody_else_names_an_owner(house: House) -> None:
    """DEFAULTS: a browser never can, and neither can a key without the right."""
    named = {"x-turnkeep-owner": "ann"}
    clients = [
        await house.client(**named),
        await holding(house, await key_of(house, "shop"), **named),
        await holding(house, ISSUER.token(), **named),
        await holding(
            house, await key_of(house, "shop", rights=frozenset({"read", "act_for"})), **{"x-turnkeep-owner": "a b"}
        ),
    ]

    for client in clients:
        answer = await client.get("/api/conversations")
        assert (answer.status_code, error(answer)["code"]) == (401, "act_for")


async def test_a_key_that_only_reads_changes_nothing(house: House) -> None:
    """Denied is not found."""
    reader = await holding(house, await key_of(house, "shop", rights=frozenset({"read"})))

    written = [
        await reader.post("/api/chat", json={"message": "hi"}),
        await reader.post("/api/conversations", json={}),
    ]

    assert [(answer.status_code, answer.json()) for answer in written] == [(404, NOT_FOUND)] * 2
    assert (await reader.get("/api/conversations")).json() == {"conversations": []}


async def test_what_somebody_may_not_use_is_not_there() -> None:
    """REQ-A12: asked after the quota and before anything is written."""
    asked: list[tuple[Principal, Resources]] = []

    async def may_use(principal: Principal, resources: Resources) -> bool:
        asked.append((principal, resources))
        return principal.tier == "gold"

    async with running(lambda parts: replace(admitting()(parts), may_use=may_use)) as house:
        plain, gold = [await holding(house, await key_of(house, "shop", tier=tier)) for tier in ("", "gold")]
        body = {"message": "hi", "conversation_id": "c1"}
        denied, admitted = [await client.post("/api/chat?stream=0", json=body) for client in (plain, gold)]

    assert (denied.status_code, denied.json(), admitted.status_code) == (404, NOT_FOUND, 200)
    assert asked[1] == (
        Principal(owner="shop", tier="gold"), Resources(assistant="bench", conversation_id="c1"),
    )  # fmt: skip


async def test_what_somebody_may_not_use_is_not_offered() -> None:
    """LAW-P5: to a session and to a key alike; who may use nothing finds nothing."""
    usable = {"": {"porter"}, "silver": {"bench", "porter"}, "gold": {"bench", "clerk", "porter"}}

    async def may_use(principal: Principal, resources: Resources) -> bool:
        return resources.assistant in usable.get(principal.tier, ())

    def with_more(parts: ApiParts) -> ApiParts:
        more = {name: Assistant(name=name, title=name, instructions="") for name in ("clerk", "porter")}
        return replace(admitting()(parts), assistants={**parts.assistants, **more}, may_use=may_use)

    async with running(with_more) as house:
        keys = [await holding(house, await key_of(house, tier=tier)) for tier in ("silver", "gold", "lead")]
        *offered, nothing = [await client.get("/api/assistant") for client in (await house.client(), *keys)]

    found = [answer.json() for answer in offered]
    assert [(each["name"], [one["name"] for one in each["assistants"]]) for each in found] == [
        ("porter", ["porter"]),
        ("bench", ["bench", "porter"]),
        ("bench", ["bench", "clerk", "porter"]),
    ]
    assert (nothing.status_code, nothing.json()) == (404, NOT_FOUND)


async def test_where_nobody_can_tell_what_may_be_used_nothing_is_written() -> None:
    """REQ-V6: closed."""

    async def may_use(_: Principal, __: Resources) -> bool:
        raise OSError("the policy's server is away")

    async with running(lambda parts: replace(admitting()(parts), may_use=may_use)) as house:
        client = await holding(house, await key_of(house))
        answers = [await client.post("/api/chat", json={"message": "hi"}), await client.get("/api/assistant")]
        listed = (await client.get("/api/conversations")).json()

    assert [(answer.status_code, error(answer)["kind"]) for answer in answers] == [(500, "unavailable")] * 2
    assert listed == {"conversations": []}


async def test_a_stream_ends_when_what_opened_it_expires_and_a_fresh_one_goes_on_at_the_same_index(
    house: House,
) -> None:
    """[T6], FR44: cut, not ended; then refused by name; then the rest from the same index, nothing lost or repeated."""
    house.plays(saying("one", "two", "three"), hold=1)
    short = await holding(house, ISSUER.token(exp=(NOW_MS + 200) // 1_000 + 0.2 - 30))
    async with reading(short, "POST", "/api/chat", json={"message": "hi", "conversation_id": "c1"}) as stream:
        await stream.until(b'"one"')
        handle = stream.headers["x-workflow-run-id"]
        with pytest.raises(httpx2.RemoteProtocolError):
            await stream.rest()
    house.rig.clock.now += 60_000
    seen = pieces(stream.body)
    expired = await short.get(f"/api/chat/{handle}/stream?startIndex={len(seen)}")
    assert (expired.status_code, error(expired)["code"]) == (401, "expired")

    house.model.release()
    fresh = await holding(house, ISSUER.token(exp=NOW_MS // 1_000 + 3_600))
    rest = await fresh.get(f"/api/chat/{handle}/stream?startIndex={len(seen)}")

    whole = [frame(piece) for piece in (*seen, *pieces(rest.content))]
    assert whole[-1]["type"] == "finish"
    assert [one["delta"] for one in whole if one["type"] == "text-delta"] == ["one", "two", "three"]


async def test_a_stream_by_resume_token_ends_with_it_and_the_one_it_brought_goes_on() -> None:
    """[T6]: a chain of tokens has no gap, because one that expired counts a little longer than a stream it opened."""
    async with running(lambda parts: replace(parts, tokens=replace(parts.tokens, resume_ms=150))) as house:  # type: ignore[type-var] # there are tokens
        house.plays(saying("one", "two"), hold=1)
        owner, nobody = await house.client(), await house.client()
        async with reading(owner, "POST", "/api/chat", json={"message": "hi"}) as asked:
            run_id, token = asked.headers["x-chat-run-id"], asked.headers["x-chat-resume-token"]
            path = f"/api/chat/stream?runId={run_id}&startIndex=0"
            async with reading(nobody, "GET", path, headers={"x-chat-resume-token": token}) as stream:
                with pytest.raises(httpx2.RemoteProtocolError):
                    await stream.rest()
            house.rig.clock.now += 150
            house.model.release()
            brought = {"x-chat-resume-token": stream.headers["x-chat-resume-token"]}
            rest = await nobody.get(
                f"/api/chat/stream?runId={run_id}&startIndex={len(pieces(stream.body))}", headers=brought
            )

    assert frame(pieces(rest.content)[-1])["type"] == "finish"
