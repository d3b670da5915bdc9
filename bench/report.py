"""What a run of the bench found: rows with their verdicts, checks of correctness, as a table and as JSON.

A row is judged by its median, and a miss is told, not failed: a timing depends on the machine. A check is right or wrong.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Literal

from bench.figures import Spread, ratio, spread

Verdict = Literal["ok", "miss", ""]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """Where a row has to be: its ratio to the base line, or its own figure."""

    limit: float
    of: Literal["ratio", "value"] = "ratio"
    at_least: bool = False

    def keeps(self, figure: float) -> bool:
        return figure >= self.limit if self.at_least else figure <= self.limit

    def __str__(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {self.limit:g}{'x' if self.of == 'ratio' else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One measure. `target` holds for this version, `later` is where it has to end."""

    name: str
    unit: str
    ours: Spread
    base: Spread | None = None
    times: Spread | None = None  # ours over the base line's
    target: Bound | None = None
    later: Bound | None = None

    def judge(self, bound: Bound | None) -> Verdict:
        figure = self.times if bound is not None and bound.of == "ratio" else self.ours
        if bound is None or figure is None:
            return ""
        return "ok" if bound.keeps(figure.median) else "miss"


def compared(
    name: str,
    unit: str,
    rounds: tuple[Sequence[float], Sequence[float]],
    *,
    target: Bound | None = None,
    later: Bound | None = None,
) -> Row:
    """A row of rounds taken in pairs: ours, and the base line's."""
    ours, base = rounds
    return Row(
        name=name,
        unit=unit,
        ours=spread(ours),
        base=spread(base),
        times=ratio(ours, base),
        target=target,
        later=later,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Something that must hold on every machine."""

    name: str
    holds: bool
    detail: str


@dataclass(slots=True, kw_only=True)
class Section:
    """Rows with one base line."""

    title: str
    base: str
    rows: list[Row] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def as_text(sections: Sequence[Section]) -> str:
    """An aligned table."""
    lines = [_HEAD, *(cells for section in sections for cells in _cells(section))]
    widths = [max(len(cells[at]) for cells in lines if len(cells) > 1) for at in range(len(_HEAD))]
    return "\n".join(_aligned(cells, widths) for cells in lines)


def as_json(sections: Sequence[Section], about: Mapping[str, str]) -> str:
    """Everything, for a program to read."""
    found = [
        asdict(section)
        | {"rows": [asdict(row) | {"verdict": row.judge(row.target), "later_verdict": row.judge(row.later)} for row in section.rows]}
        for section in sections
    ]  # fmt: skip
    return json.dumps({"about": dict(about), "sections": found}, indent=1)


_HEAD = ("", "unit", "ours", "base line", "ratio", "target", "", "later", "")


def _cells(section: Section) -> list[tuple[str, ...]]:
    lines: list[tuple[str, ...]] = [("",), (f"{section.title} (base line: {section.base})",)]
    for row in section.rows:
        judged = [
            text
            for bound in (row.target, row.later)
            for text in (str(bound) if bound else "", row.judge(bound))
        ]  # fmt: skip
        lines.append((f"  {row.name}", row.unit, _shown(row.ours), _shown(row.base), _shown(row.times, "x"), *judged))
    lines += [
        (f"  check: {check.name}: {'holds' if check.holds else 'FAILS'}, {check.detail}",) for check in section.checks
    ]
    lines += [(f"  note: {note}",) for note in section.notes]
    return lines


def _shown(figure: Spread | None, unit: str = "") -> str:
    if figure is None:
        return ""
    if figure.low == figure.high:
        return f"{_short(figure.median)}{unit}"
    return f"{_short(figure.median)}{unit} ({_short(figure.low)}…{_short(figure.high)})"


def _short(number: float) -> str:
    """Three digits that count."""
    digits = 0 if abs(number) >= 100 else 1 if abs(number) >= 10 else 2 if abs(number) >= 1 else 3
    return f"{number:,.{digits}f}"


def _aligned(cells: tuple[str, ...], widths: list[int]) -> str:
    if len(cells) == 1:  # a heading, a check or a note runs over all columns
        return cells[0]
    first, *others = cells
    return "  ".join([first.ljust(widths[0]), *map(str.rjust, others, widths[1:])]).rstrip()
