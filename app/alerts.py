"""Alerts: a line in the log and, where an address is set, a POST, when a turn ended as no turn should (REQ-Y17).

A turn that was cut by the token limit, or interrupted. Sent after `finish`, beside the work, once and without a retry: whoever
must not miss one reads the log or the metric `turnkeep_turns_ended_total`.
"""

import asyncio
import logging
from types import TracebackType
from typing import Final, Self

import httpx2

logger = logging.getLogger(__name__)

_SECONDS: Final = 5.0
_MOST: Final = 100  # under way at once; an outage that ends a thousand turns must not open a thousand connections


class Alerts:
    """Tells of ends. `url` "" leaves it at the log. Left, it waits for what is under way, which is bounded."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._under_way: set[asyncio.Task[None]] = set()
        self._client: httpx2.AsyncClient | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._under_way:
            await asyncio.wait(self._under_way)
        if self._client is not None:
            await self._client.aclose()

    def ended(self, run_id: str, status: str, kind: str) -> None:
        """A turn has ended. Returns at once and never raises."""
        if kind != "max_tokens" and status != "interrupted":
            return
        logger.warning("alert: a turn ended early", extra={"run_id": run_id, "status": status, "kind": kind})
        if not self._url or len(self._under_way) >= _MOST:
            return
        task = asyncio.get_running_loop().create_task(self._post({"run_id": run_id, "status": status, "kind": kind}))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _post(self, alert: dict[str, str]) -> None:
        if self._client is None:
            self._client = httpx2.AsyncClient(timeout=_SECONDS)
        try:
            async with asyncio.timeout(_SECONDS):
                response = await self._client.post(self._url, json=alert)
        except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError) as error:
            logger.warning("an alert was not delivered: %s", type(error).__name__, extra={"run_id": alert["run_id"]})
            return
        if response.is_error:
            logger.warning("an alert was refused: %d", response.status_code, extra={"run_id": alert["run_id"]})
