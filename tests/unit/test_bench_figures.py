"""The statistics of the benches. A timing is never a test; how timings are summed up is one."""

import json
from pathlib import Path

import pytest

from bench import page
from bench.figures import Spread, percentile, ratio, spread
from bench.recovery import Measured
from bench.report import Bound, Check, Row, Section, Verdict, as_json, as_text, compared


@pytest.mark.parametrize(("percent", "value"), [(0, 1), (1, 1), (50, 50), (50.5, 51), (99, 99), (100, 100)])
def test_a_percentile_is_a_value_that_was_measured(percent: float, value: float) -> None:
    assert percentile([*range(100, 0, -1)], percent) == value


def test_one_value_is_every_percentile() -> None:
    assert [percentile([7.0], percent) for percent in (0, 50, 99)] == [7.0, 7.0, 7.0]


def test_nothing_measured_has_no_figures() -> None:
    with pytest.raises(ValueError, match="no values"):
        percentile([], 50)
    with pytest.raises(ValueError, match="no rounds"):
        spread([])


def test_rounds_give_their_median_and_extremes() -> None:
    assert spread([3.0, 1.0, 2.0]) == Spread(2.0, 1.0, 3.0)
    assert spread([1.0, 2.0]) == Spread(1.5, 1.0, 2.0)


def test_a_ratio_is_taken_within_a_round() -> None:
    # The second round met a busy machine: both sides doubled, and nothing is concluded from that.
    assert ratio([2.0, 4.0], [1.0, 2.0]) == Spread(2.0, 2.0, 2.0)


def test_rounds_that_do_not_pair_up_are_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        ratio([1.0, 2.0], [1.0])


@pytest.mark.parametrize(
    ("bound", "verdict"),
    [
        (None, ""),
        (Bound(limit=2), "ok"),
        (Bound(limit=1.9), "miss"),
        (Bound(limit=4, of="value"), "ok"),
        (Bound(limit=3, of="value"), "miss"),
        (Bound(limit=2, at_least=True), "ok"),
        (Bound(limit=2.1, at_least=True), "miss"),
    ],
)
def test_a_row_is_judged_by_its_median(bound: Bound | None, verdict: Verdict) -> None:
    row = compared("append", "µs", ([4.0, 1.0, 9.0], [2.0, 1.0, 3.0]))

    assert row.judge(bound) == verdict


def test_a_ratio_without_a_base_line_has_no_verdict() -> None:
    assert Row(name="memory", unit="KB", ours=spread([1.0])).judge(Bound(limit=1)) == ""


def found() -> Section:
    return Section(
        title="Append",
        base="XADD",
        rows=[
            compared(
                "round trip", "µs", ([150.0, 160.0], [100.0, 100.0]), target=Bound(limit=2), later=Bound(limit=1.5)
            ),
            Row(name="memory", unit="KB", ours=spread([12.0]), target=Bound(limit=32, of="value")),
        ],
        checks=[Check(name="no gap", holds=True, detail="1,000 frames")],
        notes=["two cores"],
    )


def test_a_table_is_aligned_and_tells_verdicts() -> None:
    table = """\
              unit           ours  base line              ratio  target       later

Append (base line: XADD)
  round trip    µs  155 (150…160)        100  1.55x (1.50…1.60)    ≤ 2x  ok  ≤ 1.5x  miss
  memory        KB           12.0                                  ≤ 32  ok
  check: no gap: holds, 1,000 frames
  note: two cores"""

    assert as_text([found()]) == table


def test_the_json_holds_what_the_table_shows() -> None:
    report = json.loads(as_json([found()], {"cores": "2"}))

    section = report["sections"][0]
    assert report["about"] == {"cores": "2"}
    assert [(row["name"], row["verdict"], row["later_verdict"]) for row in section["rows"]] == [
        ("round trip", "ok", "miss"),
        ("memory", "ok", ""),
    ]
    assert section["rows"][0]["times"] == {"median": 1.55, "low": 1.5, "high": 1.6}
    assert section["checks"] == [{"name": "no gap", "holds": True, "detail": "1,000 frames"}]


@pytest.mark.parametrize(("longest", "verdict"), [(900.0, "ok"), (1_000.0, "ok"), (1_001.0, "miss")])
def test_a_recovery_is_judged_by_its_percentiles(longest: float, verdict: str) -> None:
    measured = Measured(what="killed", times=2, values=[1.0, 2.0, longest], bounds={50: 2, 100: 1_000})

    assert measured.row == [
        "killed",
        "2",
        "3",
        "2",
        f"{longest:,.0f}",
        f"{longest:,.0f}",
        "p50 ≤ 2, longest ≤ 1,000",
        verdict,
    ]


def test_a_table_is_put_in_the_place_of_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "PAGE", tmp_path / "page.md")
    page.PAGE.write_text("# Page\n<!-- a -->\nold\n<!-- end of a -->\n<!-- b -->\n<!-- end of b -->\n")

    page.record("a", "| new |\n")

    assert page.PAGE.read_text() == "# Page\n<!-- a -->\n| new |\n<!-- end of a -->\n<!-- b -->\n<!-- end of b -->\n"
