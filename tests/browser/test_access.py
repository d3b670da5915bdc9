"""What a person needs who sees little, hears the page or uses the keyboard only."""

import pytest
from playwright.async_api import Page, expect

from tests.browser.asking import ask, read_until, settled
from tests.browser.scripted_chat import ScriptedChat

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_everything_to_press_is_large_enough(page: Page, chat: ScriptedChat) -> None:
    """REQ-U18: 44 by 44."""
    await ask(page)
    await settled(page)
    await page.locator(".turn summary").first.wait_for()

    small = await page.evaluate(
        """() => [...document.querySelectorAll("button, summary, textarea")]
            .map((node) => [node.textContent || node.id, node.getBoundingClientRect()])
            .filter(([, box]) => box.height > 0 && (box.height < 44 || box.width < 44))
            .map(([name]) => name)"""
    )

    assert small == []


async def test_nothing_is_wider_than_a_small_phone(page: Page, chat: ScriptedChat) -> None:
    await page.set_viewport_size({"width": 320, "height": 600})
    await ask(page, "x" * 300)
    await settled(page)

    assert await page.evaluate("document.documentElement.scrollWidth") <= 320
    assert await page.evaluate("document.getElementById('scroller').scrollWidth") <= 320


async def test_the_screen_reader_is_told_what_changes_and_not_every_word(page: Page, chat: ScriptedChat) -> None:
    """REQ-U18: one polite region, and the growing text is not in it."""
    heard = await page.evaluate_handle(
        """() => {
            const heard = [];
            const region = document.getElementById("announcer");
            new MutationObserver(() => heard.push(region.textContent)).observe(region, { childList: true });
            return heard;
        }"""
    )
    await ask(page)
    await settled(page)
    await expect(page.locator("#announcer")).to_have_text("Answer complete.")

    assert set(await heard.json_value()) <= {
        "Using search_docs.",
        "Using slow_count.",
        "Using read_doc.",
        "Using send_note.",
        "Answer complete.",
    }
    assert await page.locator("[aria-live]").count() == 1


async def test_dots_show_after_a_second_of_waiting_and_not_before(page: Page, chat: ScriptedChat) -> None:
    """REQ-U8"""
    chat.hold = 4
    await ask(page)
    await read_until(page, 4)

    delay = await page.locator(".waiting").evaluate("node => getComputedStyle(node).animationDelay")
    await expect(page.locator(".waiting")).to_be_visible()
    chat.release()
    await settled(page)

    assert delay == "1s"
    await expect(page.locator(".waiting")).to_be_hidden()


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_text_stands_out_from_its_ground(page: Page, chat: ScriptedChat, scheme: str) -> None:
    """WCAG AA: 4.5 to 1 for text, in both colour schemes."""
    await page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    pairs = [("ink", "ground"), ("ink", "asked"), ("faint", "ground"), ("faint", "raised"), ("faint", "sunken")]
    pairs += [("on-accent", "accent"), ("accent", "ground"), ("bad", "bad-ground"), ("bad", "raised")]
    pairs += [("warm", "raised"), ("good", "raised")]

    ratios = await page.evaluate(
        """(pairs) => {
            const root = getComputedStyle(document.documentElement);
            const luminance = (name) => {
                const hex = root.getPropertyValue("--" + name).trim();
                const light = (at) => {
                    const share = parseInt(hex.slice(at, at + 2), 16) / 255;
                    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
                };
                return 0.2126 * light(1) + 0.7152 * light(3) + 0.0722 * light(5);
            };
            return pairs.map(([one, other]) => {
                const [high, low] = [luminance(one), luminance(other)].sort((a, b) => b - a);
                return [one, other, (high + 0.05) / (low + 0.05)];
            });
        }""",
        pairs,
    )

    assert [pair for pair in ratios if pair[2] < 4.5] == []
