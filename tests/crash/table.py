"""The figures of a suite run as a table: what was killed, where, how often, what went wrong, how long it was silent."""

from collections import defaultdict
from collections.abc import Sequence

from bench.figures import percentile
from tests.crash.round import Result


def table(results: Sequence[Result]) -> str:
    """Markdown."""
    rows = defaultdict(list)
    for result in results:
        rows[result.case.hit, _kind(result)].append(result)
        rows[result.case.hit, "all"].append(result)
    lines = ["| killed | where | turns | violations | silence p50 | p99 |", "|---|---|---:|---:|---:|---:|"]
    lines += [_line(hit, where, found) for (hit, where), found in sorted(rows.items())]
    return "\n".join([*lines, _line("**all**", "", results)])


def _kind(result: Result) -> str:
    point = result.case.place.point
    return {"append": "frame", "ledger": "ledger", "open": "opening", "release": "hand-over"}.get(
        point.partition(".")[0], point.partition(":")[0].partition(".")[0]
    )


def _line(hit: str, where: str, results: Sequence[Result]) -> str:
    silences = sorted(result.silence for result in results if result.silence is not None)
    middle, worst = (f"{percentile(silences, share):.2f} s" if silences else "" for share in (50, 99))
    wrong = sum(bool(result.wrong) for result in results)
    return f"| {hit} | {where} | {len(results)} | {wrong} | {middle} | {worst} |"
