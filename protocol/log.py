"""Pieces of a run's log as they travel: entries, pages and what an append pushes to readers."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """`count` finished frames as one piece of bytes; `end` is the index after the last."""

    end: int
    count: int
    payload: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A piece of a log. The first entry contains the asked index, and may begin before it.

    `next` is the log's end when it was read, `first` the oldest index kept, `ended` that nothing will follow `next`.
    """

    entries: tuple[Entry, ...]
    next: int
    first: int
    ended: bool


@dataclass(frozen=True, slots=True)
class Pushed:
    """What one append published. `count` 0 with `ended` says that nothing follows `end`."""

    run_id: str
    end: int
    count: int
    payload: bytes
    ended: bool = False
