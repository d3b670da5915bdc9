"""Everybody who may come: a house with keys, an issuer and an internal token, and one client for each kind of caller."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import httpx2

from api.keys import new_key
from api.ports import Admitted, ApiParts, Operations
from records.values import ApiKey, KeptOutput, Key
from tests.contract.http_house import Change, House, reading, saying
from tests.contract.records.values import delete
from tests.issuer import Issuer
from tests.rig import NOW_MS, StillClock

ISSUER = Issuer()
INTERNAL = "an internal token of thirty-two bytes"
CALL = "c1.0"
RUN = "6f9a4c1e-0c1b-4a51-9a5e-3f1f0a5f6c11"
EVERYTHING = frozenset({"read", "write", "act_for"})


def admitting(*, sessions: bool = True, keys: bool = True, tokens: bool = True, internal: bool = True) -> Change:
    """Who is let in."""

    def change(parts: ApiParts) -> ApiParts:
        assert isinstance(parts.clock, StillClock)
        check = ISSUER.checked_by(parts.clock) if tokens else None
        operations = Operations(token=INTERNAL if internal else None)
        admitted = Admitted(sessions=sessions, keys=keys, web_tokens=check)
        return replace(parts, admitted=admitted, operations=operations)

    return change


async def key_of(house: House, owner: str = "ann", **changed: Any) -> str:
    """A new key's text."""
    made = new_key(house.parts.random_bytes)
    row = ApiKey(
        prefix=made.prefix, digest=made.digest, name="test", owner=owner, rights=frozenset({"read", "write"}), created_ms=0
    )  # fmt: skip
    assert await house.parts.records.add_key(replace(row, **changed))
    return made.text


async def holding(house: House, text: str, **headers: str) -> httpx2.AsyncClient:
    """A client with a bearer."""
    return await house.client(authorization=f"Bearer {text}", **headers)


async def callers(house: House) -> dict[str, httpx2.AsyncClient]:
    """One of each kind, by name."""
    return {
        "anonymous": await house.client(),
        "owner": await holding(house, await key_of(house)),
        "foreign": await holding(house, await key_of(house, "eve")),
        "of another tenant": await holding(house, await key_of(house, tenant="t")),
        "without rights": await holding(house, await key_of(house, rights=frozenset())),
        "acting for the owner": await holding(house, await key_of(house, "shop", rights=EVERYTHING), **{"x-turnkeep-owner": "ann"}),
        "acting for a stranger": await holding(house, await key_of(house, "shop", rights=EVERYTHING), **{"x-turnkeep-owner": "bob"}),
        "expired": await holding(house, ISSUER.token("ann", exp=NOW_MS // 1_000 - 60)),
        "internal": await holding(house, INTERNAL),
    }  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """What a request may name: ann's run and conversation, or something else in their places."""

    run: str
    run_id: str
    conversation: str
    file: str = "file_" + "0" * 32


@asynccontextmanager
async def answering(house: House) -> AsyncIterator[tuple[Names, str]]:
    """Ann's turn, under way and held, with a large output kept; its names, and a resume token for it. A conversation of hers, `gone`, was deleted."""
    house.plays(saying("one", "two"), hold=1)
    ann = await holding(house, await key_of(house))
    await ann.post("/api/conversations", json={"id": "gone"})
    await delete(house.parts.records, Key(owner="ann", conversation_id="gone"))
    body = {"message": "hi", "conversation_id": "c1", "run_id": RUN}
    async with reading(ann, "POST", "/api/chat", json=body) as stream:
        await stream.until(b'"one"')
        file = (await ann.post("/api/files", content=b"words")).json()["id"]
        handle, token = stream.headers["x-workflow-run-id"], stream.headers["x-chat-resume-token"]
        kept = KeptOutput(run_id=RUN, call_id=CALL, attempt=1, bytes=2, content=[], now_ms=NOW_MS)
        assert await house.parts.records.keep_output(kept)
        yield Names(run=handle, run_id=RUN, conversation="c1", file=file), token
        house.model.release()
        await stream.rest()
