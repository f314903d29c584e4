"""Texts of assay watch, and the summary of its series."""

from __future__ import annotations

import io

import msgspec
import numpy as np
import pytest

from assay.stats.changes.control_charts import ControlRange
from assay.stats.changes.step_change import Settings, StepChange
from assay.watch.model import Cost, HangLine, WatchEnd, outcome_of
from assay.watch.series import StepSeries
from assay.watch.steps import Step
from assay.watch.words import change_sentence, percent, print_summary, status, times

NORMAL = ControlRange(100, 0.0981, 0.101, 0.104)


def series(values, of=None, name="lines"):
    found = StepSeries(name, Settings())
    for i, value in enumerate(values, 1):
        found.add(Step(float(value), 1, i * 10**8, i if of else None, of))
    return found


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [(0.0981, 0.104, "98.1 to 104 ms"), (0.5, 1.5, "500 ms to 1.50 s"), (2.0, 2.0, "2.00 s")],
)
def test_ranges_name_their_unit_once(low, high, text):
    assert times(ControlRange(9, low, low, high)) == text


@pytest.mark.parametrize(
    ("ratio", "text"), [(1.5, "+50%"), (1.034, "+3.4%"), (0.8, "−20%"), (float("inf"), "far more")]
)
def test_changes_in_percent(ratio, text):
    assert percent(ratio) == text


@pytest.mark.parametrize(
    ("kind", "more", "words"),
    [
        ("slower", {}, "take longer since step 1,408: 151 ms, +50%; normally 98.1 to 104 ms"),
        ("drifting", {"slope": 0.0002}, "longer and longer since step 1,408: 151 ms, +50%"),
        ("drifting", {"slope": 0.0002}, "+2% in 100 steps"),
        ("unsteady", {"spread": 2.04}, "less steady since step 1,408: spread 2.0 times"),
        ("faster", {}, "are faster since step 1,408"),
        ("recovered", {}, "back in their normal range since step 1,408"),
        ("settled", {}, "stay at 151 ms (+50%)"),
    ],
)
def test_every_kind_of_change_has_its_sentence(kind, more, words):
    said = change_sentence(StepChange(kind, 1412, 1408, 0.151, 1.5, NORMAL, **more), "")
    assert said.startswith("step 1,412: ")
    assert words in said


def test_the_line_of_status():
    assert status(None, 0, 3.0, 17) == "assay: no step yet, 17 lines, 3.00 s"
    few = status(series([0.1] * 5), 0, 0.0, None)
    assert few == "assay: step 5 · 100 ms · learning"
    rng = np.random.default_rng(1)
    found = series(0.1 + 0.001 * rng.standard_normal(60), of=100)
    said = status(found, 2, 0.0, None)
    assert said.startswith("assay: step 60 of 100 · ")
    assert "normally 9" in said and "2 alarms" in said
    assert said.endswith("s left")
    assert found.left() == pytest.approx(4.0, rel=0.02)


def test_short_steps_are_combined():
    found = series(np.full(5000, 0.0001) + 1e-6 * np.arange(5000) % 7e-6)
    assert found.steps == 5000
    summary = found.summary()
    assert summary.grouped > 10
    assert len(found.values) == pytest.approx(5000 / summary.grouped, abs=2)
    assert summary.mean == pytest.approx(0.000103, rel=0.02)


def test_long_steps_are_given_separately():
    found = series([0.05] * 30)
    assert len(found.values) == 30 and found.summary().grouped == 1


def test_the_begin_of_a_step_and_the_last_rank():
    found = series([0.1] * 50)
    assert found.began(31) == 30 * 10**8
    for step in range(20):
        found.came_last(3 if step % 4 else 1, 0.02)
    assert found.latest(1) == (3, 0.75)
    together = series([0.1] * 50)
    for _ in range(20):
        together.came_last(2, 0.0001)
    assert together.latest(1) is None


def summary_text(found: StepSeries, **more: object) -> str:
    """What is printed at the end of a watch of 18 s."""
    from rich.console import Console

    text = io.StringIO()
    sources = [found.summary()]
    end = WatchEnd(
        schema=1, command=["x"], host="h", utc=0.0, wall=18.0, exit=0, signal=None,
        outcome=outcome_of(sources, 0), sources=sources, changes=[], hangs=[],
        cost=Cost(0.1, 0.002), notes=[],
    )  # fmt: skip
    print_summary(msgspec.structs.replace(end, **more), Console(file=text, width=120))
    return text.getvalue()


def test_too_few_steps_raise_no_alarm_but_do_not_mean_that_there_was_none():
    said = summary_text(series([0.25] * 12 + [15.25]))
    assert "13 of the 20 steps needed: nothing could be noticed but 45.8 s without one." in said
    assert "1 step far longer than the others (15.2 s at most)." in said
    assert "alarm" not in said
    assert "Watched for 18.0 s; watching took" in said
    assert series([0.25] * 13).summary().needed == 20
    assert outcome_of([series([0.25] * 13).summary()], 0) == "too few steps"
    assert outcome_of([series([0.25] * 13).summary()], 1) == "alarm"
    assert outcome_of([series([0.25] * 40).summary()], 0) == "ok"
    assert outcome_of([], 0) == "nothing seen"
    # Short steps are grouped, so that more are needed.
    short = series([0.001] * 13)
    assert (short.summary().steps, short.summary().needed) == (13, 100)
    assert short.overdue(5.1) and not short.overdue(4.9)
    hang = HangLine("lines", 13, 3.2, 10.2, False, "no step for 10.2 s")
    assert "1 alarm in 18.0 s" in summary_text(series([0.25] * 13), hangs=[hang])


def test_enough_steps_without_a_change_have_no_alarms():
    said = summary_text(series([0.25] * 40))
    assert "needed" not in said and "No alarms in 18.0 s" in said


def test_the_summary_is_a_table_and_sentences():
    from rich.console import Console

    values = np.full(400, 0.1) + 0.0005 * np.random.default_rng(2).standard_normal(400)
    values[99::100] = 1.0
    found = series(values)
    text = io.StringIO()
    end = WatchEnd(
        schema=1,
        command=["x"],
        host="h",
        utc=0.0,
        wall=45.0,
        exit=0,
        signal=None,
        outcome="ok",
        sources=[found.summary()],
        changes=[],
        hangs=[],
        cost=Cost(0.1, 0.002),
        notes=["A note [with brackets]."],
    )
    print_summary(end, Console(file=text, width=120))
    said = text.getvalue()
    assert "4 steps far longer than the others (1.00 s at most), one every 100 steps." in said
    assert "400 steps like these take" in said
    assert "A note [with brackets]." in said
    assert "No alarms in 45.0 s; watching took 0.200% of a CPU." in said
