"""What to do with an answer: go on with a suggestion, ask for another one; and what the server adds when it is complete."""

from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.browser.answers import ID, SAID, data, shown, turn
from tests.browser.asking import QUESTION, ask, read_until, settled
from tests.browser.scripted_chat import ScriptedChat
from tests.client_cases import Frame

pytestmark = pytest.mark.asyncio(loop_scope="session")

PROMPTS = data("suggested-prompts", {"prompts": ["And then?", "Why <b>so</b>?"]})
AGAIN = turn({"type": "text-start", "id": "t1"}, {"type": "text-delta", "id": "t1", "delta": "Or not."})
AGAIN[0] = {"type": "start", "messageId": "msg_another"}


def labels(page: Page) -> Any:
    return page.get_by_role("list", name="Suggestions").get_by_role("button")


async def test_a_suggestion_is_one_key_and_goes_when_it_was_used(page: Page, chat: ScriptedChat) -> None:
    """REQ-G6 REQ-U18: by keyboard, and whoever pressed it is in the conversation afterwards."""
    chat.hold = 4
    chat.frames = turn(*SAID, after=(PROMPTS,))
    await ask(page)
    await read_until(page, 4)
    await expect(labels(page)).to_have_count(0)
    chat.release()
    await settled(page)
    assert await labels(page).all_inner_texts() == ["And then?", "Why <b>so</b>?"]

    await labels(page).first.press("Enter")
    await expect(page.locator("#scroller")).to_be_focused()
    await settled(page)

    assert [body["message"] for body in chat.bodies] == [QUESTION, "And then?"]
    await expect(labels(page)).to_have_count(2)  # the new answer's


async def test_what_comes_after_the_end_is_shown_when_it_is_there(page: Page, chat: ScriptedChat) -> None:
    """REQ-G6 [L13]: the title in the page's own, prompts that took longer below the answer."""
    await page.clock.install()
    await expect(page).to_have_title("Turnkeep demo")
    chat.title = "Of crashes"
    chat.stored = [{"id": ID, "role": "assistant", "parts": [], "suggested": ["Later?"]}]
    await shown(page, chat, turn(*SAID))
    await page.clock.run_for(6_000)

    await expect(labels(page)).to_have_text(["Later?"])
    await expect(page).to_have_title("Of crashes · Turnkeep demo")
    await page.reload()
    await expect(labels(page)).to_have_text(["Later?"])
    await expect(page).to_have_title("Of crashes · Turnkeep demo")
    await page.get_by_role("button", name="New chat").click()
    await expect(page).to_have_title("Turnkeep demo")


def anew(page: Page) -> Any:
    return page.get_by_role("button", name="Regenerate")


async def test_another_answer_takes_the_place_of_the_last(page: Page, chat: ScriptedChat) -> None:
    """[A9] REQ-U18: by keyboard; also where the tab is reloaded while it comes. Earlier answers stay as they are."""
    await shown(page, chat, turn(*SAID))
    await shown(page, chat, turn(*SAID))
    await expect(anew(page)).to_have_count(1)
    chat.frames, chat.hold = AGAIN, 3
    await anew(page).press("Enter")
    await read_until(page, 3)
    await expect(anew(page)).to_have_count(0)
    await page.reload()
    await read_until(page, 3)
    chat.release()
    await settled(page)

    assert await page.locator(".text").all_inner_texts() == ["So it is.", "Or not."]
    asked = chat.bodies[2]
    assert {name: asked.get(name) for name in ("trigger", "messageId", "expected_head")} == {
        "trigger": "regenerate-message",
        "messageId": ID,
        "expected_head": ID,
    }
    assert asked["message"]["parts"] == [{"type": "text", "text": QUESTION}]
    assert len({body["run_id"] for body in chat.bodies}) == 3


async def test_an_answer_that_nobody_may_have_anew_comes_back(page: Page, chat: ScriptedChat) -> None:
    """[A11] REQ-U13: somebody went on from it elsewhere."""
    await shown(page, chat, turn(*SAID))
    chat.refusals = [(409, {"kind": "conflict", "message": "The conversation went on.", "retryable": False})]
    await anew(page).click()

    await expect(page.get_by_role("alert")).to_have_text("There is no other answer: The conversation went on.")
    assert "So it is." in await settled(page)
    await expect(anew(page)).to_be_enabled()


async def test_what_there_is_to_press_is_large_enough(page: Page, chat: ScriptedChat) -> None:
    """REQ-U18: 44 by 44, and nothing is wider than a small phone."""
    await page.set_viewport_size({"width": 320, "height": 600})
    wide: list[Frame] = [data("artifact", {"toolCallId": "c1.0", "kind": "k", "title": "t" * 90, "content": "x" * 900})]
    long = data("suggested-prompts", {"prompts": ["y" * 120, "And then?"]})
    cited: Frame = {"type": "source-url", "sourceId": "1", "url": "https://example.org/" + "z" * 200}
    await shown(page, chat, turn(*wide, *SAID, cited, after=(long,)))

    boxes = [await button.bounding_box() for button in await page.locator(".turn button").all()]
    assert len(boxes) == 4
    assert all(box is not None and min(box["width"], box["height"]) >= 44 for box in boxes)
    assert await page.evaluate("document.getElementById('scroller').scrollWidth") <= 320
