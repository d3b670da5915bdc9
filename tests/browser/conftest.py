"""A headless Chromium for the session, and for each test a fresh page before a scripted chat."""

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio
from playwright.async_api import Browser, ConsoleMessage, Page, ViewportSize, async_playwright

from api.pages import Pages
from tests.browser.scripted_chat import ScriptedChat
from tests.client_cases import fold_case
from tests.loopback import Loopback

WEB = Path(__file__).parents[2] / "web"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
ARGUMENTS += ["--disable-component-update", "--disable-sync"]
PHONE = ViewportSize(width=390, height=844)
EXPECTED = "Failed to load resource"  # the browser's own word for a refusal or a cut, which tests make on purpose


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    chromium = shutil.which("chromium")
    assert chromium is not None, "the page is tested with Debian's chromium, which is not there"
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        yield browser
        await browser.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def pages() -> Pages:
    return Pages(WEB)


@pytest_asyncio.fixture(loop_scope="session")
async def chat(pages: Pages) -> ScriptedChat:
    return ScriptedChat(pages, fold_case("long").frames)


@pytest_asyncio.fixture(loop_scope="session")
async def page(browser: Browser, chat: ScriptedChat) -> AsyncIterator[Page]:
    """The page, opened and ready. A script error or a refusal by the content security policy fails the test."""
    complaints: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and EXPECTED not in message.text:
            complaints.append(message.text)

    async with Loopback(chat.respond) as loopback:
        context = await browser.new_context(viewport=PHONE)
        page = await context.new_page()
        page.set_default_timeout(20_000)  # for anything: the machine may be busy
        page.on("console", note)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        await page.goto(loopback.url)
        await page.wait_for_selector("body[data-ready]")
        yield page
        await context.close()
    assert complaints == []
