"""docs/benchmarks.md, where benches write their latest figures: each between marks of its own."""

import os
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

PAGE: Final = Path(__file__).parents[1] / "docs" / "benchmarks.md"
LOAD_BEFORE: Final = os.getloadavg()[0]  # of the machine, before a bench adds its own


def about() -> dict[str, str]:
    """When and where figures were taken."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{os.cpu_count()} x {platform.machine()}, {platform.system()}",
        "Python": platform.python_version(),
        "load before": f"{LOAD_BEFORE:.1f}",
    }


def spelled(facts: Mapping[str, str]) -> str:
    """One line."""
    return ", ".join(f"{name}: {value}" for name, value in facts.items())


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]], facts: Mapping[str, str]) -> str:
    """A table, and below it when and where it was taken, with further facts."""
    lines = [head, ["---"] * len(head), *rows]
    table = "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
    return f"{table}\n{spelled({**about(), **facts})}\n"


def record(name: str, text: str) -> None:
    """Put the text between the marks of that name, in place of what stands there."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    before, _, rest = PAGE.read_text().partition(begin)
    PAGE.write_text(f"{before}{begin}\n{text}{end}{rest.partition(end)[2]}")
