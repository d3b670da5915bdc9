"""Metrics: what a scraper reads after a few things happened."""

import asyncio
import re
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from app.alerts import Alerts
from app.metrics import Metrics
from app.observe import CountedRunner, HttpMeter, RunObserver
from checkpoints.port import Grip, Order
from dispatch.decide import Decision
from dispatch.switch import Switch
from protocol.errors import ErrorKind
from protocol.turn import SliceResult
from runner.port import Job


def lines(metrics: Metrics, *names: str) -> list[str]:
    text = metrics.exposition().decode()
    return [line for line in text.splitlines() if line.startswith(names) and "_created" not in line]


def test_a_turns_way_is_counted() -> None:
    metrics = Metrics()
    observer = RunObserver(metrics, Alerts(""))
    observer.claimed(Grip("r", 1, "owner"), "workflow")
    observer.appended(3, 0.8)
    observer.handed_over("r", "budget")
    observer.claimed(Grip("r", 2, "owner"), "workflow")
    observer.ended("r", "completed", "")
    observer.model_failed("r", "rate_limited")
    observer.trouble("r", "the records do not answer")

    assert lines(
        metrics,
        "turnkeep_claims",
        "turnkeep_hand",
        "turnkeep_turns_ended",
        "turnkeep_frames",
        "turnkeep_model",
        "turnkeep_trouble",
    ) == [
        'turnkeep_claims_total{transport="workflow"} 2.0',
        'turnkeep_turns_ended_total{kind="",status="completed"} 1.0',
        'turnkeep_hand_overs_total{reason="budget"} 1.0',
        'turnkeep_model_failures_total{kind="rate_limited"} 1.0',
        "turnkeep_trouble_total 1.0",
        "turnkeep_frames_appended_total 3.0",
    ]
    assert 'turnkeep_append_seconds_bucket{le="0.001"} 1.0' in lines(metrics, "turnkeep_append")


def test_readers_answers_and_the_switch_show() -> None:
    metrics = Metrics()
    meter = HttpMeter(metrics)
    meter.readers(5)
    meter.answered("chat", 200, 12)
    metrics.switched(Switch(percent=10, allow=frozenset({"ann", "bob"})))
    metrics.watch_breaker(lambda: True)
    metrics.late(2)
    metrics.decided(Decision(transport="inline", reason="not_in_canary"))

    assert lines(
        metrics,
        "turnkeep_readers",
        "turnkeep_breaker",
        "turnkeep_late",
        "turnkeep_switch",
        "turnkeep_decisions",
        "turnkeep_answer_seconds_count",
    ) == [
        "turnkeep_readers 5.0",
        'turnkeep_answer_seconds_count{route="chat",status="200"} 1.0',
        'turnkeep_decisions_total{reason="not_in_canary",transport="inline"} 1.0',
        "turnkeep_switch_percent 10.0",
        "turnkeep_breaker_open 1.0",
        "turnkeep_late_answers 2.0",
        "turnkeep_switch_allowed 2.0",
    ]


def test_the_page_for_operators_names_every_metric() -> None:
    page = (Path(__file__).parents[2] / "docs" / "operations.md").read_text()
    families = text_string_to_metric_families(Metrics().exposition().decode())
    served = {family.name for family in families if not family.name.endswith("_created")}

    assert {name.removesuffix("_total") for name in re.findall(r"`(turnkeep_\w+)", page)} == served


async def test_a_turn_in_progress_is_seen_while_it_runs() -> None:
    metrics, release = Metrics(), asyncio.Event()
    turn = asyncio.create_task(CountedRunner(Waiting(release), metrics).run(JOB, asyncio.Event()))
    await asyncio.sleep(0)

    assert lines(metrics, "turnkeep_turns_running") == ['turnkeep_turns_running{transport="inline"} 1.0']
    release.set()
    await turn

    assert lines(metrics, "turnkeep_turns_running") == ['turnkeep_turns_running{transport="inline"} 0.0']


JOB = Job(run_id="r", order=Order(1, 0, 1), mode="inline")


class Waiting:
    """A runner whose turns end when they are released."""

    def __init__(self, release: asyncio.Event) -> None:
        self._release = release

    async def run(self, job: Job, drain: asyncio.Event) -> SliceResult:
        await self._release.wait()
        return SliceResult(outcome="ended")

    async def fail(self, run_id: str, order: Order, kind: ErrorKind) -> SliceResult:
        raise NotImplementedError
