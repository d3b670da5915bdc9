"""Every route with everybody who may come. Made from the router's own table: a route that says nothing about who may use it fails."""

from typing import Any

import httpx2
import pytest
from fastapi.routing import APIRoute

from api.openapi import OPERATIONS, Operation
from tests.contract.http_callers import CALL, Names, admitting, answering, callers, holding
from tests.contract.http_house import reading, running

Address = tuple[str, str]
BODIES: dict[str, Any] = {
    "": None, "Chat": {"message": "hi", "conversation_id": "{conversation}"}, "Input": {"type": "steer", "text": "more"},
    "NewConversation": {"id": "{conversation}"}, "Title": {"title": "x"}, "Switch": {"switch": "on"}, "StopRuns": {"run_ids": []},
}  # fmt: skip
LETS_IN = {
    "open": {"anonymous", "owner", "foreign", "of another tenant", "without rights", "acting for the owner",
             "acting for a stranger", "expired", "internal"},
    "owner": {"owner", "acting for the owner"},
    "run": {"owner", "acting for the owner"},
    "internal": {"internal"},
}  # fmt: skip
NOT_FOUND = b'{"error":{"kind":"not_found","message":"There is nothing here for you.","retryable":false}}'
UNKNOWN = Names(
    run="11111111-1111-4111-8111-111111111111", run_id="11111111-1111-4111-8111-111111111111", conversation="c0"
)
STOP, BY_TOKEN = ("POST", "/api/chat/{run}/stop"), ("GET", "/api/chat/stream")
DELETE, UPLOAD = ("DELETE", "/api/conversations/{conversation}"), ("POST", "/api/files")
# Routes of an owner that name nothing: everybody who is somebody has what is theirs there, be it nothing.
OF_ANYBODY = {UPLOAD, ("GET", "/api/conversations"), ("GET", "/api/assistant")}


def at(template: str, names: Names) -> str:
    """A route's path with these names in it."""
    return template.format(run=names.run, name=names.run, conversation=names.conversation, call=CALL, file=names.file)


async def call(client: httpx2.AsyncClient, address: Address, names: Names, **headers: str) -> tuple[int, bytes]:
    """Status and body; of a stream that opens, nothing but that it does."""
    method, template = address
    path = at(template, names)
    query = {"runId": names.run_id} if template == "/api/chat/stream" else {}
    body = BODIES[OPERATIONS[address].body]
    filled = body and {key: value.format(conversation=names.conversation) if isinstance(value, str) else value for key, value in body.items()}  # fmt: skip
    request = (
        {"params": query, "headers": headers}
        | ({"json": filled} if filled else {})
        | ({"content": b"text"} if address == UPLOAD else {})
    )
    async with reading(client, method, path, **request) as answer:
        if answer.headers.get("content-type", "").startswith("text/event-stream"):
            return answer.response.status_code, b""
        return answer.response.status_code, await answer.rest()


def test_every_route_says_who_may_use_it() -> None:
    """FR43: the sibling route that forgot to ask."""
    assert {address for address in OPERATIONS if address[1].startswith("/internal/")} == {
        address for address, operation in OPERATIONS.items() if operation.policy == "internal"
    }
    outside = {path for (_, path), operation in OPERATIONS.items() if operation.policy == "open"}
    assert outside == {"/healthz", "/readyz", "/metrics"}  # everything else that is not internal is under /api/
    assert all(path.startswith(("/api/", "/internal/")) for _, path in OPERATIONS if path not in outside)


async def test_no_route_is_left_out() -> None:
    async with running(admitting()) as house:
        rooms = [
            route.original_router for route in house.application._routes.routes if hasattr(route, "original_router")
        ]
        routes = [route for room in rooms for route in room.routes if isinstance(route, APIRoute)]

    assert {(method, route.path) for route in routes for method in route.methods or ()} == set(OPERATIONS)


async def test_every_route_lets_in_whom_it_is_for_and_is_nothing_to_everybody_else() -> None:
    """LAW-P5, [T2], REQ-W1, FR27, FR43: byte for byte, whether somebody else's, deleted or never there."""
    found: dict[tuple[str, Address], tuple[int, bytes]] = {}
    async with running(admitting()) as house, answering(house) as (names, _):
        for who, client in (await callers(house)).items():
            for address in OPERATIONS:
                if address not in (STOP, DELETE) or who not in LETS_IN["run"]:
                    found[who, address] = await call(client, address, names)
            assert (await house.parts.records.run(names.run_id)).status == "running", who  # type: ignore[union-attr] # it is there

    wrong = {key: answer for key, answer in found.items() if not expected(*key, answer)}
    assert wrong == {}


def expected(who: str, address: Address, answer: tuple[int, bytes]) -> bool:
    status, body = answer
    operation: Operation = OPERATIONS[address]
    if address == BY_TOKEN and who not in ("without rights", "expired", "internal"):
        return status == 401 and b'"code":"missing"' in body  # it needs a resume token, whoever asks
    if who in LETS_IN[operation.policy]:
        return status in operation.answers or status == 409  # ann's conversation is answering
    if operation.policy == "internal":
        return status == 401
    if who == "of another tenant" and operation.policy == "owner":
        # Ids are a tenant's own: what has the same one there is something else.
        return status in (*operation.answers, 409) or (status, body) == (404, NOT_FOUND)
    if who in ("expired", "internal"):
        code = b'"code":"expired"' if who == "expired" else b'"code":"invalid"'
        return status == 401 and code in body
    if address in OF_ANYBODY and who != "without rights":
        return status in operation.answers and b'"c1"' not in body
    return (status, body) == (404, NOT_FOUND)


async def test_deleted_and_unknown_look_like_somebody_elses() -> None:
    """LAW-P5, [T2], FR43: to the owner as well."""
    deleted = Names(run=UNKNOWN.run, run_id=UNKNOWN.run_id, conversation="gone")
    naming = [address for address, operation in OPERATIONS.items() if operation.policy in ("owner", "run")]
    creating = [("POST", "/api/chat"), ("POST", "/api/conversations")]  # what nobody has is created there
    async with running(admitting()) as house, answering(house):
        owner = (await callers(house))["owner"]
        of_deleted = {address: await call(owner, address, deleted) for address in naming}
        of_unknown = {address: await call(owner, address, UNKNOWN) for address in naming if address not in creating}

    beside = {BY_TOKEN, *OF_ANYBODY}
    active = ("GET", "/api/chat/{name}/stream")  # a conversation that nobody answers in: nothing to read
    assert {a: answer for a, answer in of_deleted.items() if answer != (404, NOT_FOUND)}.keys() == {*beside, active}
    assert {a: answer for a, answer in of_unknown.items() if answer != (404, NOT_FOUND)}.keys() == {*beside, active}
    assert of_deleted[active] == of_unknown[active]


async def test_without_sessions_every_chat_path_needs_somebody() -> None:
    """REQ-W1: an unauthenticated probe of every route, with and without a cookie that counted once."""
    async with running(admitting(sessions=False)) as house, answering(house) as (names, _):
        cookie = f"turnkeep_session={house.parts.sessions.mint(bytes(16))}"
        for client in (await house.client(), await house.client(cookie=cookie)):
            probed = {address: await call(client, address, names) for address in OPERATIONS}
            beyond = [await client.get(path) for path in ("/api/nowhere", "/api/chat", "/api/runs/x/y")]
            assert {address[1] for address, (status, _) in probed.items() if status != 401} == {
                path for (_, path), operation in OPERATIONS.items() if operation.policy == "open"
            }
            assert [answer.status_code for answer in beyond] == [401] * 3
            assert "set-cookie" not in beyond[0].headers


async def test_a_resume_token_opens_its_run_and_nothing_else() -> None:
    """[T2], FR43: for whoever holds it, whatever else it comes with."""
    for sessions in (True, False):
        async with running(admitting(sessions=sessions)) as house, answering(house) as (names, token):
            nobody, eve = await house.client(), (await callers(house))["foreign"]
            header = {"x-chat-resume-token": token}
            of_run = [
                address for address, operation in OPERATIONS.items() if operation.policy == "run" and address != STOP
            ]

            held = {address: await call(nobody, address, names, **header) for address in of_run}
            others = {address: await call(nobody, address, UNKNOWN, **header) for address in of_run}
            beside = {address: await call(eve, address, names, **header) for address in of_run}
            theirs = await call(nobody, ("GET", "/api/conversations/{conversation}/messages"), names, **header)

        assert {status for status, _ in held.values()} == {200}
        active = ("GET", "/api/chat/{name}/stream")
        assert {answer for address, answer in others.items() if address != active} == {(404, NOT_FOUND)}
        assert others[active][0] == (204 if sessions else 401)
        assert set(beside.values()) == {(404, NOT_FOUND)}
        assert theirs[0] == (404 if sessions else 401)


@pytest.mark.parametrize("who", ["anonymous", "owner", "internal"])
async def test_without_an_internal_token_there_is_nothing_internal(who: str) -> None:
    """REQ-W5"""
    async with running(admitting(internal=False)) as house:
        client = (await callers(house))[who]
        internal = [address for address, operation in OPERATIONS.items() if operation.policy == "internal"]
        answers = {await call(client, address, UNKNOWN) for address in internal}

    assert answers == {(404, NOT_FOUND)}


async def test_other_methods_are_refused_alike() -> None:
    """FR43: HEAD, OPTIONS and the rest tell nobody what is there."""
    async with running(admitting()) as house, answering(house) as (names, _):
        eve = await holding(house, (await callers(house))["foreign"].headers["authorization"].partition(" ")[2])
        found: set[int] = set()
        for path in {path for _, path in OPERATIONS if "{" in path}:
            declared = {method for method, one in OPERATIONS if one == path}
            for method in {"GET", "HEAD", "OPTIONS", "PUT", "PATCH", "POST", "DELETE", "TRACE"} - declared:
                found |= {(await eve.request(method, at(path, named))).status_code for named in (names, UNKNOWN)}

    assert found == {405}
