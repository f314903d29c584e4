"""Decisions with baselines that don't know time yet, and on fleets whose speed moves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from assay.check.baseline.coverage import TOO_FEW
from assay.check.baseline.model import APART, Baseline, SessionShift
from assay.check.baseline.samples import series_samples, tells_usual
from assay.check.components import ALONE
from assay.check.decision.decide import decide
from assay.check.decision.model import Given, NodeState
from assay.check.decision.words import LONGEST
from assay.check.model import CheckRecord, CheckVerdict, NodeFinding, Reading
from check_baselines import baseline, busy, normal_table, reading
from checks_in_turn import Measured, checks_in_turn

NAMES = ("stream", "latency", "product")
MINUTES = {"sessions": [SessionShift(0.0, 180.0, 0.0, 0.0)], "movement": [], "moving": True}


def moving(sessions: int = 20, deviation: float = 0.04) -> Baseline:
    """The speed of its fleet moves by 4% from session to session."""
    found = [SessionShift(43200.0 * n, 43300.0 * n, 0.0, 0.0) for n in range(sessions)]
    changes = {"sessions": found, "movement": normal_table(deviation), "moving": True}
    return baseline(*NAMES, changes=changes)


def all_of(slower: float = 0.0, **changes: Any) -> dict[str, Reading]:
    found = {name: reading(name) for name in NAMES}
    found["stream"] = reading("stream", slower, **changes)
    return found


def run_checks(
    slowness: Sequence[float], usual: Baseline, apart: float, **changes: Any
) -> tuple[list[CheckVerdict], list[CheckRecord], NodeState]:
    """Checks of a node at this distance; each is as slow in all rounds."""

    def check(slower: float) -> Measured:
        return lambda _, __: all_of(slower, **changes)

    return checks_in_turn(map(check, slowness), usual, NAMES, apart)


# ---- too few sessions ----------------------------------------------------------------------------


def test_a_slow_reading_is_undecided_until_the_baseline_knows_time() -> None:
    usual = baseline(*NAMES, changes=MINUTES)
    verdicts, records, _ = run_checks([0.3] * 30, usual, 4000.0)
    assert {each.outcome for each in verdicts} == {"undecided"}
    assert verdicts[0].reason == (
        "memory bandwidth 30% slow; too few sessions to decide (1 of 8, days 1 of 3)"
    )
    assert all(len(each.reason) <= LONGEST for each in verdicts)
    # What was seen is noted, and is learned from.
    assert all(each.slow == ["stream"] and tells_usual(each) for each in records)
    assert series_samples([], {"n1": records})["stream"].checks == 30


def test_a_usual_reading_is_healthy_all_the_same() -> None:
    verdicts, *_ = run_checks([0.0] * 5, baseline(*NAMES, changes=MINUTES), 4000.0)
    assert {each.outcome for each in verdicts} == {"healthy"}


def test_what_was_seen_before_doesnt_drain_later_by_itself() -> None:
    """Evidence begins with a baseline that knows time."""
    *_, state = run_checks([0.3] * 30, baseline(*NAMES, changes=MINUTES), 4000.0)
    assert max(state.series["stream"].evidence) == 0.0


@pytest.mark.parametrize("usual", [baseline(*NAMES, changes=MINUTES), moving()])
def test_facts_wrong_results_and_lost_components_drain_at_once(usual: Baseline) -> None:
    finding = NodeFinding(about="memory.total", value="x", expected="y", text="memory: x")
    by_fact = decide(Given(baseline=usual, components=NAMES, findings=[finding]))
    assert isinstance(by_fact, CheckVerdict) and by_fact.outcome == "unhealthy"
    wrong, *_ = run_checks([0.0], usual, 0.0, verified=False)
    assert wrong[0].outcome == "unhealthy" and "wrong result" in wrong[0].reason
    lost, *_ = run_checks([0.0], usual, 0.0, values=[], failed="no memory")
    assert lost[0].outcome == "unhealthy" and "no value" in lost[0].reason


def test_other_reasons_for_no_decision_are_not_learned_from() -> None:
    usual = baseline(*NAMES, changes=MINUTES)
    _, records, _ = run_checks([0.3], usual, 0.0, quiet=busy())
    assert records[0].outcome == "undecided" and not tells_usual(records[0])
    mixed = msgspec.structs.replace(records[0], reason=f"x; {TOO_FEW} (+1 other reason)")
    assert not tells_usual(mixed)
    assert not tells_usual(CheckRecord(utc=0.0, outcome="unhealthy", seconds=1.0, reason=TOO_FEW))


def test_one_component_may_know_time_and_another_not() -> None:
    """Such as messages, which were recorded later."""
    usual = baseline(*NAMES)
    parts = dict(usual.components)
    parts["latency"] = msgspec.structs.replace(parts["latency"], **MINUTES)
    verdicts, *_ = run_checks([0.3] * 3, msgspec.structs.replace(usual, components=parts), 4000.0)
    assert verdicts[-1].outcome == "unhealthy"


# ---- a fleet that moves --------------------------------------------------------------------------


def test_all_checks_of_a_session_count_once() -> None:
    """A node that is slow for two hours looks like a fleet that is."""
    verdicts, _, state = run_checks([0.2] * 60, moving(), APART / 61.0)
    assert "unhealthy" not in {each.outcome for each in verdicts}
    assert state.series["stream"].counted == 1e9


def test_a_node_that_stays_slow_is_drained_after_many_sessions() -> None:
    verdicts, *_ = run_checks([0.2] * 40, moving(), APART + 60.0)
    outcomes = [each.outcome for each in verdicts]
    first = outcomes.index("unhealthy")
    # No session is known to be rarer than 1 in 21, so that each adds little.
    assert 10 <= first <= 25
    with_more, *_ = run_checks([0.2] * 40, moving(sessions=100), APART + 60.0)
    assert [each.outcome for each in with_more].index("unhealthy") < first


def test_two_slow_sessions_are_not_enough_however_slow_they_are() -> None:
    verdicts, *_ = run_checks([0.0] * 10 + [0.9] * 3 + [0.0] * 10, moving(), APART + 60.0)
    assert "unhealthy" not in {each.outcome for each in verdicts}


def test_a_steady_fleet_drains_at_the_second_check() -> None:
    verdicts, *_ = run_checks([0.3] * 2, baseline(*NAMES), 60.0)
    assert [each.outcome for each in verdicts] == ["healthy", "unhealthy"]


def test_own_levels_are_means_of_sessions() -> None:
    *_, state = run_checks([0.0] * 30, moving(), 60.0)
    assert state.series["stream"].checks == 1
    *_, state = run_checks([0.0] * 30, baseline(*NAMES), 60.0)
    assert state.series["stream"].checks == 30
    assert math.isfinite(state.series["stream"].level)


def test_a_clock_that_jumps_back_doesnt_stop_the_evidence() -> None:
    *_, state = run_checks([0.0] * 3, moving(), -APART)
    assert state.series["stream"].counted == 1e9 - 2 * APART


assert set(NAMES) <= set(ALONE)
