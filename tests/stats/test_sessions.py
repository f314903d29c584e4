"""Sessions: recorded ones count; without records, pauses separate them."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np
import pytest

from assay.model.replication import Replication
from assay.questions.common.question import Measured
from assay.questions.common.topics import find_topics
from assay.questions.steadiness.factors.findings import FactorFindings
from assay.questions.steadiness.factors.topic import TOPIC as FACTORS
from assay.questions.steadiness.variation.topic import TOPIC as VARIATION
from assay.records.model import RunData
from assay.stats.repeats.repeats import Repeats, joined, repeats_of
from assay.stats.repeats.session_labels import PAUSE, sessions
from repeats_builder import make_repeats
from variation_builder import normal, npb, run_of


def at(times: list[float], session: list[int] | None = None, run: str = "r") -> Repeats:
    utc = np.array(times)
    repeats = make_repeats(np.ones(utc.size), {}, utc=utc, run=(run,) * utc.size)
    return (
        repeats if session is None else replace(repeats, session=np.array(session, dtype=np.int64))
    )


def factors_of(run: RunData) -> FactorFindings | None:
    return find_topics((VARIATION, FACTORS), Measured(run, []))["factors"]


def test_pauses_separate_launches_without_recorded_sessions() -> None:
    minute = [60.0 * k for k in range(5)]
    later = [1e4 + t for t in minute]
    assert sessions([at([*minute, *later])]).tolist() == [1] * 5 + [2] * 5
    # A pause is long compared with the usual one: of launches an hour apart none is.
    assert sessions([at([3600.0 * k for k in range(9)])]).tolist() == [1] * 9
    assert sessions([at([0.0, 1.0, 2.0, 3.0 + PAUSE])]).tolist() == [1, 1, 1, 2]


def test_cells_are_separated_together() -> None:
    """A cell that paused while another was measured has no session of its own."""
    one, other = at([0.0, 100.0, 900.0, 1000.0]), at([200.0, 400.0, 600.0, 800.0])
    assert sessions([one]).tolist() == [1, 1, 2, 2]
    assert sessions([one, other]).tolist() == [1] * 8


def test_recorded_sessions_count_whatever_the_pauses() -> None:
    # Two sessions without a pause between them, and a pause in the middle of the second.
    times = [0.0, 10.0, 20.0, 30.0, 9000.0]
    assert sessions([at(times, [0, 0, 1, 1, 1])]).tolist() == [1, 1, 2, 2, 2]


def test_sessions_of_two_runs_are_not_the_same() -> None:
    one = at([0.0, 10.0, 1000.0, 1010.0], [0, 0, 1, 1], run="a")
    other = at([5000.0, 5010.0, 6000.0], [0, 0, 1], run="b")
    assert sessions([one, other]).tolist() == [1, 1, 2, 2, 3, 3, 4]
    # The earliest in time is the first, wherever it is in the list.
    assert sessions([other, one]).tolist() == [3, 3, 4, 1, 1, 2, 2]


def test_runs_with_and_without_sessions() -> None:
    recorded = at([0.0, 10.0, 20.0, 30.0], [0, 0, 1, 1], run="a")
    plain = at([5000.0, 5010.0, 9000.0, 9010.0], run="b")
    assert sessions([recorded, plain]).tolist() == [1, 1, 2, 2, 3, 3, 4, 4]
    (both,) = joined([recorded, plain])
    assert both.session.tolist() == [0, 0, 1, 1, -1, -1, -1, -1]
    assert sessions([both]).tolist() == [1, 1, 2, 2, 3, 3, 4, 4]


def in_sessions(values: np.ndarray, rule: Replication):
    """A run of one cell, a launch every ten seconds, under a rule of replication."""
    run = run_of([(npb("ep"), values)])
    plan = msgspec.structs.replace(run.manifest.plan, replication=rule)
    measurements = tuple(replace(m, replicate=place) for place, m in enumerate(run.measurements))
    manifest = msgspec.structs.replace(run.manifest, plan=plan)
    return replace(run, measurements=measurements, manifest=manifest)


def test_a_run_gives_the_session_of_each_replicate() -> None:
    values = normal(1, 60, 0.002) * np.where(np.arange(60) < 30, 1.0, 1.03)
    rule = Replication(every=300.0, sessions=2, max_launches=30)
    run = in_sessions(values, rule)
    (repeats,) = repeats_of(run)
    assert repeats.session.tolist() == [0] * 30 + [1] * 30
    # No pause separates them: ten seconds between all launches.
    found = {each.name: each for each in factors_of(run).comparisons}
    assert found["EP, session"].location.verdict == "differs"
    assert found["EP, session"].location.pairs[0].ratio == pytest.approx(1.03, rel=0.003)
    # The same run without sessions has no such factor.
    assert factors_of(in_sessions(values, Replication(max_launches=60))) is None
