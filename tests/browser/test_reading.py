"""Asking, reading, coming back: whatever happens on the way, the page ends as if nothing had happened."""

import pytest
from playwright.async_api import Page, expect

from tests.browser.asking import ask, read_until, settled, undisturbed
from tests.browser.scripted_chat import ScriptedChat

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_an_answer_shows_thoughts_tools_and_text(page: Page, chat: ScriptedChat) -> None:
    await ask(page)
    shown = await settled(page)

    assert await page.locator(".tool-name").all_inner_texts() == ["search_docs", "slow_count", "read_doc", "send_note"]
    assert await page.locator(".tool-state").all_inner_texts() == ["Done", "Done", "Done", "Failed"]
    assert "2512292042121000001" in shown  # FR41: every digit
    assert "The outbox is full." in shown
    assert "你好 🌍 naïve." in shown  # FR40
    assert "1 < 2 & <b>no</b> HTML." in shown  # REQ-U12
    assert "demo · durable workflow · 3 steps · 17 tokens" in shown
    await expect(page.locator(".text strong")).to_have_text("Intent")
    await expect(page.locator(".text td").first).to_have_text("worker")
    assert chat.bodies[0]["message"] == "How does a turn survive a crash?"


@pytest.mark.parametrize("index", [1, 5, 17, 50, 84])
async def test_a_reload_in_mid_turn_ends_as_if_undisturbed(page: Page, chat: ScriptedChat, index: int) -> None:
    """REQ-E5, LAW-P2: what was kept is read on from its own index."""
    expected = await undisturbed(page)
    chat.hold = index
    await ask(page)
    await read_until(page, index)

    await page.reload()
    await read_until(page, index)
    chat.release()

    assert await settled(page) == expected
    assert chat.asked.count(f"GET /api/chat/run.h1/stream?startIndex={index}") == 1


async def test_a_tab_without_room_for_messages_replays_from_the_start(page: Page, chat: ScriptedChat) -> None:
    expected = await undisturbed(page)
    await page.evaluate(
        """() => {
            const setItem = Storage.prototype.setItem;
            Storage.prototype.setItem = function (key, value) {
                if (value.length > 700) throw new DOMException("full", "QuotaExceededError");
                setItem.call(this, key, value);
            };
        }"""
    )
    chat.hold = 50
    await ask(page)
    await read_until(page, 50)

    await page.reload()
    await read_until(page, 50)
    chat.release()

    assert await settled(page) == expected
    assert chat.asked.count("GET /api/chat/run.h1/stream?startIndex=0") == 1


async def test_a_reload_before_the_first_byte_asks_once(page: Page, chat: ScriptedChat) -> None:
    expected = await undisturbed(page)
    chat.refusals = [(503, {"kind": "unavailable", "message": "Not now.", "retryable": True})] * 2
    chat.bodies.clear()
    await ask(page)
    await expect(page.locator("#status")).to_have_text("Reconnecting…")

    await page.reload()

    assert await settled(page) == expected
    assert len({body["run_id"] for body in chat.bodies}) == 1


async def test_cuts_are_healed_without_a_trace(page: Page, chat: ScriptedChat) -> None:
    """FR02, FR08: the text is neither doubled nor shortened by cuts at these frames."""
    expected = await undisturbed(page)
    chat.cuts = [3, 12, 13, 40, 84, len(chat.frames) - 1]

    await ask(page)

    assert await settled(page) == expected


async def test_a_gap_is_read_again(page: Page, chat: ScriptedChat) -> None:
    """FR02: nothing is appended behind a hole."""
    expected = await undisturbed(page)
    chat.gaps = {30: 45}

    await ask(page)

    assert await settled(page) == expected
    assert "GET /api/chat/run.h1/stream?startIndex=30" in chat.asked


async def test_an_expired_handle_is_renewed_and_nothing_is_lost(page: Page, chat: ScriptedChat) -> None:
    """FR44: the owner's session gets a new handle, once, and reading goes on."""
    expected = await undisturbed(page)
    chat.hold = 30
    await ask(page)
    await read_until(page, 30)
    expired = {"kind": "unauthenticated", "message": "The token has expired.", "retryable": False, "code": "expired"}
    chat.refusals = [(401, expired)]

    await page.reload()
    chat.release()

    assert await settled(page) == expected
    conversation = chat.bodies[-1]["conversation_id"]
    assert chat.asked.count(f"GET /api/chat/{conversation}/stream") == 1


async def test_a_lost_log_shows_the_stored_answer(page: Page, chat: ScriptedChat) -> None:
    """REQ-E9: wait, read the last messages, show the answer."""
    chat.hold = 30
    await ask(page)
    await read_until(page, 30)
    parts = [{"type": "text", "text": "As it was stored.", "state": "done"}]
    start = chat.frames[0]["messageId"]
    chat.stored = [{"id": start, "role": "assistant", "parts": parts}]
    chat.refusals = [(410, {"kind": "gone", "message": "The log is gone.", "retryable": False})]

    await page.clock.install()
    await page.reload()
    await page.wait_for_selector('#status[data-state="connecting"]')
    await page.clock.run_for(6_000)

    assert "As it was stored." in await settled(page)
