"""Short answers with something beside their text, as frames."""

from typing import Any

from playwright.async_api import Page

from tests.browser.asking import ask, settled
from tests.browser.scripted_chat import ScriptedChat
from tests.client_cases import Frame

ID = "msg_0f5c9e2a7b1d4c3e8a6f001122334455"
SAID: list[Frame] = [
    {"type": "text-start", "id": "t1"},
    {"type": "text-delta", "id": "t1", "delta": "So it is."},
    {"type": "text-end", "id": "t1"},
]


def data(name: str, value: Any, **more: Any) -> Frame:
    return {"type": f"data-{name}", "data": value, **more}


def turn(*inside: Frame, after: tuple[Frame, ...] = ()) -> list[Frame]:
    """The frames of a turn of one step."""
    begun: list[Frame] = [{"type": "start", "messageId": ID}, {"type": "start-step"}]
    return [*begun, *inside, {"type": "finish-step"}, *after, {"type": "finish", "finishReason": "stop"}]


async def shown(page: Page, chat: ScriptedChat, frames: list[Frame]) -> None:
    chat.frames = frames
    await ask(page)
    await settled(page)
