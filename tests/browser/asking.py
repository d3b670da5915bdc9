"""What tests do on the page, in a person's words. All waits are for something to show, none is for time."""

from playwright.async_api import Page

QUESTION = "How does a turn survive a crash?"


async def ask(page: Page, text: str = QUESTION) -> None:
    await page.get_by_label("Your message").fill(text)
    await page.get_by_role("button", name="Send").click()


async def read_until(page: Page, index: int) -> None:
    """Wait until the frames before this index are shown, and none after."""
    await page.wait_for_selector(f'.turn[data-next="{index}"]')


async def settled(page: Page) -> str:
    """Wait until the last turn has ended, and return all that the thread shows."""
    await page.wait_for_selector('.turn:last-child[data-state="ended"]')
    return await page.locator("#thread").inner_text()


async def undisturbed(page: Page) -> str:
    """The whole thread of a turn that nothing disturbs; afterwards the conversation is empty again."""
    await ask(page)
    shown = await settled(page)
    await page.get_by_role("button", name="New chat").click()
    return shown
