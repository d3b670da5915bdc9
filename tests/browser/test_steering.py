"""Saying something while an answer comes, and what becomes of it; stopping stays within reach."""

from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.browser.asking import QUESTION, ask, read_until, settled
from tests.browser.scripted_chat import ScriptedChat
from tests.browser.test_files import PICTURE
from tests.client_cases import fold_case

pytestmark = pytest.mark.asyncio(loop_scope="session")

SHOWN = 8  # frames until the answer so far is shown: "Once upon a time."
HEARD = 10  # the frame that shows what was said


async def answering(page: Page, chat: ScriptedChat) -> None:
    """The page while an answer comes that will go on by nothing that is said to it."""
    chat.frames = fold_case("steering").frames
    chat.hold, chat.awaited = SHOWN, 100
    await ask(page)
    await read_until(page, SHOWN)


def field(page: Page) -> Any:
    return page.get_by_label("Your message")


def button(page: Page, name: str) -> Any:
    return page.get_by_role("button", name=name, exact=True)


def waiting(page: Page) -> Any:
    """What was said and not heard yet."""
    return page.get_by_role("list", name="Not heard yet").get_by_role("listitem")


async def steer(page: Page, text: str) -> None:
    await field(page).fill(text)
    await field(page).press("Enter")


async def heard(page: Page, chat: ScriptedChat) -> None:
    """Let the model hear what was said last, and everything go on."""
    chat.frames[HEARD] = {**chat.frames[HEARD], "id": chat.inputs[-1]["id"]}
    chat.release()


async def test_what_is_written_while_an_answer_comes_is_said_to_it(page: Page, chat: ScriptedChat) -> None:
    """[W5] REQ-U9: the button sends what there is to send; the words show at once, and once, where they were heard."""
    await answering(page, chat)
    await expect(button(page, "Stop")).to_have_count(1)
    await field(page).fill("Shorter!")
    await expect(button(page, "Stop")).to_have_count(1)
    await button(page, "Send").click()
    await expect(waiting(page)).to_have_text(["Shorter!Sent. The assistant hears it with its next step."])
    await expect(page.locator("#announcer")).to_have_text("Sent to the assistant.")
    await expect(button(page, "Send")).to_have_count(0)

    await heard(page, chat)
    shown = await settled(page)

    assert [(said["type"], said["text"]) for said in chat.inputs] == [("steer", "Shorter!")]
    assert shown.index("Once upon a time.") < shown.index("Shorter!") < shown.index("the end.")
    assert shown.count("Shorter!") == 1
    assert len(chat.bodies) == 1
    await page.reload()
    assert await settled(page) == shown


async def test_what_did_not_arrive_before_a_reload_is_sent_after_it(page: Page, chat: ScriptedChat) -> None:
    """FR02: under the same id, so that it is said once."""
    await answering(page, chat)
    chat.deaf = 503
    await steer(page, "Shorter!")
    await expect(waiting(page)).to_have_text(["Shorter!Sending…"])

    chat.deaf = 0
    await page.reload()
    await read_until(page, SHOWN)
    await expect(waiting(page)).to_contain_text(["Shorter!"])
    await page.wait_for_function("() => document.querySelector('#status').dataset.state === 'live'")
    await heard(page, chat)

    assert (await settled(page)).count("Shorter!") == 1
    assert len({said["id"] for said in chat.inputs}) == 1


async def test_what_comes_after_the_end_is_the_next_question(page: Page, chat: ScriptedChat) -> None:
    """[W6]: nothing is lost where the answer was complete meanwhile; what was said after it is said to the next answer."""
    await answering(page, chat)
    del chat.frames[HEARD]
    chat.deaf = 409
    await steer(page, "And then?")
    await steer(page, "In one word.")
    await expect(waiting(page).first).to_have_text("And then?This comes next, when the answer is complete.")
    await expect(waiting(page)).to_have_count(2)
    chat.release()
    await expect(page.locator(".turn")).to_have_count(3)
    await settled(page)

    assert [body["message"] for body in chat.bodies] == [QUESTION, "And then?", "In one word."]
    await expect(waiting(page)).to_have_count(0)


@pytest.mark.parametrize("how", ["button", "Escape"])
async def test_an_answer_can_be_stopped_with_words_in_the_box(page: Page, chat: ScriptedChat, how: str) -> None:
    """REQ-U9: what was written stays, and so does what was said and not heard."""
    await answering(page, chat)
    await steer(page, "Shorter!")
    await expect(waiting(page)).to_have_count(1)
    await field(page).fill("Draft")
    if how == "button":
        await button(page, "Stop").press("Enter")
    else:
        await field(page).press("Escape")
    await settled(page)

    await expect(field(page)).to_have_value("Shorter!\n\nDraft")
    await expect(field(page)).to_be_focused()
    await expect(page.locator("#hint")).to_have_text("The answer ended before this was heard.")
    assert "POST /api/chat/run.h1/stop" in chat.asked
    assert len(chat.bodies) == 1


async def test_an_input_method_neither_sends_nor_stops(page: Page, chat: ScriptedChat) -> None:
    """FR77: Enter picks a word and Escape drops it, also while an answer comes; the answer goes on."""
    await answering(page, chat)
    await field(page).fill("日本")
    for told in ({"isComposing": True}, {"keyCode": 229}):
        for key in ("Enter", "Escape"):
            await field(page).dispatch_event("keydown", {"key": key, "bubbles": True, **told})
    assert (chat.inputs, [line for line in chat.asked if line.endswith("/stop")]) == ([], [])

    await field(page).press("Enter")
    await expect(waiting(page)).to_have_count(1)
    await heard(page, chat)
    await settled(page)
    assert [said["text"] for said in chat.inputs] == ["日本"]


async def test_a_second_click_on_send_stops_nothing(page: Page, chat: ScriptedChat) -> None:
    await answering(page, chat)
    await field(page).fill("Shorter!")
    await page.locator("#send").dblclick()
    await expect(waiting(page)).to_have_count(1)
    await heard(page, chat)
    await settled(page)

    assert (len(chat.inputs), [line for line in chat.asked if line.endswith("/stop")]) == (1, [])


async def test_files_wait_for_the_next_question(page: Page, chat: ScriptedChat) -> None:
    """A run under way takes words only: the page says so, and sends nothing without its file."""
    await answering(page, chat)
    await page.locator("#picker").set_input_files([PICTURE])
    await field(page).fill("What is it?")
    await expect(button(page, "Send")).to_be_disabled()
    await expect(page.locator("#hint")).to_have_text("Files go with your next question, when this answer is complete.")
    await field(page).press("Enter")
    chat.release()
    await settled(page)
    await button(page, "Send").click()
    await settled(page)

    assert chat.inputs == []
    assert [len(body.get("files", [])) for body in chat.bodies] == [0, 1]


async def test_the_form_has_room_on_a_small_phone_and_names_its_buttons(page: Page, chat: ScriptedChat) -> None:
    """REQ-U18: 44 by 44, and both buttons can be told apart without seeing them."""
    await page.set_viewport_size({"width": 320, "height": 600})
    await answering(page, chat)
    await steer(page, "x" * 200)
    await field(page).fill("Shorter!")

    buttons = page.locator("#form").get_by_role("button")
    names = await buttons.evaluate_all("all => all.map((one) => one.ariaLabel ?? one.textContent)")
    boxes = [await one.bounding_box() for one in await buttons.all()]
    typing = await field(page).bounding_box()
    assert names == ["Stop", "Send"]
    assert all(box is not None and min(box["width"], box["height"]) >= 44 for box in boxes)
    assert typing is not None
    assert typing["width"] >= 120
    assert await page.evaluate("document.getElementById('scroller').scrollWidth") <= 320
    await expect(button(page, "Stop")).to_have_attribute("aria-keyshortcuts", "Escape")
