"""Plain text search over Markdown pages, by part. Pure: works on the texts it is given.

A page is cut at its headings. Ranking is BM25 over crudely stemmed words, a word in a heading counting three times; equal
scores keep the order of the pages, so the same question always gives the same answer.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

_HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*$")
_FENCE = re.compile(r"\s*(```|~~~)")
_WORD = re.compile(r"\w+")
_SENTENCE = re.compile(r"(?<=[.!?:])\s+|\n+(?=[-*|>`]|\d+\.|\n)")  # or an item of a list, a row of a table
_SUFFIXES = ("ing", "ed", "es", "s")
_STEM = 4  # letters that must be left of a word
_COMMON = frozenset(
    _WORD.findall(
        "a about after all an and any are as at be but by can do does for from has have how i if in into is it its me my no"
        " not of on or so tell than that the their then there this to was we what when where which who why will with you"
    )
)
_SATURATION = 1.2  # of a repeated word, and how much length counts: BM25's usual values
_LENGTH = 0.75
SNIPPET = 240  # characters


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A page from one heading to the next. `number` counts from 1 within its page."""

    path: str
    number: int
    heading: str
    text: str


@dataclass(frozen=True, slots=True)
class Hit:
    """A part that was found, and the piece of it that fits best."""

    part: Part
    snippet: str


class Docs:
    """A set of pages that can be searched and read. Only what was given exists: a path is a key, not a file."""

    def __init__(self, pages: Mapping[str, str]) -> None:
        self.pages = {path: parts_of(path, text) for path, text in pages.items()}
        self._parts = [part for parts in self.pages.values() for part in parts]
        self._words = [Counter(_stems(part.text) + 3 * _stems(part.heading)) for part in self._parts]
        self._found_in = Counter(word for words in self._words for word in words)
        self._mean = sum(words.total() for words in self._words) / max(1, len(self._words))

    def search(self, query: str, limit: int) -> list[Hit]:
        """The best parts for a question, best first; none where no word of it occurs."""
        wanted = set(_stems(query))
        scored = [(self._score(words, wanted), part) for words, part in zip(self._words, self._parts, strict=True)]
        best = sorted((one for one in scored if one[0] > 0), key=lambda one: -one[0])[:limit]
        return [Hit(part, _snippet(part.text, wanted)) for _, part in best]

    def _score(self, words: Counter[str], wanted: set[str]) -> float:
        damping = _SATURATION * (1 - _LENGTH + _LENGTH * words.total() / max(1.0, self._mean))
        return sum(
            math.log(1 + len(self._parts) / self._found_in[word]) * words[word] / (words[word] + damping)
            for word in sorted(wanted)  # in order: the sum of floats must not depend on a set's
            if words[word]
        )


def parts_of(path: str, text: str) -> list[Part]:
    """The parts of a page. A `#` inside a code fence is no heading."""
    found: list[tuple[str, list[str]]] = [("", [])]
    fenced = False
    for line in text.splitlines():
        fenced ^= bool(_FENCE.match(line))
        heading = None if fenced else _HEADING.match(line)
        if heading:
            found.append((heading[2], []))
        else:
            found[-1][1].append(line)
    bodies = [(heading, "\n".join(lines).strip()) for heading, lines in found]
    kept = [(heading, body) for heading, body in bodies if body]
    return [
        Part(path=path, number=number, heading=heading, text=body)
        for number, (heading, body) in enumerate(kept, start=1)
    ]


def _stems(text: str) -> list[str]:
    return [_stem(word) for word in _WORD.findall(text.casefold()) if word not in _COMMON]


def _stem(word: str) -> str:
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= _STEM:
            word = word.removesuffix(suffix)
            break
    return word.removesuffix("e") if len(word) > _STEM else word


def _snippet(text: str, wanted: set[str]) -> str:
    best = max(_SENTENCE.split(text), key=lambda sentence: len(wanted & set(_stems(sentence))))
    best = " ".join(best.split())
    return best if len(best) <= SNIPPET else best[:SNIPPET].rpartition(" ")[0] + " …"
