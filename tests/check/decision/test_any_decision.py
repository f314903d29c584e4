"""Decisions of any input: they never raise, and a slower reading is never less suspicious."""

from __future__ import annotations

import sys
from subprocess import run

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from assay.check.decision.decide import check_values, decide, slow_components
from assay.check.decision.judgement import judge_check
from assay.check.decision.model import CheckPolicy, Given, NodeState, SeriesState
from assay.check.decision.next_state import next_state
from assay.check.decision.words import LONGEST
from assay.check.model import CheckRecord, CheckVerdict, MeasureAgain, Quiet, Reading
from check_baselines import USUAL, baseline, component, normal_table

NAMES = tuple(USUAL)
numbers = st.floats() | st.sampled_from([0.0, -1.0, 1e-300, 1e300, *USUAL.values()])
readings = st.builds(
    Reading,
    component=st.sampled_from(NAMES),
    values=st.lists(numbers, max_size=6),
    cpus=st.lists(st.integers(0, 9), max_size=6),
    seconds=st.floats(0.0, 9.0) | st.just(float("nan")),
    verified=st.booleans(),
    failed=st.sampled_from(["", "It broke \x07 \u00e9."]),
    quiet=st.builds(Quiet, others=numbers, steal=numbers),
)
records = st.builds(
    CheckRecord,
    utc=st.floats(),
    outcome=st.sampled_from(["healthy", "unhealthy", "undecided"]),
    seconds=st.floats(),
    values=st.dictionaries(st.sampled_from(NAMES), numbers),
    slow=st.lists(st.sampled_from([*NAMES, "other"])),
    partner=st.sampled_from(["", "n1", "n2"]),
)
states = st.builds(
    NodeState,
    anchored=st.sampled_from([0, 3]),
    series=st.dictionaries(
        st.sampled_from([*NAMES, "core.gap", "gone"]),
        st.builds(
            SeriesState,
            checks=st.integers(-1, 100),
            level=st.floats(-60.0, 60.0),
            evidence=st.tuples(*[st.floats(-3.0, 20.0)] * 4),
        ),
    ),
)
givens = st.builds(
    Given,
    baseline=st.just(baseline(*NAMES, gap=True)),
    state=states,
    records=st.lists(records, max_size=4),
    rounds=st.lists(
        st.lists(readings, max_size=5).map(lambda found: {each.component: each for each in found}),
        max_size=4,
    ),
    components=st.just(NAMES) | st.just(("stream", "unknown")),
    partner=st.sampled_from(["", "n1"]),
    utc=st.floats(),
    time_left=st.floats(),
    policy=st.builds(CheckPolicy, false_drains=st.floats(1e-9, 0.5)),
)


@given(givens)
def test_anything_is_decided(one: Given) -> None:
    found = decide(one)
    if isinstance(found, MeasureAgain):
        assert found.components
        return
    assert isinstance(found, CheckVerdict)
    assert (found.outcome == "unhealthy") == bool(found.findings)
    assert len(found.reason) <= LONGEST
    for each in (*found.findings, *found.suspected):
        assert each.text.isprintable()
        assert each.text.isascii()
        assert len(each.text) <= LONGEST
    assert set(slow_components(found)) <= set(NAMES)
    check_values(one)
    state = next_state(one)
    encoded = msgspec.msgpack.encode(state)
    again = msgspec.msgpack.decode(encoded, type=NodeState)
    assert set(again.series) == set(state.series)


def rank(found: MeasureAgain | CheckVerdict) -> int:
    if isinstance(found, MeasureAgain):
        return 1
    return {"healthy": 0, "undecided": 1, "unhealthy": 3}[found.outcome] + (
        2 if "stream" in slow_components(found) and found.outcome == "healthy" else 0
    )


@given(
    st.floats(-0.3, 0.5),
    st.floats(-0.3, 0.5),
    states,
    st.booleans(),
    st.booleans(),
)
def test_slower_is_never_less_suspicious(
    one: float, two: float, state: NodeState, before: bool, twice: bool
) -> None:
    slow_before = CheckRecord(
        utc=1.0, outcome="healthy", seconds=1.0, values={"stream": 2e11}, slow=["stream"]
    )

    def given_at(slower: float) -> Given:
        value = {"stream": Reading(component="stream", values=[USUAL["stream"] * (1.0 - slower)])}
        return Given(
            baseline=baseline("stream"),
            state=state,
            records=[slow_before] if before else [],
            rounds=[value] * (2 if twice else 1),
            components=("stream",),
        )

    low, high = sorted((one, two))
    assert rank(decide(given_at(low))) <= rank(decide(given_at(high)))
    less, more = judge_check(given_at(low))[0], judge_check(given_at(high))[0]
    assert less.log_fleet >= more.log_fleet
    assert less.log_own >= more.log_own


def test_absurd_tables_are_survived() -> None:
    """They are refused when read; a decision doesn't depend on that."""
    odd = component(0.0, fleet=normal_table(1e-12), within=normal_table(1e9), between=[0.0] * 26)
    usual = msgspec.structs.replace(baseline("stream"), components={"stream": odd})
    value = {"stream": Reading(component="stream", values=[1.0])}
    decide(Given(baseline=usual, rounds=[value, value], components=("stream",)))
    none = msgspec.structs.replace(usual, components={})
    found = decide(Given(baseline=none))
    assert isinstance(found, CheckVerdict)
    assert found.outcome == "undecided"


def test_deciding_imports_no_numerical_library() -> None:
    code = (
        "import sys, assay.check.decision.decide, assay.check.decision.next_state, "
        "assay.check.baseline.file; "
        "print([n for n in ('numpy', 'scipy', 'polars', 'rich', 'jinja2') if n in sys.modules])"
    )
    found = run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"
