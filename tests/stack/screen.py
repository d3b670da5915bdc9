"""What parts and their supervisor say, for a test in the same loop to wait for."""

import asyncio
import io


class Screen(io.StringIO):
    """Output that can be waited for."""

    def __init__(self) -> None:
        super().__init__()
        self._written = asyncio.Event()

    def write(self, text: str) -> int:
        self._written.set()
        return super().write(text)

    async def shows(self, text: str, times: int = 1) -> None:
        while self.getvalue().count(text) < times:
            self._written.clear()
            await self._written.wait()
