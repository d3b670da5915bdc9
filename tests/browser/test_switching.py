"""Another conversation while the one before is not quite done: what comes late is not the new one's."""

import pytest
from playwright.async_api import Page, expect

from tests.browser.answers import ID, SAID, shown, turn
from tests.browser.asking import QUESTION, ask, read_until, settled
from tests.browser.scripted_chat import ScriptedChat
from tests.browser.test_going_on import AGAIN

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_while_an_answer_comes_its_conversation_cannot_be_left(page: Page, chat: ScriptedChat) -> None:
    """FR79: the answer ends where it was asked for."""
    chat.hold = 30
    await ask(page)
    await read_until(page, 30)
    new_chat = page.locator("#new-chat")
    await expect(new_chat).to_be_disabled()
    await new_chat.dispatch_event("click")
    chat.release()
    await settled(page)

    await expect(page.locator(".question")).to_have_text([f"You asked{QUESTION}"])
    assert len({body["conversation_id"] for body in chat.bodies}) == 1


async def test_what_belongs_to_the_answer_before_does_not_show_in_the_next_conversation(
    page: Page, chat: ScriptedChat
) -> None:
    """FR79: its title and its late prompts come when another conversation is open, with an answer of its own on its way."""
    await page.clock.install()
    await shown(page, chat, turn(*SAID))
    await page.get_by_role("button", name="New chat").click()
    chat.hold_again(AGAIN, 3)
    await ask(page, "Something else?")
    await read_until(page, 3)
    chat.title = "Of crashes"
    chat.stored = [{"id": ID, "role": "assistant", "parts": [], "suggested": ["Later?"]}]
    asked = len(chat.asked)
    await page.clock.run_for(6_000)
    await expect(page.locator(".prompts button")).to_have_count(0)
    assert [line for line in chat.asked[asked:] if "conversations" in line] == []

    await expect(page).to_have_title("Turnkeep demo")
    chat.title = ""
    chat.release()
    await settled(page)
    assert await page.locator(".text").all_inner_texts() == ["Or not."]
    first, second = chat.bodies
    assert first["conversation_id"] != second["conversation_id"]
