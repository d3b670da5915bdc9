"""The form, stopping, errors and the small things around a turn."""

from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.browser.asking import QUESTION, ask, read_until, settled
from tests.browser.scripted_chat import ScriptedChat
from tests.client_cases import fold_case

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_stop_settles_the_partial_answer(page: Page, chat: ScriptedChat) -> None:
    """REQ-U9, REQ-T7: Send becomes Stop, the server is told, what was shown stays, the form is free again."""
    before_results = next(at for at, frame in enumerate(chat.frames) if frame["type"] == "tool-output-available")
    chat.hold = before_results
    await ask(page)
    await read_until(page, before_results)

    await page.get_by_role("button", name="Stop").click()
    shown = await settled(page)

    assert "I look that up and count to three meanwhile." in shown
    assert shown.rstrip().endswith("Stopped.\n\ndemo · durable workflow\n\nEdit question\nRegenerate")
    assert await page.locator(".tool-state").all_inner_texts() == ["Failed", "Failed"]
    assert "POST /api/chat/run.h1/stop" in chat.asked
    await expect(page.get_by_role("button", name="Send")).to_be_enabled()


async def test_a_stopped_turn_stays_stopped_after_a_reload(page: Page, chat: ScriptedChat) -> None:
    chat.hold = 30
    await ask(page)
    await read_until(page, 30)
    await page.get_by_role("button", name="Stop").click()
    expected = await settled(page)
    asked = len([line for line in chat.asked if "stream" in line])

    await page.reload()

    assert await settled(page) == expected
    assert len([line for line in chat.asked if "stream" in line]) == asked


async def test_the_second_click_of_a_double_click_on_send_stops_nothing(page: Page, chat: ScriptedChat) -> None:
    await page.get_by_label("Your message").fill(QUESTION)
    await page.locator("#send").dblclick()
    await settled(page)

    assert not [line for line in chat.asked if line.endswith("/stop")]


async def test_a_turn_that_fails_says_why_and_can_be_tried_again(page: Page, chat: ScriptedChat) -> None:
    """REQ-U13"""
    whole = chat.frames
    chat.frames = fold_case("failed").frames
    await ask(page)
    shown = await settled(page)
    assert "The beginning" in shown
    await expect(page.get_by_role("alert")).to_have_text("The model provider failed.")

    chat.frames = whole
    await page.get_by_role("button", name="Try again").click()
    await settled(page)

    assert [body["message"] for body in chat.bodies] == [QUESTION, QUESTION]
    await expect(page.locator(".turn")).to_have_count(2)
    await expect(page.get_by_role("button", name="Try again")).to_be_hidden()


async def test_a_refused_question_is_replaced_by_its_next_try(page: Page, chat: ScriptedChat) -> None:
    chat.refusals = [(429, {"kind": "rate_limited", "message": "Too many turns at once.", "retryable": True})]
    await ask(page)
    await settled(page)
    await expect(page.get_by_role("alert")).to_have_text("Too many turns at once.")

    await page.get_by_role("button", name="Try again").click()
    await settled(page)

    await expect(page.locator(".turn")).to_have_count(1)
    await expect(page.get_by_role("alert")).to_have_count(0)


async def test_enter_sends_and_shift_enter_breaks_the_line(page: Page, chat: ScriptedChat) -> None:
    field = page.get_by_label("Your message")
    await field.press_sequentially("two")
    await field.press("Shift+Enter")
    await field.press_sequentially("lines")
    await field.press("Enter")
    await settled(page)

    assert chat.bodies[0]["message"] == "two\nlines"


async def test_enter_that_picks_a_word_of_an_input_method_sends_nothing(page: Page, chat: ScriptedChat) -> None:
    """FR77"""
    field = page.get_by_label("Your message")
    await field.focus()
    session = await page.context.new_cdp_session(page)
    await session.send("Input.imeSetComposition", {"text": "にほん", "selectionStart": 3, "selectionEnd": 3})
    await page.keyboard.press("Enter")
    await session.send("Input.insertText", {"text": "日本"})
    assert chat.bodies == []

    await page.keyboard.press("Enter")
    await settled(page)

    assert [body["message"] for body in chat.bodies] == ["日本"]


@pytest.mark.parametrize("told", [{"isComposing": True}, {"keyCode": 229}], ids=["in order", "after the composition"])
async def test_every_browser_s_way_to_pick_a_word_sends_nothing(page: Page, chat: ScriptedChat, told: Any) -> None:
    """FR77: some say Enter after the composition has ended, and only the old code tells."""
    field = page.get_by_label("Your message")
    await field.fill("日本")
    await field.dispatch_event("keydown", {"key": "Enter", "bubbles": True, **told})
    assert (chat.bodies, await field.input_value()) == ([], "日本")

    await field.press("Enter")
    await settled(page)
    assert [body["message"] for body in chat.bodies] == ["日本"]


async def test_a_message_that_is_too_long_is_not_sent(page: Page, chat: ScriptedChat) -> None:
    field = page.get_by_label("Your message")
    await field.fill("🌍" * 4_001)

    await expect(page.locator("#hint")).to_have_text("Too long by 1 characters.")
    await expect(page.get_by_role("button", name="Send")).to_be_disabled()
    await field.press("Enter")
    assert chat.bodies == []

    await field.fill("🌍" * 4_000)
    await field.press("Enter")
    await settled(page)
    assert len(chat.bodies[0]["message"]) == 4_000


async def test_a_starter_question_is_one_tap(page: Page, chat: ScriptedChat) -> None:
    """REQ-U11"""
    await page.get_by_role("button", name="What is a slice?").click()
    await settled(page)

    assert [body["message"] for body in chat.bodies] == ["What is a slice?"]
    await expect(page.locator("#welcome")).to_be_hidden()


async def test_new_chat_begins_another_conversation(page: Page, chat: ScriptedChat) -> None:
    """REQ-U6: hidden while empty, not to be used while a turn runs, and nothing of the old one is left."""
    new_chat = page.locator("#new-chat")
    await expect(new_chat).to_be_hidden()
    chat.hold = 30
    await ask(page)
    await expect(new_chat).to_be_disabled()
    chat.release()
    await settled(page)

    await new_chat.click()
    await expect(page.locator(".turn")).to_have_count(0)
    await page.reload()
    await page.wait_for_selector("body[data-ready]")
    await expect(page.locator("#welcome")).to_be_visible()
    await ask(page)
    await settled(page)

    assert len({body["conversation_id"] for body in chat.bodies}) == 2


async def test_the_page_says_where_a_turn_runs_and_that_answers_are_a_demo(page: Page, chat: ScriptedChat) -> None:
    chat.transport = "inline"
    await expect(page.locator("#disclosure")).to_contain_text("Demo answers")
    chat.hold = 30
    await ask(page)
    await expect(page.locator("#status")).to_have_text("Connected · inline run")
    chat.release()

    assert "demo · inline · 3 steps" in await settled(page)


async def test_going_offline_shows_and_coming_back_reads_on(page: Page, chat: ScriptedChat) -> None:
    chat.hold = 30
    await ask(page)
    await read_until(page, 30)

    await page.context.set_offline(True)
    await expect(page.locator("#status")).to_have_text("Offline. The answer goes on without you.")
    chat.cuts = [30]
    chat.release()
    await page.context.set_offline(False)

    assert "17 tokens" in await settled(page)


async def test_reading_further_up_is_not_interrupted(page: Page, chat: ScriptedChat) -> None:
    """REQ-U10"""
    chat.hold = 60
    await ask(page)
    await read_until(page, 60)
    await page.locator("#scroller").evaluate("node => { node.scrollTop = 0; }")
    latest = page.get_by_role("button", name="Latest")
    await expect(latest).to_be_visible()

    chat.release()
    await settled(page)
    assert await page.locator("#scroller").evaluate("node => node.scrollTop") == 0

    await latest.click()
    await expect(latest).to_be_hidden()
