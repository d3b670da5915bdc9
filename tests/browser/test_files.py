"""Attaching files on the page."""

from base64 import b64decode

import pytest
from playwright.async_api import FilePayload, Page, expect

from tests.browser.asking import settled
from tests.browser.scripted_chat import ScriptedChat

pytestmark = pytest.mark.asyncio(loop_scope="session")

PNG = b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
PICTURE = FilePayload(name="dot.png", mimeType="image/png", buffer=PNG)
PROGRAM = FilePayload(name="tool.exe", mimeType="application/octet-stream", buffer=b"MZ")


async def test_a_picked_file_goes_with_the_next_message(page: Page, chat: ScriptedChat) -> None:
    """REQ-A11: it is sent at once, shown before and after, and only once."""
    await page.locator("#picker").set_input_files([PICTURE, PROGRAM])
    await expect(page.locator("#files .file")).to_have_count(2)
    await expect(page.locator("#files img")).to_have_count(1)
    await expect(page.get_by_role("alert")).to_have_text("tool.exe: A file is an image, a PDF or text.")

    await page.get_by_label("Your message").fill("What is it?")
    await page.get_by_role("button", name="Send").click()
    await settled(page)

    part = {"type": "file", "mediaType": "image/png", "filename": "dot.png", "url": "/api/files/file_1"}
    assert chat.bodies[0]["files"] == [part]
    await expect(page.locator("#files")).to_be_hidden()
    shown = page.get_by_label("Attached files")
    await expect(shown.get_by_role("link", name="dot.png")).to_have_attribute("href", "/api/files/file_1")
    await page.reload()
    await settled(page)
    await expect(shown.get_by_role("link", name="dot.png")).to_be_visible()


async def test_a_file_can_be_taken_back_or_dropped_on_the_page(page: Page, chat: ScriptedChat) -> None:
    await page.locator("#picker").set_input_files([PICTURE])
    await page.get_by_role("button", name="Remove dot.png").click()
    await expect(page.locator("#files")).to_be_hidden()
    await page.evaluate(DROP)
    await expect(page.locator("#files .file-name")).to_have_text("dropped.txt")

    await page.get_by_label("Your message").fill("And this?")
    await page.get_by_role("button", name="Send").click()
    await settled(page)

    assert [part["filename"] for part in chat.bodies[0]["files"]] == ["dropped.txt"]


DROP = """() => {
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File(["words"], "dropped.txt", { type: "text/plain" }));
  document.body.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
}"""
