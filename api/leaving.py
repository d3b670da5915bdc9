"""A reader that leaves a run which waits for a person.

Clients of the AI SDK send what a person decided or answered once the response has ended, and not before: held open as others
are, they would wait for him while he waits for them. How the turn goes on is the response to what they send.

No response ends so before a frame went out: some clients take nothing at all for a reason to ask again at once.
"""

import re
from collections.abc import Awaitable, Callable
from typing import Final

from api.ports import Place
from frames.viewer import Viewer
from protocol.errors import StoreUnavailable

LOOK_SECONDS: Final = 0.25  # between two looks at whether a run that has asked somebody has come to rest
_ASKING: Final = re.compile(rb"^event: (start-step|tool-approval-request|data-question)$", re.MULTILINE)


class Left(Exception):
    """The run waits, and its reader has all that was said before. End the response cleanly."""


class LeavingReader:
    """An `api.stream.FrameReader` whose `next` raises Left."""

    def __init__(self, viewer: Viewer, waits: Callable[[], Awaitable[bool]]) -> None:
        self._viewer = viewer
        self._waits = waits
        self._asked = False  # somebody was asked, and the next step has not begun
        self._midway = viewer.index > 0  # perhaps after the frames that asked

    @property
    def ended(self) -> bool:
        return self._viewer.ended

    async def next(self, timeout: float) -> bytes | None:
        chunk = await self._viewer.next(LOOK_SECONDS if self._asked else timeout)
        while chunk is None and self._asked and not self.ended and timeout > LOOK_SECONDS:
            if await self._waits():
                raise Left
            timeout -= LOOK_SECONDS
            chunk = await self._viewer.next(LOOK_SECONDS)
        if chunk:
            told = _ASKING.findall(chunk)
            self._asked = told[-1] != b"start-step" if told else self._asked or self._midway
            self._midway = False
        return chunk

    def close(self) -> None:
        self._viewer.close()


def leaving(place: Place, run_id: str, viewer: Viewer) -> LeavingReader:
    """The reader of this viewer of a run."""

    async def waits() -> bool:
        try:
            view = await place.store.view(run_id)
        except StoreUnavailable:
            return False
        return view is not None and view.state == "parked" and not view.unread and view.next == viewer.index

    return LeavingReader(viewer, waits)
