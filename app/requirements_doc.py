"""docs/requirements.md: every requirement, when it is due, and the tests that quote its id.

The list is docs/requirements.toml. A test quotes an id in its docstring, beside an assert or above itself: `REQ-B22`, `FR13`,
`LAW-P2`, `C5`. Python tests are found by their syntax tree, JavaScript ones by the line `test("…")` above.
"""

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HEAD = """# Requirements and the tests that show them

Written by `python -m app requirements` from `docs/requirements.toml` and the ids that tests quote; a test compares.
"""
NOW = "clients"  # this milestone and those before it must be shown by now

_QUOTED = re.compile(r"\bREQ-((?:DF|[A-Z])\d+)\b|\b(FR\d\d)\b|\bLAW-(P\d)\b|(?<![-\w])(C\d{1,2})\b")
_SECTIONS = ("promises", "rules", "field_reports")
_JS_TEST = re.compile(r"""^\s*(?:test|it)\(\s*["'`](.+?)["'`]""")


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """One entry of the list. `rule` tells C5 the rule from C5 the requirement."""

    id: str
    what: str
    due: str
    untested: str
    tests: tuple[str, ...]
    rule: bool

    @property
    def key(self) -> str:
        return f"rule {self.id}" if self.rule else self.id


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the list with its heading."""

    title: str
    requirements: tuple[Requirement, ...]


def parts(root: Path) -> tuple[Part, ...]:
    """The list, in reading order."""
    document = tomllib.loads((root / "docs" / "requirements.toml").read_text())
    lettered = [
        _part(f"{letter}. {table['title']}", table, rule=False) for letter, table in document["requirements"].items()
    ]
    others = [_part(document[name]["title"], document[name], rule=name == "rules") for name in _SECTIONS]
    return (*others, *lettered)


def quotes(root: Path) -> dict[str, list[str]]:
    """Key of a requirement → the tests that quote it, as `folder/file: test`."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in _test_files(root):
        name = str(path.relative_to(root / "tests"))
        for key, test in _quoted_in(path):
            found[key].add(f"{name}: {test}" if test else name)
    return {key: sorted(places) for key, places in found.items()}


def document(root: Path) -> str:
    """The page."""
    shown, now = quotes(root), _due_by_now(root)
    lines = [HEAD]
    for part in parts(root):
        lines += [f"## {part.title}", "", "| id | what | due | shown by |", "|---|---|---|---|"]
        lines += [_row(one, sorted({*shown.get(one.key, ()), *one.tests}), now) for one in part.requirements]
        lines.append("")
    return "\n".join(lines)


def unshown(root: Path) -> list[str]:
    """Ids that are due, have no test, and no reason for it."""
    shown = quotes(root)
    every = (one for part in parts(root) for one in part.requirements)
    now = _due_by_now(root)
    return [one.id for one in every if one.due in now and not (one.untested or one.tests or one.key in shown)]


def unknown(root: Path) -> list[str]:
    """Tests that the list names and that are not there."""
    known = {f"{path.relative_to(root / 'tests')}: {name}" for path in _test_files(root) for _, _, name in _spans(path)}
    return [test for part in parts(root) for one in part.requirements for test in one.tests if test not in known]


def _due_by_now(root: Path) -> frozenset[str]:
    """The milestones up to this one; the list has them in order."""
    milestones = [*tomllib.loads((root / "docs" / "requirements.toml").read_text())["milestones"]]
    return frozenset(milestones[: milestones.index(NOW) + 1])


def _part(title: str, table: dict[str, Any], *, rule: bool) -> Part:
    entries = ((name, entry) for name, entry in table.items() if name not in {"title", "due"})
    return Part(title, tuple(_requirement(name, entry, str(table["due"]), rule=rule) for name, entry in entries))


def _requirement(name: str, entry: str | dict[str, Any], due: str, *, rule: bool) -> Requirement:
    fields = {"what": entry} if isinstance(entry, str) else entry
    return Requirement(
        id=name,
        what=fields["what"],
        due=fields.get("due", due),
        untested=fields.get("untested", ""),
        tests=tuple(fields.get("tests", ())),
        rule=rule,
    )


def _row(one: Requirement, tests: list[str], now: frozenset[str]) -> str:
    due = "" if one.due in now else f"not yet: {one.due}"
    shown = "<br>".join(f"`{test}`" for test in tests) or (f"no test: {one.untested}" if one.untested else "")
    return f"| {one.id} | {one.what} | {due} | {shown} |"


def _test_files(root: Path) -> list[Path]:
    tests = root / "tests"
    found = [*tests.rglob("test_*.py"), *tests.rglob("*.test.mjs")]
    return sorted(path for path in found if "node_modules" not in path.parts)


def _spans(path: Path) -> list[tuple[int, int, str]]:
    """First line, last line and name of each test."""
    text = path.read_text()
    return _python_spans(text) if path.suffix == ".py" else _javascript_spans(text)


def _quoted_in(path: Path) -> Iterator[tuple[str, str]]:
    spans = _spans(path)
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        for requirement, report, promise, rule in _QUOTED.findall(line):
            test = next((name for first, last, name in spans if first <= number <= last), "")
            yield (f"rule {rule}" if rule else requirement or report or promise), test


def _python_spans(text: str) -> list[tuple[int, int, str]]:
    """Decorators and comments right above a test belong to it."""
    spans, before = [], 0
    for node in ast.parse(text).body:
        last = node.end_lineno or node.lineno
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            spans.append((before + 1, last, node.name))
        before = last
    return spans


def _javascript_spans(text: str) -> list[tuple[int, int, str]]:
    lines = text.splitlines()
    starts = [(number, match[1]) for number, line in enumerate(lines, start=1) if (match := _JS_TEST.match(line))]
    ends = [number - 1 for number, _ in starts[1:]] + [len(lines)]
    return [(start, end, name) for (start, name), end in zip(starts, ends, strict=True)]
