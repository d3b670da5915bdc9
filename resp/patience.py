"""Waiting for a server by what this process could have heard of it.

A clock alone does not tell a server that is away from a process that had no time to read its answer. So a wait is cut into
pieces, and each counts once however long it took: between two of them the loop has read what there was to read.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

Value = TypeVar("Value")

PIECES: Final = 10


def _none() -> object:
    """No sign but the work's own end."""
    return None


async def while_heard(work: Coroutine[Any, Any, Value], seconds: float, sign: Callable[[], object] = _none) -> Value:
    """The work's result, or what it raises. A change of `sign` is a sign of life, and the wait begins anew.

    Raises TimeoutError after `seconds` of the loop's own time without one; the work is cancelled then.
    """
    task = asyncio.ensure_future(work)
    try:
        last, silent = sign(), 0
        while silent < PIECES:
            await asyncio.wait((task,), timeout=seconds / PIECES)
            if task.done():
                return task.result()
            now = sign()
            last, silent = now, silent + 1 if now == last else 0
        raise TimeoutError
    finally:
        task.cancel()
