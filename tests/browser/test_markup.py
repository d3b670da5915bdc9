"""Text of a person, a model, a tool or a server is text on the page, wherever it stands and however it arrives."""

from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.browser.answers import ID, data
from tests.browser.asking import ask, read_until, settled
from tests.browser.scripted_chat import ASSISTANT, ScriptedChat
from tests.client_cases import Frame

pytestmark = pytest.mark.asyncio(loop_scope="session")

PIECE = 3  # characters of a delta: no payload arrives in one
PAYLOADS = (
    "<img src=x onerror=alert(1)>",
    '"><script>alert(1)</script>',
    "<svg/onload=alert(1)>",
    "<math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
    "[a](javascript:alert(1))",
    "[b](JaVa\tscript:alert(1))",
    "[c](&#106;avascript:alert(1))",
    "[d](data:text/html,<script>alert(1)</script>)",
    "<a href=vbscript:alert(1)>e</a>",
    "![f](https://example.org/f.png)",
    '<iframe srcdoc="<script>alert(1)</script>">',
    "<!-- <img title='--><img src=x onerror=alert(1)>",
)
ALL = "\n\n".join(PAYLOADS)
LIVE = """() => [...document.querySelectorAll("body *")]
    .filter((node) => !["header", "main", "footer"].includes(node.localName))
    .flatMap((node) => [...node.attributes].map(({ name, value }) => [node, name, value]).concat([[node, "", ""]]))
    .filter(([node, name, value]) => /^(script|img|svg|math|iframe|object|embed|style|link)$/.test(node.localName)
        || /^(on|srcdoc)/.test(name)
        || (["href", "src", "action"].includes(name) && !/^(https?:|mailto:)/.test(value)))
    .map(([node]) => node.outerHTML)"""


def written(kind: str, part: str) -> list[Frame]:
    deltas = [ALL[at : at + PIECE] for at in range(0, len(ALL), PIECE)]
    return [
        {"type": f"{kind}-start", "id": part},
        *({"type": f"{kind}-delta", "id": part, "delta": delta} for delta in deltas),
        {"type": f"{kind}-end", "id": part},
    ]


def call(number: int, end: Frame) -> list[Frame]:
    """A tool call whose name, input, progress and output are payloads."""
    named = {"toolCallId": f"c1.{number}", "dynamic": True}
    return [
        {"type": "tool-input-start", "toolName": PAYLOADS[0], **named},
        {"type": "tool-input-available", "toolName": PAYLOADS[0], "input": {PAYLOADS[1]: ALL}, **named},
        data("tool-progress", {"toolCallId": f"c1.{number}", "progress": ALL}, transient=True),
        {**end, **named},
    ]


def everything() -> list[Frame]:
    """A turn of two steps with the payloads in every place that a text can have."""
    usage = data(
        "usage", {"inputTokens": 1, "outputTokens": 1, "cacheReadTokens": 0, "cacheWriteTokens": 0, "steps": 2}
    )
    return [
        {"type": "start", "messageId": ID},
        data("run", {"runId": ID, "conversationId": "c", "assistant": "demo", "model": PAYLOADS[0]}, transient=True),
        data("context", {"truncated": PAYLOADS[0]}),
        {"type": "start-step"},
        *written("reasoning", "r1"),
        *written("text", "t1"),
        *call(0, {"type": "tool-output-available", "output": {"html": ALL}}),
        *call(1, {"type": "tool-output-error", "errorText": ALL}),
        data("artifact", {"toolCallId": "c1.0", "kind": PAYLOADS[1], "title": PAYLOADS[0], "content": ALL}, id="a1"),
        {"type": "source-url", "sourceId": "1", "url": "javascript:alert(1)", "title": PAYLOADS[0]},
        {"type": "source-url", "sourceId": "2", "url": f"https://example.org/{PAYLOADS[1]}"},
        {"type": "source-document", "sourceId": "3", "mediaType": "text/html", "title": PAYLOADS[2]},
        {"type": "finish-step"},
        {"type": "steering-message", "id": "s1", "parts": [{"type": "text", "text": ALL}]},
        {"type": "start-step"},
        data("model-fallback", {"from": PAYLOADS[0], "to": PAYLOADS[1], "reason": PAYLOADS[2]}, transient=True),
        *written("text", "t2"),
        {"type": "finish-step"},
        data("handoff", {"reason": PAYLOADS[0], "payload": {"message": ALL}}),
        usage,
        data("suggested-prompts", {"prompts": list(PAYLOADS)}),
        data("error", {"kind": "upstream", "message": ALL, "retryable": True}),
        {"type": "error", "errorText": ALL},
        {"type": "finish", "finishReason": "error"},
    ]


async def test_no_text_comes_alive(page: Page, chat: ScriptedChat) -> None:
    """FR75 REQ-U12: while it is written, after a replay and after a reload: no dialog, no request, nothing but our elements."""
    happened: list[str] = []
    page.on("dialog", lambda dialog: happened.append(dialog.message))
    page.on("request", lambda request: happened.append(request.url))
    chat.assistants = [{**ASSISTANT, "title": PAYLOADS[0], "starters": list(PAYLOADS)}, ASSISTANT]
    chat.title = PAYLOADS[1]
    chat.frames = everything()
    middle = next(at for at, frame in enumerate(chat.frames) if frame["type"] == "finish-step") - 1
    chat.hold = middle
    await page.reload()
    await page.wait_for_selector("#starters button")
    found: list[Any] = [await page.evaluate(LIVE)]

    await ask(page, ALL)
    await read_until(page, middle)
    found.append(await page.evaluate(LIVE))
    await page.reload()
    await read_until(page, middle)
    found.append(await page.evaluate(LIVE))
    chat.release()
    await settled(page)
    found.append(await page.evaluate(LIVE))
    await page.reload()
    await settled(page)
    found.append(await page.evaluate(LIVE))

    assert found == [[]] * 5
    assert [one for one in happened if not one.startswith(page.url)] == []
    assert await page.locator(".question p").all_text_contents() == [ALL, ALL]
    await expect(page.locator(".tool-error")).to_have_text(ALL)
    assert await page.locator(".prompts button").all_text_contents() == list(PAYLOADS)
