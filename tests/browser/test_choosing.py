"""Who answers, where there is a choice; and outputs that are too large to be shown."""

import pytest
from playwright.async_api import Page, expect

from tests.browser.asking import ask, settled
from tests.browser.scripted_chat import ASSISTANT, ScriptedChat

pytestmark = pytest.mark.asyncio(loop_scope="session")

CLERK = {"name": "clerk", "title": "Order clerk", "model": "demo", "starters": ["Where is order 17?"]}


async def test_a_person_chooses_who_answers_before_the_first_question(page: Page, chat: ScriptedChat) -> None:
    chat.assistants = [ASSISTANT, CLERK]
    await page.reload()
    chooser = page.get_by_label("Assistant")
    await expect(chooser).to_have_value("demo")
    await chooser.select_option("clerk")

    await expect(page.locator("h1")).to_have_text("Order clerk")
    await expect(page.locator("#starters button")).to_have_text(["Where is order 17?"])
    await ask(page)
    await settled(page)
    assert [body["assistant"] for body in chat.bodies] == ["clerk"]
    await expect(chooser).to_be_disabled()  # a conversation keeps who answers it

    await page.reload()
    await expect(chooser).to_have_value("clerk")
    await expect(page.locator("h1")).to_have_text("Order clerk")


async def test_without_a_choice_nothing_is_offered(page: Page, chat: ScriptedChat) -> None:
    await expect(page.get_by_label("Assistant")).to_be_hidden()
    await ask(page)
    await settled(page)

    assert "assistant" not in chat.bodies[0]


async def test_the_beginning_of_a_large_output_leads_to_the_whole(page: Page, chat: ScriptedChat) -> None:
    """[U3]"""
    output = {"shortened": {"bytes": 800_000, "reference": "c1.0"}, "beginning": "[1, 2,"}
    chat.frames = [
        {**frame, "output": output}
        if (frame["type"], frame.get("toolCallId")) == ("tool-output-available", "c1.0")
        else frame
        for frame in chat.frames
    ]
    chat.frames[0] = {"type": "start", "messageId": "msg_00000000000040008000000000000001"}
    await ask(page)
    await settled(page)

    link = page.get_by_role("link", name="All of it (782 KB)")
    await expect(link).to_have_attribute("href", "/api/runs/00000000-0000-4000-8000-000000000001/outputs/c1.0")
    await expect(page.locator(".tool").first.locator("pre")).to_have_text("[1, 2,")
