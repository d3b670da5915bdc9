"""A house whose model asks a person twice in one step: to approve a payment, and a question."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2

from protocol.json import JsonObject
from tests.contract.http_house import House, Reading, running, script
from tests.waiting import waiting_tools

RUN = "6f9a4c1e-0c1b-4a51-9a5e-3f1f0a5f6c11"
MESSAGE = f"msg_{RUN.replace('-', '')}"
ASKED: JsonObject = {"message": "Pay.", "conversation_id": "c1", "run_id": RUN}
INPUT = f"/api/chat/{RUN}/input"
APPROVE = {"type": "approve", "approvalId": "c1.0"}
DENY = {"type": "deny", "approvalId": "c1.0", "reason": "Too much."}
ANSWER = {"type": "answer", "toolCallId": "c1.1", "text": "Quite sure."}
ASKS = script(
    {
        "events": [
            {"type": "tool_input", "id": "t1", "name": "pay", "delta": '{"euros": 5}'},
            {"type": "tool_input", "id": "t2", "name": "ask_user", "delta": '{"question": "Sure?"}'},
            {"type": "stop", "reason": "tool_use"},
        ]
    },
    {"events": [{"type": "text", "text": "Done."}, {"type": "stop"}]},
)


@asynccontextmanager
async def asking_house() -> AsyncIterator[House]:
    async with running() as opened:
        opened.rig.more_tools = waiting_tools(opened.rig.outside)
        opened.plays(ASKS)
        yield opened


async def status(client: httpx2.AsyncClient) -> dict[str, Any]:
    found: dict[str, Any] = (await client.get(f"/api/runs/{RUN}")).json()
    return found


async def parked(client: httpx2.AsyncClient) -> dict[str, Any]:
    while (found := await status(client))["status"] != "parked":
        pass  # each look is a call to the server
    return found


async def asked(stream: Reading) -> str:
    """The run's handle, once both questions were asked."""
    await stream.until(b"event: tool-approval-request")
    await stream.until(b"event: data-question")
    return str(stream.headers["x-workflow-run-id"])


def continued(*parts: JsonObject) -> JsonObject:
    """The AI SDK's request after a person decided: the message as the client holds it."""
    pay: JsonObject = {
        "type": "dynamic-tool", "toolName": "pay", "toolCallId": "c1.0", "state": "approval-responded",
        "input": {"euros": 5}, "approval": {"id": "c1.0", "approved": True},
    }  # fmt: skip
    ask: JsonObject = {
        "type": "dynamic-tool", "toolName": "ask_user", "toolCallId": "c1.1", "state": "output-available",
        "input": {"question": "Sure?"}, "output": {"sure": True},
    }  # fmt: skip
    message: JsonObject = {
        "id": MESSAGE, "role": "assistant", "parts": [{"type": "step-start"}, *(parts or (pay, ask))]
    }  # fmt: skip
    question: JsonObject = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "Pay."}]}
    return {"id": "c1", "messages": [question, message], "trigger": "submit-message", "messageId": MESSAGE}
