"""How sessions of checks differ, what a new one may add, and how updates follow."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from assay.arrays import Floats
from assay.check.baseline.costs import cost_of
from assay.check.baseline.coverage import missing_time
from assay.check.baseline.exceedance import GRID, exceeded_with
from assay.check.baseline.model import (
    APART,
    DAYS,
    SESSIONS,
    Baseline,
    ComponentBaseline,
    SessionShift,
)
from assay.check.baseline.movement import movement_table, moves
from assay.check.baseline.samples import SeriesSample
from assay.check.baseline.sessions import centred, merged, sessions_of
from assay.check.baseline.update import update
from assay.check.model import CheckRecord
from check_baselines import USUAL, baseline

HOUR, DAY = 3600.0, 86400.0


def sample_of(node: list[int], utc: list[float], costs: list[float]) -> tuple[SeriesSample, Floats]:
    found = np.array(costs)
    hosts = tuple(f"n{number}" for number in range(max(node) + 1))
    rows = found[:, None]
    return SeriesSample(hosts, np.array(node), np.array(utc), rows, rows), found


def shifts(*values: float, error: float = 0.0) -> list[SessionShift]:
    return [
        SessionShift(12 * HOUR * number, 12 * HOUR * number + 60.0, value, error)
        for number, value in enumerate(values)
    ]


# ---- sessions ------------------------------------------------------------------------------------


def test_sessions_are_separated_from_nodes_that_were_not_in_all() -> None:
    """Each of 40 nodes was in half of the sessions, and slow nodes were together in some."""
    rng = np.random.default_rng(5)
    planted = np.array([0.0, 0.04, -0.03, 0.01, 0.08, -0.02])
    own = 0.05 * rng.standard_normal(40)
    node, utc, costs = [], [], []
    for each in range(40):
        for session in rng.permutation(6)[:3]:
            node.append(each)
            utc.append(5 * HOUR * session + 60.0 * rng.random())
            costs.append(own[each] + planted[session] + 0.001 * rng.standard_normal())
    found = sessions_of(*sample_of(node, utc, costs))
    assert [each.shift for each in found.shifts] == pytest.approx(
        (planted - planted.mean()).tolist(), abs=0.002
    )
    assert all(0.0 < each.error < 0.001 for each in found.shifts)
    assert found.of_check.std() > 0.02


def test_nodes_that_were_in_one_session_each_tell_nothing_about_time() -> None:
    node = list(range(12))
    utc = [5 * HOUR * number for number in node]
    found = sessions_of(*sample_of(node, utc, [0.01 * number for number in node]))
    assert len(found.shifts) == 1
    assert np.all(found.of_check == 0.0)


def test_the_largest_group_of_sessions_with_common_nodes_counts() -> None:
    node = [0, 0, 1, 1, 1]
    utc = [0.0, 5 * HOUR, 10 * HOUR, 15 * HOUR, 20 * HOUR]
    found = sessions_of(*sample_of(node, utc, [0.0, 0.5, 0.01, 0.02, 0.03]))
    assert [each.begin for each in found.shifts] == utc[2:]


def test_checks_within_two_hours_of_the_first_are_one_session() -> None:
    utc = [0.0, APART - 1.0, APART + 1.0, APART + 2.0]
    found = sessions_of(*sample_of([0, 0, 0, 0], utc, [0.0, 0.0, 0.1, 0.1]))
    assert [(each.begin, each.end) for each in found.shifts] == [
        (0.0, APART - 1.0),
        (APART + 1.0, APART + 2.0),
    ]


def test_what_one_node_does_counts_in_full() -> None:
    """With few nodes no part of a deviation is put down to chance."""
    costs = [0.0, 0.03, -0.03, 0.0]
    found = sessions_of(*sample_of([0] * 4, [5 * HOUR * number for number in range(4)], costs))
    assert [each.shift for each in found.shifts] == pytest.approx(costs)
    assert {each.error for each in found.shifts} == {0.0}
    # Two nodes that move in opposite directions don't cancel.
    node, utc = [0, 1] * 4, [5 * HOUR * (number // 2) for number in range(8)]
    both = [value for pair in zip(costs, costs, strict=True) for value in (pair[0], -pair[1])]
    found = sessions_of(*sample_of(node, utc, both))
    assert sorted(abs(each.shift) for each in found.shifts) == pytest.approx([0.0, 0.0, 0.03, 0.03])


def test_the_usual_check_of_few_nodes_may_be_faster_than_the_mean_session() -> None:
    costs = [0.0, 0.0, 0.0, 0.0, 0.1]
    found = sessions_of(*sample_of([0] * 5, [5 * HOUR * number for number in range(5)], costs))
    assert np.mean([each.shift for each in found.shifts]) == pytest.approx(0.02)


def test_earlier_sessions_stay_unless_they_are_measured_again() -> None:
    earlier = shifts(0.1, 0.2, 0.3)
    new = [SessionShift(12 * HOUR + 600.0, 12 * HOUR + 700.0, 0.0, 0.0)]
    assert [each.shift for each in merged(new, earlier)] == [0.1, 0.0, 0.3]
    assert len(merged(shifts(*[0.0] * 300), [])) == 200


# ---- what a new session may add ------------------------------------------------------------------


@pytest.mark.parametrize("count", [2, 3, 5, 10, 40])
def test_without_errors_it_is_students_distribution(count: int) -> None:
    rng = np.random.default_rng(count)
    values = 0.01 * rng.standard_normal(count)
    values -= values.mean()
    table = movement_table(shifts(*values))
    scale = values.std(ddof=1) * np.sqrt(1.0 + 1.0 / count)
    for share in (0.2, 0.05, 0.01, 1e-3):
        expected = scale * stats.t.isf(share, count - 1)
        # Beyond a factor of 20 no standard deviation is tried.
        if expected < 1.0:
            assert exceeded_with(table, share) == pytest.approx(expected, rel=0.06)


def test_a_new_session_exceeds_it_as_often_as_it_says() -> None:
    rng = np.random.default_rng(8)
    beyond = dict.fromkeys((0.05, 0.01), 0)
    for _ in range(600):
        values = 0.04 * rng.standard_normal(6)
        centre = values.mean()
        table = movement_table(shifts(*(values - centre)))
        new = 0.04 * rng.standard_normal() - centre
        for share in beyond:
            beyond[share] += new > exceeded_with(table, share)
    for share, count in beyond.items():
        assert count <= stats.binom.isf(1e-4, 600, share)
        assert count >= stats.binom.isf(1.0 - 1e-4, 600, share) // 2


def test_errors_of_sessions_are_no_movement() -> None:
    rng = np.random.default_rng(2)
    chance = shifts(*(0.003 * rng.standard_normal(20)), error=0.003)
    table = movement_table(chance)
    assert not moves(chance, table)
    assert exceeded_with(table, 0.005) < 0.006
    moved = shifts(*(0.03 * rng.standard_normal(20)), error=0.003)
    assert moves(moved, movement_table(moved))
    # What is known of one session doesn't exclude anything.
    assert movement_table(shifts(0.0)) == [] and moves(shifts(0.0), [])
    # A movement that no finding could see isn't one.
    assert not moves(shifts(*[0.0] * 10), movement_table(shifts(*[0.0] * 10)))


# ---- enough time ---------------------------------------------------------------------------------


def usual(sessions: list[SessionShift]) -> ComponentBaseline:
    from check_baselines import component

    return component(0.0, sessions=sessions, movement=movement_table(sessions))


def test_time_is_covered_by_sessions_on_several_days() -> None:
    within_a_day = [SessionShift(3 * HOUR * n, 3 * HOUR * n, 0.0, 0.0) for n in range(SESSIONS)]
    assert not usual(within_a_day).covers_time
    assert usual(within_a_day).days == 1
    assert not usual(shifts(*[0.0] * (SESSIONS - 1))).covers_time
    enough = usual(shifts(*[0.0] * SESSIONS))
    assert enough.covers_time and enough.days >= DAYS
    assert missing_time([enough]) == ""


def test_what_is_missing_is_said() -> None:
    minutes = usual([SessionShift(0.0, 180.0, 0.0, 0.0)])
    said = missing_time([usual(shifts(*[0.0] * 9)), minutes])
    assert said.startswith(
        "Slowness can't drain yet: the baseline covers 3 min, 1 session on 1 day. It drains once "
        f"checks cover {SESSIONS} sessions on {DAYS} days"
    )


# ---- updates -------------------------------------------------------------------------------------


def checks_of(course: Floats, nodes: int, begin: float) -> dict[str, list[CheckRecord]]:
    """Healthy checks of stream each three hours, slower by the course on all nodes."""
    rng = np.random.default_rng(11)
    return {
        f"n{node}": [
            CheckRecord(
                utc=begin + 3 * HOUR * number + 60.0 * node,
                outcome="healthy",
                seconds=1.0,
                values={"stream": USUAL["stream"] * float(np.exp(-slower))},
            )
            for number, slower in enumerate(course + 0.002 * rng.standard_normal(course.size))
        ]
        for node in range(nodes)
    }


def short() -> Baseline:
    found = baseline("stream", changes={"sessions": shifts(0.0), "movement": [], "moving": True})
    cost = cost_of("stream", USUAL["stream"])
    assert cost == found.components["stream"].level
    return found


@pytest.mark.parametrize("nodes", [1, 20])
def test_healthy_checks_complete_the_sessions(nodes: int) -> None:
    course = 0.03 * np.random.default_rng(4).standard_normal(24)
    part = update(short(), checks_of(course, nodes, DAY), now=1.0).baseline.components["stream"]
    assert part.covers_time and part.moving
    assert len(part.sessions) == 25
    assert 0.02 < exceeded_with(part.movement, GRID[GRID.index(0.2)]) < 0.04


def test_a_slow_decline_is_no_movement() -> None:
    """Each night's checks are compared with each other."""
    current = short()
    for day in range(1, 21):
        checks = checks_of(np.full(8, 0.002 * day), 20, DAY * day)
        current = update(current, checks, now=1.0).baseline
    part = current.components["stream"]
    assert len(part.sessions) > 100 and not part.moving
    assert exceeded_with(part.movement, 1e-4) < 0.005


def test_one_session_has_nothing_to_compare_with() -> None:
    assert centred(shifts(0.5)) == []
    assert [each.shift for each in centred(shifts(-0.01, 0.01))] == pytest.approx(
        [-(2**0.5) * 0.01, 2**0.5 * 0.01]
    )
