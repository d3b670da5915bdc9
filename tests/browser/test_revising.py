"""Asking the last question otherwise."""

from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.browser.answers import ID, SAID, shown, turn
from tests.browser.asking import QUESTION, read_until, settled
from tests.browser.scripted_chat import ScriptedChat
from tests.browser.test_going_on import AGAIN

pytestmark = pytest.mark.asyncio(loop_scope="session")

REVISED = "How does it survive two crashes?"
ELSEWHERE = [
    {
        "id": "msg_elsewhere",
        "role": "assistant",
        "parts": [{"type": "text", "text": "Said elsewhere.", "state": "done"}],
    },
    {"id": "usr_elsewhere", "role": "user", "parts": [{"type": "text", "text": "Asked elsewhere?"}]},
]


def field(page: Page) -> Any:
    return page.get_by_label("Your message")


async def revise(page: Page, text: str = REVISED) -> None:
    await page.get_by_role("button", name="Edit question").press("Enter")
    await expect(field(page)).to_be_focused()
    await expect(field(page)).to_have_value(QUESTION)
    await field(page).fill(text)
    await field(page).press("Enter")


async def test_another_question_takes_the_place_of_the_last(page: Page, chat: ScriptedChat) -> None:
    """[A10] [A11] REQ-U18: by keyboard; also where the tab is reloaded meanwhile. It holds for the answer that was seen."""
    await shown(page, chat, turn(*SAID))
    await field(page).fill("A draft")
    chat.hold_again(AGAIN, 3)
    await revise(page)
    await read_until(page, 3)
    await expect(field(page)).to_have_value("A draft")
    await page.reload()
    await read_until(page, 3)
    chat.release()
    await settled(page)

    await expect(page.locator(".question")).to_have_text([f"You asked{REVISED}"])
    assert await page.locator(".text").all_inner_texts() == ["Or not."]
    asked = chat.bodies[-1]
    assert {name: asked[name] for name in ("trigger", "messageId", "expected_head")} == {
        "trigger": "submit-message",
        "messageId": ID,
        "expected_head": ID,
    }
    assert asked["message"]["parts"] == [{"type": "text", "text": REVISED}]


async def test_a_conversation_that_moved_on_is_shown_and_the_text_is_kept(page: Page, chat: ScriptedChat) -> None:
    """[A11] FR35: whoever went on elsewhere loses nothing, and neither does who wrote here."""
    await shown(page, chat, turn(*SAID))
    moved = {
        "kind": "conflict",
        "message": "The conversation has gone on.",
        "retryable": False,
        "head": "msg_elsewhere",
    }
    chat.refusals = [(409, moved)]
    chat.stored = ELSEWHERE[::-1]
    await revise(page)

    await expect(page.locator(".question")).to_have_text(["You askedAsked elsewhere?"])
    await expect(page.locator(".text")).to_have_text(["Said elsewhere."])
    await expect(field(page)).to_have_value(REVISED)
    told = "The conversation has moved on elsewhere. What you wrote is kept here."
    await expect(page.locator("#hint")).to_have_text(told)
    await expect(page.locator("#announcer")).to_have_text(told)

    await field(page).press("Enter")
    await expect(page.locator(".turn")).to_have_count(2)
    await settled(page)
    assert chat.bodies[-1]["message"] == REVISED


async def test_a_question_that_is_refused_comes_back_with_the_text(page: Page, chat: ScriptedChat) -> None:
    """REQ-U13"""
    await shown(page, chat, turn(*SAID))
    chat.refusals = [(429, {"kind": "rate_limited", "message": "Too many turns at once.", "retryable": True})]
    await revise(page)

    await expect(page.get_by_role("alert")).to_have_text("There is no other answer: Too many turns at once.")
    await expect(page.locator(".question")).to_have_text([f"You asked{QUESTION}"])
    await expect(field(page)).to_have_value(REVISED)


@pytest.mark.parametrize("how", ["Cancel", "Escape"])
async def test_a_draft_comes_back_where_nothing_is_revised(page: Page, chat: ScriptedChat, how: str) -> None:
    await shown(page, chat, turn(*SAID))
    await field(page).fill("A draft")
    await page.get_by_role("button", name="Edit question").click()
    if how == "Escape":
        await field(page).press("Escape")
    else:
        await page.get_by_role("button", name="Cancel").click()

    await expect(field(page)).to_have_value("A draft")
    await expect(field(page)).to_be_focused()
    await expect(page.get_by_role("button", name="Cancel")).to_be_hidden()
    assert len(chat.bodies) == 1
