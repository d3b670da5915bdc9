"""What stands beside and below an answer: what happened to it, what tools made, where it is from, and what to do next."""

from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.browser.answers import SAID, data, shown, turn
from tests.browser.asking import ask, read_until, settled
from tests.browser.scripted_chat import ScriptedChat
from tests.client_cases import Frame, fold_case

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_model_that_is_busy_and_one_that_takes_over_are_told_quietly(page: Page, chat: ScriptedChat) -> None:
    """REQ-G2 REQ-H10: a line below the answer, and the screen reader's region, until the answer goes on."""
    waiting = data("rate-limited", {"retryAfterMs": 3_000, "reason": "rate_limited", "attempt": 2}, transient=True)
    other = data("model-fallback", {"from": "one", "to": "two", "reason": "rate_limited"}, transient=True)
    reply = data("reply", {"stored": True, "model": "two", "grounded": False, "outcome": "completed"}, transient=True)
    line, spoken = page.locator(".notice-line"), page.locator("#announcer")
    chat.frames = turn(waiting, *SAID)
    chat.hold = 3
    await ask(page)
    await expect(line).to_have_text("The model is busy, trying again in 3 s.")
    await expect(spoken).to_have_text("The model is busy, trying again in 3 s.")
    chat.release()
    await settled(page)
    await expect(line).to_be_hidden()

    chat.hold_again(turn(other, *SAID, after=(reply,)), 3)
    await ask(page)
    await expect(line.last).to_have_text("two answers now, because one did not.")
    chat.release()
    await settled(page)
    await expect(page.locator(".meta").last).to_have_text("two · durable workflow")


async def test_what_was_left_out_and_that_the_budget_is_used_up_are_said(page: Page, chat: ScriptedChat) -> None:
    """REQ-G4 REQ-U13 [H1]: without an error, and what was shown before stays."""
    cuts: list[Any] = [{"truncated": 1}, {"overflow": True, "truncated": 4}, {"overflow": True, "truncated": 0}]
    context = [data("context", cut) for cut in [*cuts, {"compacted": True}]]
    handoff = data("handoff", {"reason": "budget", "payload": {"message": "The budget is used up."}})
    await shown(page, chat, turn(*context, *SAID, after=(handoff,)))

    await expect(page.locator(".text")).to_have_text("So it is.")
    await expect(page.get_by_role("region", name="Hand-off")).to_have_text("No answer for nowThe budget is used up.")
    await expect(page.get_by_role("alert")).to_have_count(0)
    assert await page.locator(".aside").all_inner_texts() == [
        "One older message was left out because the conversation is long.",
        "4 older messages were left out because the conversation is long.",
        "Long results were left out to make room.",
        "Older messages were summarised to make room.",
    ]


ARTIFACTS: list[dict[str, Any]] = [
    {"kind": "page", "title": "Notes", "mediaType": "text/markdown", "content": "**Bold** <b>no</b> [x](javascript:a)"},
    {"kind": "html", "mediaType": "text/html", "content": "<script>alert(1)</script>"},
    {"kind": "table", "content": [["x", "1152921504606846976"], [1, None]]},
    {"kind": "data", "content": {"x": ["<b>"]}},
    {"kind": "image", "title": "Ours", "mediaType": "image/svg+xml", "url": "/icon.svg"},
    {"kind": "image", "title": "Theirs", "mediaType": "image/png", "url": "https://example.org/p.png"},
    {"kind": "page", "title": "Script", "url": "javascript:alert(1)"},
    {"kind": "page", "title": "Broken", "url": "https://["},
]


async def test_what_a_tool_made_is_shown_and_is_never_markup(page: Page, chat: ScriptedChat) -> None:
    """REQ-G5 REQ-U12 [L12]: markdown by the page's own renderer, images of this address only."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    frames = [data("artifact", {"toolCallId": "c1.0", **one}, id=f"a{at}") for at, one in enumerate(ARTIFACTS)]
    older = data("artifact", {"toolCallId": "c1.0", "kind": "draft"}, id="a0")
    await shown(page, chat, turn(older, *frames, *SAID))

    contents = await page.locator(".artifact-content").evaluate_all("all => all.map((one) => one.innerHTML)")
    address = page.url
    link = 'target="_blank" rel="noopener noreferrer"'
    assert await page.locator(".artifact h4").all_inner_texts() == [
        *("Notes", "html", "table", "data", "Ours", "Theirs", "Script", "Broken")
    ]
    assert contents == [
        '<div class="text"><p><strong>Bold</strong> &lt;b&gt;no&lt;/b&gt; [x](javascript:a)</p></div>',
        '<pre tabindex="0">&lt;script&gt;alert(1)&lt;/script&gt;</pre>',
        '<div class="table" tabindex="0"><table><tbody><tr><td>x</td><td>1152921504606846976</td></tr>'
        "<tr><td>1</td><td></td></tr></tbody></table></div>",
        '<pre tabindex="0">{\n  "x": [\n    "&lt;b&gt;"\n  ]\n}</pre>',
        f'<img src="{address}icon.svg" alt="Ours">',
        f'<p><a href="https://example.org/p.png" {link}>Open at example.org</a></p>',
        '<p class="aside">It lies where this page does not lead.</p>',
        '<p class="aside">It lies where this page does not lead.</p>',
    ]
    assert not [url for url in asked if "example.org" in url]


async def test_sources_are_listed_once_and_lead_to_the_web_only(page: Page, chat: ScriptedChat) -> None:
    """REQ-U7: each answer keeps its own, beside the conversation when opened."""
    sources: list[Frame] = [
        {"type": "source-url", "sourceId": "1", "url": "https://example.org/a", "title": "A <b>"},
        {"type": "source-url", "sourceId": "2", "url": "http://example.org/b"},
        {"type": "source-url", "sourceId": "3", "url": "javascript:alert(1)", "title": "C"},
        {"type": "source-document", "sourceId": "4", "mediaType": "text/markdown", "title": "docs/d.md"},
    ]
    await shown(page, chat, turn(*SAID, *sources))

    items = page.get_by_role("region", name="Sources").get_by_role("listitem")
    assert await items.evaluate_all("all => all.map((item) => item.innerHTML)") == [
        '<a href="https://example.org/a" target="_blank" rel="noopener noreferrer">A &lt;b&gt;</a>',
        '<a href="http://example.org/b" target="_blank" rel="noopener noreferrer">http://example.org/b</a>',
        "C",
        "docs/d.md",
    ]


async def test_a_call_that_the_provider_made_says_so_and_asks_nobody(page: Page, chat: ScriptedChat) -> None:
    chat.frames = fold_case("served").frames
    chat.hold = 9
    await ask(page)
    await read_until(page, 9)
    await expect(page.get_by_role("region", name="Tool web_search")).to_contain_text("at the model's provider")
    await expect(page.locator(".tool-decision")).to_have_count(0)
    chat.release()
    await settled(page)

    assert await page.locator(".tool-state").all_inner_texts() == ["Done", "Failed"]
