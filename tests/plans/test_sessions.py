"""Sessions of plans: the request, the next session, and the session of a replicate."""

from __future__ import annotations

import itertools

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import AssayError
from assay.model.plan import Plan, PlanContext
from assay.model.replication import Replication
from assay.model.sessions import (
    LATEST,
    NextSession,
    SessionState,
    first_replicate,
    next_session,
    session_of,
)
from assay.plans.overrides import amended, chosen_time
from assay.plans.replication import UNCOUNTED, read_replication
from assay.plans.suites import find_suite, load_plan
from assay.plans.words import read_words

HOUR = 3600.0
SUITE = Replication(budget=600.0, every=HOUR, min_launches=20, max_launches=20)


# ---- the request ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given_", "planned", "every"),
    [
        ({"every": "6 h", "sessions": "8"}, 8, 6 * HOUR),
        ({"every": "6 h", "duration": "2 days"}, 8, 6 * HOUR),
        ({"every": "7 h", "duration": "2 days"}, 7, 7 * HOUR),  # at 0, 7 … 42 h
        ({"duration": "2 days"}, 48, HOUR),
        ({"sessions": "5"}, 5, HOUR),
        ({"sessions": "8", "duration": "2 days"}, 8, 6 * HOUR),
        ({"every": "2 h"}, 1, 2 * HOUR),
        ({}, 1, HOUR),
    ],
)
def test_two_of_three_words_are_enough(given_: dict[str, str], planned: int, every: float) -> None:
    rule = amended(SUITE, dict(given_))
    assert (rule.planned, rule.every, rule.repeated) == (planned, every, planned > 1)
    assert (rule.budget, rule.min_launches, rule.unbroken) == (600.0, 20, False)


@pytest.mark.parametrize("rule", [SUITE, Replication(budget=600.0, min_launches=20)])
def test_a_duration_without_a_second_session_is_measured_to_its_end(rule: Replication) -> None:
    for length, fewest in ((1800.0, 60), (60.0, 20)):
        found = amended(rule, {"duration": f"{length} s"})
        assert found.unbroken
        assert (found.planned, found.budget) == (1, length)
        # At the plan's pace: twenty launches in ten minutes.
        assert (found.min_launches, found.max_launches) == (fewest, UNCOUNTED)
    counted = amended(rule, {"duration": "30 min", "launches": "25"})
    assert (counted.min_launches, counted.max_launches, counted.budget) == (25, 25, 1800.0)
    assert amended(found, {}) == found


def test_launches_that_are_counted_have_their_time() -> None:
    assert amended(SUITE, {"launches": "100"}).budget == 3000.0
    assert amended(SUITE, {"launches": "100", "budget": "60 s"}).budget == 60.0
    assert amended(SUITE, {"launches": "5"}).budget == 600.0
    assert amended(SUITE, {"launches": "40..80"}).budget == 1200.0
    own = Replication(budget=600.0, min_launches=20)
    changes: dict[str, str | None] = {"launches": "100"}
    assert chosen_time(own, amended(own, changes), changes) == (
        "100 launches of each cell have 50 min, in proportion to the plan's budget; --budget "
        "changes it.",
    )
    changes["budget"] = "60 s"
    assert chosen_time(own, amended(own, changes), changes) == ()


@pytest.mark.parametrize(
    ("changes", "where", "words"),
    [
        (
            {"sessions": "8", "every": "6 h", "duration": "2 days"},
            "--sessions",
            "determine the third",
        ),
        ({"sessions": "0"}, "--sessions", "above 0"),
        ({"sessions": "2.5"}, "--sessions", "whole number"),
        ({"every": "5 min", "sessions": "3"}, "--every", "takes 10 min, and the next one"),
        ({"duration": "soon"}, "--duration", "soon"),
    ],
)
def test_an_impossible_request_says_where(changes: dict[str, str], where: str, words: str) -> None:
    with pytest.raises(AssayError, match=words) as caught:
        amended(SUITE, changes)
    assert caught.value.where == where


def test_sessions_need_a_known_interval() -> None:
    with pytest.raises(AssayError, match="the time between sessions"):
        read_replication({"sessions": 3})
    assert read_replication({"sessions": 1}).planned == 1


def test_rules_of_older_manifests_are_one_session() -> None:
    old = b'{"precision": 0.01, "budget": 90.0, "min_launches": 6, "max_launches": 30}'
    rule = msgspec.json.decode(old, type=Replication)
    assert (rule.planned, rule.repeated, rule.unbroken) == (1, False, False)
    assert [session_of(replicate, rule) for replicate in (0, 29, 30, 500)] == [0] * 4


def test_a_replicate_determines_its_session() -> None:
    rule = amended(SUITE, {"sessions": "3"})
    for session in range(3):
        first = first_replicate(session, rule)
        assert [session_of(first + r, rule) for r in range(20)] == [session] * 20
    assert first_replicate(2, SUITE) == 0


# ---- the next session ----------------------------------------------------------------------------

EIGHT = amended(SUITE, {"every": "6 h", "sessions": "8"})
DAYS = amended(SUITE, {"every": "6 h", "duration": "2 days"})


def held(*hours: float, over: bool = True) -> list[SessionState]:
    """Sessions that were due and begun at those hours; ``over``: whether the last one is."""
    last = len(hours) - 1
    return [
        SessionState(n, at * HOUR, at * HOUR, over=over or n < last, counts=over or n < last)
        for n, at in enumerate(hours)
    ]


@pytest.mark.parametrize(
    ("hours", "now", "expected"),
    [
        ((0,), 0.2, NextSession(1, 6 * HOUR)),
        ((0, 6), 6.1, NextSession(2, 12 * HOUR)),
        ((0,), 6.0, NextSession(1, 6 * HOUR)),
        ((0,), 7.0, NextSession(1, 6 * HOUR)),  # late, but still its turn
        ((0,), 8.999, NextSession(1, 6 * HOUR)),
        ((0,), 9.001, NextSession(1, 12 * HOUR, missed=1)),  # not twice within three hours
        ((0,), 12.0, NextSession(1, 12 * HOUR, missed=1)),
        ((0,), 40.0, NextSession(1, 42 * HOUR, missed=6)),
        ((0,), 1000.0, NextSession(1, 1002 * HOUR, missed=166)),
        # A clock set back: the wait is at most one interval.
        ((0, 6), 5.0, NextSession(2, 6 * HOUR, set_back=True)),
        ((0, 6), -5000.0, NextSession(2, -4998 * HOUR, set_back=True)),
    ],
)
def test_the_next_session(hours: tuple[float, ...], now: float, expected: NextSession) -> None:
    assert next_session(EIGHT, held(*hours), now * HOUR) == expected


def test_a_session_begun_early_by_a_job_is_no_sign_of_a_clock_set_back() -> None:
    early = [*held(0), SessionState(1, 6 * HOUR, 4 * HOUR, over=True, counts=True)]
    assert next_session(EIGHT, early, 4.1 * HOUR) == NextSession(2, 12 * HOUR)


def test_the_first_session_is_now() -> None:
    assert next_session(EIGHT, [], 77.0) == NextSession(0, 77.0)


def test_an_interrupted_session_continues_until_the_next_is_due() -> None:
    cut = held(0, 6, over=False)
    assert next_session(EIGHT, cut, 11.9 * HOUR) == NextSession(1, 6 * HOUR, begun=True)
    assert next_session(EIGHT, cut, 12.1 * HOUR) == NextSession(2, 12 * HOUR)


def test_a_number_of_sessions_is_made_up_for_and_a_duration_is_not() -> None:
    seven = held(0, 6, 12, 18, 24, 36, 42)
    assert next_session(EIGHT, seven, 42.2 * HOUR) == NextSession(7, 48 * HOUR)
    assert next_session(DAYS, seven, 42.2 * HOUR) is None
    assert next_session(DAYS, seven[:6], 36.2 * HOUR) == NextSession(6, 42 * HOUR)
    assert next_session(EIGHT, held(*range(0, 48, 6)), 42.2 * HOUR) is None
    void = [*held(0, 6), SessionState(2, 12 * HOUR, 12 * HOUR, over=True, counts=False)]
    three = amended(EIGHT, {"sessions": "3"})
    assert next_session(three, void, 13 * HOUR) == NextSession(3, 18 * HOUR)
    assert next_session(three, held(0, 6, 12), 13 * HOUR) is None


def test_a_run_of_one_session_has_no_next_one() -> None:
    assert next_session(SUITE, held(0), 100 * HOUR) is None
    assert next_session(SUITE, held(0, over=False), 100 * HOUR) == NextSession(0, 0.0, begun=True)


@given(
    st.lists(st.floats(0.0, 30.0), max_size=30),
    st.sampled_from([EIGHT, DAYS]),
)
def test_sessions_never_follow_in_a_burst(away: list[float], rule: Replication) -> None:
    """Whatever happens between them: including hours without a process."""
    now, sessions = 0.0, []
    for hours in itertools.chain(away, itertools.repeat(0.0)):
        following = next_session(rule, sessions, now)
        if following is None:
            break
        assert not following.begun
        assert following.number == len(sessions)
        now = max(now, following.due)
        assert now - following.due <= LATEST * 6 * HOUR
        assert following.due % (6 * HOUR) == 0.0
        if sessions:
            assert now - sessions[-1].utc >= (1.0 - LATEST) * 6 * HOUR
        sessions.append(SessionState(following.number, following.due, now, over=True, counts=True))
        now += 600.0 + hours * HOUR
    if rule is EIGHT:
        assert len(sessions) == 8
    else:
        assert len(sessions) <= 8
        assert sessions[-1].due < 48 * HOUR


# ---- the suite, and any kernel -------------------------------------------------------------------

TWO = PlanContext(cores=2)


def steadiness(*words: str, context: PlanContext = TWO) -> Plan:
    return load_plan(find_suite("steadiness"), context, 1, read_words(words))


def test_the_suite_measures_the_papers_kernels_and_covariates() -> None:
    plan = steadiness()
    cells = {(c.kernel, str(c.parameters.get("class", ""))) for c in plan.cells}
    assert cells == {
        ("npb.ep", "B"),
        ("npb.lu", "A"),
        ("npb.ft", "B"),
        ("memory.stream", ""),
        ("network.pingpong", ""),
    }
    assert {c.placement.ppn for c in plan.cells} == {2}
    assert (plan.replication.planned, plan.replication.every) == (1, HOUR)
    assert plan.replication.min_launches == plan.replication.max_launches


def test_on_a_cluster_it_draws_halves_of_the_nodes() -> None:
    plan = steadiness(context=PlanContext(cores=4, nodes=8))
    placed = {(c.placement.nodes, c.placement.node_set) for c in plan.cells if c.kernel == "npb.lu"}
    assert placed == {(8, 0), (4, 1), (4, 2), (4, 3)}
    pairs = {(c.placement.nodes, c.placement.ppn) for c in plan.cells if "ping" in c.kernel}
    assert pairs == {(1, 2), (2, 1)}


def test_a_kernel_that_the_plan_has_is_measured_as_there_and_alone() -> None:
    plan = steadiness("kernel=npb.lu,memory.stream")
    assert [c.kernel for c in plan.cells] == ["npb.lu", "memory.stream"]
    assert plan.cells[0] in steadiness().cells


def test_another_one_is_measured_as_its_family_is() -> None:
    (cell,) = steadiness("kernel=npb.bt", "class=S").cells
    assert (cell.kernel, cell.parameters["class"], cell.placement.ppn) == ("npb.bt", "S", 2)
    plan = steadiness("kernel=npb.cg", context=PlanContext(cores=4, nodes=8))
    assert {(c.placement.nodes, c.placement.node_set) for c in plan.cells} == {
        (8, 0), (4, 1), (4, 2), (4, 3),
    }  # fmt: skip
    (cell,) = steadiness("kernel=network.barrier").cells
    assert (cell.kernel, cell.placement.ppn) == ("network.barrier", 2)


def test_one_of_another_family_has_the_plans_factors_alone() -> None:
    plan = steadiness("kernel=compute.dgemm", "n=100,200")
    assert [(c.parameters["n"], c.placement.ppn) for c in plan.cells] == [(100, 2), (200, 2)]
    assert {c.kernel for c in steadiness("kernel=npb.*").cells} > {"npb.cg", "npb.mg"}


def test_factors_are_compared_in_the_suite_as_elsewhere() -> None:
    plan = steadiness("kernel=npb.ft", "ppn=1,2", "order=block,cyclic")
    assert {(c.placement.ppn, c.placement.order) for c in plan.cells} == {
        (1, "block"), (1, "cyclic"), (2, "block"), (2, "cyclic"),
    }  # fmt: skip


def test_an_unknown_kernel_is_reported_with_the_nearest() -> None:
    with pytest.raises(AssayError, match=r"npb\.lv") as caught:
        steadiness("kernel=npb.lv")
    assert "npb.lu" in caught.value.fix
    assert caught.value.where == "kernel=npb.lv"
    with pytest.raises(AssayError, match="No kernel's name matches"):
        steadiness("kernel=nobody.*")
