"""A person decides and answers on the page."""

import pytest
from playwright.async_api import Page, expect

from tests.browser.asking import ask, read_until, settled
from tests.browser.scripted_chat import ScriptedChat
from tests.client_cases import fold_case

pytestmark = pytest.mark.asyncio(loop_scope="session")

ASKED = 11  # frames up to the request, in the case of a declined call


async def waiting(page: Page, chat: ScriptedChat, case: str, asked: int) -> None:
    """The page before a turn that waits for its person."""
    chat.frames = fold_case(case).frames
    chat.hold = asked
    await ask(page)
    await read_until(page, asked)


@pytest.mark.parametrize("reload", [False, True])
async def test_a_call_is_declined_with_a_reason(page: Page, chat: ScriptedChat, reload: bool) -> None:
    """[W1]: also after the tab was reloaded."""
    await waiting(page, chat, "approval-denied", ASKED)
    if reload:
        await page.reload()
        await read_until(page, ASKED)
    await expect(page.locator(".tool-state")).to_have_text("Needs your approval")
    await page.get_by_label("Reason, if you decline").fill("Too much.")
    await page.get_by_role("button", name="Deny").click()
    await settled(page)

    assert chat.inputs == [{"type": "deny", "approvalId": "c1.0", "reason": "Too much."}]
    await expect(page.locator(".tool-state")).to_have_text("Declined")
    await expect(page.locator(".tool-decision")).to_have_count(0)


async def test_a_call_is_approved_and_a_question_answered(page: Page, chat: ScriptedChat) -> None:
    """By keyboard: Enter in the field answers, and approves nothing."""
    await waiting(page, chat, "approval-beside-others", 15)
    chat.awaited = 2
    question = page.get_by_role("form", name="Answer ask_user")
    approval = page.get_by_role("form", name="Decide on pay")
    await approval.get_by_role("textbox").press("Enter")
    await approval.get_by_role("button", name="Approve").press("Enter")
    await question.get_by_label("Your answer").fill("Three")
    await question.get_by_label("Your answer").press("Enter")
    await settled(page)

    assert chat.inputs == [
        {"type": "approve", "approvalId": "c1.2"},
        {"type": "answer", "toolCallId": "c1.0", "text": "Three"},
    ]
    assert await page.locator(".tool-state").all_inner_texts() == ["Done", "Done", "Done"]


async def test_a_decision_that_did_not_arrive_can_be_made_again(page: Page, chat: ScriptedChat) -> None:
    chat.deaf = 503
    await waiting(page, chat, "approval-denied", ASKED)
    await page.get_by_role("button", name="Deny").click()
    await expect(page.locator(".tool-note")).to_have_text("That did not arrive. Try again.")
    chat.deaf = 0
    await page.get_by_role("button", name="Deny").click()
    await settled(page)

    assert chat.inputs == [{"type": "deny", "approvalId": "c1.0"}] * 2


async def test_a_stored_turn_has_nothing_to_decide(page: Page, chat: ScriptedChat) -> None:
    await waiting(page, chat, "approval-denied", ASKED)
    await page.get_by_role("button", name="Stop").click()
    await settled(page)

    await expect(page.locator(".tool-decision")).to_have_count(0)


async def test_what_was_said_meanwhile_stands_where_it_was_heard(page: Page, chat: ScriptedChat) -> None:
    """[W5]"""
    chat.frames = fold_case("steering").frames
    await ask(page)
    shown = await settled(page)

    assert shown.index("Once upon a time.") < shown.index("Shorter!") < shown.index("the end.")
