"""The decision of a check, with baselines whose tables are known."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from assay.check.baseline.costs import CORE_GAP
from assay.check.components import ALONE
from assay.check.decision.decide import check_values, decide, slow_components
from assay.check.decision.model import Given, NodeState, SeriesState
from assay.check.decision.next_state import next_state
from assay.check.decision.words import LONGEST
from assay.check.model import (
    CheckRecord,
    CheckVerdict,
    MeasureAgain,
    NodeFinding,
    Quiet,
    Reading,
)
from check_baselines import USUAL, baseline, busy, component, normal_table, reading

NAMES = ("stream", "latency", "product")


def given(*rounds: Mapping[str, Reading], **changes: Any) -> Given:
    return Given(
        **{"baseline": baseline(), "components": NAMES, "rounds": rounds, "utc": 1e9, **changes}
    )


def all_of(slower: float = 0.0, **changes: Any) -> dict[str, Reading]:
    found = {name: reading(name) for name in NAMES}
    found["stream"] = reading("stream", slower, **changes)
    return found


def verdict(found: MeasureAgain | CheckVerdict) -> CheckVerdict:
    assert isinstance(found, CheckVerdict), found
    return found


def again(found: MeasureAgain | CheckVerdict) -> tuple[str, ...]:
    assert isinstance(found, MeasureAgain), found
    return found.components


def run_checks(values: Sequence[float], **changes: Any) -> tuple[list[CheckVerdict], NodeState]:
    """Checks of a node one after another; each value is the same in both rounds."""
    state = changes.pop("state", NodeState())
    records: list[CheckRecord] = []
    verdicts: list[CheckVerdict] = []
    for number, slower in enumerate(values):
        partner = changes.get("partner", "")
        one = given(
            all_of(slower), state=state, records=records, utc=1e9 + 4000 * number, **changes
        )
        found = decide(one)
        if isinstance(found, MeasureAgain):
            second = {name: one.rounds[0][name] for name in found.components}
            one = given(
                all_of(slower), second, state=state, records=records, utc=one.utc, **changes
            )
            found = decide(one)
        verdicts.append(verdict(found))
        state = next_state(one)
        records = [
            *records,
            CheckRecord(
                utc=one.utc,
                outcome=verdicts[-1].outcome,
                seconds=1.0,
                values=check_values(one),
                slow=slow_components(verdicts[-1]),
                partner=partner,
            ),
        ]
    return verdicts, state


def test_it_first_asks_for_everything() -> None:
    assert again(decide(given())) == NAMES
    assert again(decide(Given(baseline=baseline()))) == ALONE


def test_a_usual_node_is_healthy_after_one_round() -> None:
    found = verdict(decide(given(all_of())))
    assert (found.outcome, found.findings, found.suspected) == ("healthy", [], [])


def test_a_slow_component_alone_is_measured_again() -> None:
    assert again(decide(given(all_of(0.06)))) == ("stream",)


def test_a_second_measurement_that_disagrees_ends_the_suspicion() -> None:
    found = verdict(decide(given(all_of(0.06), {"stream": reading("stream", 0.0)})))
    assert (found.outcome, found.suspected) == ("healthy", [])


def test_one_check_alone_never_fails_a_node_for_slowness() -> None:
    found = verdict(decide(given(all_of(0.9), {"stream": reading("stream", 0.9)})))
    assert found.outcome == "healthy"
    assert [each.about for each in found.suspected] == ["stream"]
    assert slow_components(found) == ["stream"]


def test_two_checks_fail_a_node_that_lost_a_third() -> None:
    verdicts, _ = run_checks([0.0, 0.3, 0.3])
    assert [each.outcome for each in verdicts] == ["healthy", "healthy", "unhealthy"]
    finding = verdicts[-1].findings[0]
    assert finding.about == "stream"
    assert finding.deviation == pytest.approx(-0.3, abs=0.001)
    assert finding.interval is not None
    assert finding.interval[0] < -0.3 < finding.interval[1] < 0.0
    assert verdicts[-1].reason == (
        "memory bandwidth 155 GB/s, -30% [-29, -31], fleet 222 GB/s, p<1e-7; check DIMMs"
    )


def test_a_check_between_two_findings_doesnt_hide_them_and_two_do() -> None:
    assert run_checks([0.3, 0.0, 0.3])[0][-1].outcome == "unhealthy"
    assert run_checks([0.3, 0.0, 0.0, 0.3])[0][-1].outcome == "healthy"


def test_a_busy_node_is_undecided_unless_it_is_fast_enough_anyway() -> None:
    slow = all_of(0.3, quiet=busy())
    assert again(decide(given(slow))) == ("stream",)
    found = verdict(decide(given(*[slow] * 4)))
    assert found.outcome == "undecided"
    assert found.reason == "busy: other processes used 3.0 CPUs"
    assert verdict(decide(given(all_of(0.0, quiet=busy())))).outcome == "healthy"
    state = next_state(given(*[slow] * 4))
    assert state.series["stream"].evidence == (0.0, 0.0, 0.0, 0.0)


def test_steal_is_not_quiet_and_a_quota_is() -> None:
    stolen = all_of(0.3, quiet=Quiet(steal=0.2))
    found = verdict(decide(given(*[stolen] * 4)))
    assert (found.outcome, "hypervisor" in found.reason) == ("undecided", True)
    held = all_of(0.3, quiet=Quiet(held_back=2.0))
    assert slow_components(verdict(decide(given(held, held)))) == ["stream"]


def test_without_time_a_suspicion_is_undecided() -> None:
    found = verdict(decide(given(all_of(0.3), time_left=0.3)))
    assert found.outcome == "undecided"
    assert "no time to confirm memory bandwidth 30% slow" in found.reason


def test_a_component_that_was_never_measured_is_undecided() -> None:
    found = verdict(decide(given({"stream": reading("stream")}, time_left=0.0)))
    assert found.outcome == "undecided"
    assert found.reason == "no time to measure memory latency (+1 other reason)"
    assert again(decide(given({"stream": reading("stream")}))) == ("latency", "product")


def test_a_wrong_result_twice_fails_at_once_and_once_does_not() -> None:
    wrong = all_of(0.0, verified=False)
    assert again(decide(given(wrong))) == ("stream",)
    found = verdict(decide(given(wrong, wrong)))
    assert found.outcome == "unhealthy"
    assert found.reason.startswith("memory bandwidth: wrong result, 2 of 2 times")
    right = {"stream": reading("stream")}
    assert again(decide(given(wrong, right))) == ("stream",)
    found = verdict(decide(given(wrong, right, right)))
    assert (found.outcome, len(found.suspected)) == ("healthy", 1)
    assert verdict(decide(given(wrong, right, wrong))).outcome == "unhealthy"


def test_a_lost_component_fails_at_once_and_a_broken_program_does_not() -> None:
    lost = all_of(0.0, values=[], failed="No such device.")
    assert again(decide(given(lost))) == ("stream",)
    found = verdict(decide(given(lost, lost)))
    assert found.outcome == "unhealthy"
    assert "no value" in found.reason
    assert "No such device" in found.reason
    none = {name: reading(name, values=[], failed="Killed.") for name in NAMES}
    assert verdict(decide(given(none, none))).outcome == "undecided"


def test_messages_need_two_partners() -> None:
    names = ("message_latency",)
    slow = {"message_latency": reading("message_latency", 0.4)}
    state = NodeState(3, {"message_latency": SeriesState(evidence=(20.0, 0.0, 0.0, 0.0))})

    def with_record(partner: str) -> CheckVerdict:
        record = CheckRecord(
            utc=1.0,
            outcome="healthy",
            seconds=1.0,
            values={"message_latency": 2e-6},
            slow=["message_latency"],
            partner=partner,
        )
        return verdict(
            decide(
                given(
                    slow,
                    slow,
                    components=names,
                    baseline=baseline(*names),
                    records=[record],
                    state=state,
                    partner="n2",
                )
            )
        )

    assert with_record("n1").outcome == "unhealthy"
    assert with_record("n2").outcome == "healthy"
    assert with_record("").outcome == "healthy"


def test_facts_fail_a_node_without_measurements() -> None:
    fact = NodeFinding(
        about="memory.total", value="240 GB", expected="256 GB", text="memory 240 GB"
    )
    found = verdict(decide(given(findings=[fact])))
    assert (found.outcome, found.reason) == ("unhealthy", "memory 240 GB")


def test_a_node_that_was_always_slow_does_not_hide_behind_its_own_level() -> None:
    verdicts, state = run_checks([0.06] * 20)
    assert verdicts[-1].outcome == "unhealthy"
    assert state.series["stream"].checks == 0


@pytest.mark.long
def test_a_node_that_becomes_2_percent_slower_fails_within_a_week() -> None:
    verdicts, state = run_checks([0.0] * 40)
    assert state.series["stream"].checks == 40
    verdicts, state = run_checks([0.02] * 140, state=state)
    assert verdicts[-1].outcome == "unhealthy"
    # With its own level 2% slow from the beginning, it is within what the fleet scatters.
    verdicts, state = run_checks([0.02] * 180)
    assert verdicts[-1].outcome == "healthy"


def test_one_slow_core_of_128_is_found_and_named() -> None:
    cores = [USUAL["core"]] * 128
    cores[87] *= 0.95
    slow = Reading(component="core", values=cores, cpus=list(range(1000, 1128)), seconds=0.2)
    usual = baseline("core", gap=True)
    one = Given(baseline=usual, components=("core",), rounds=({"core": slow}, {"core": slow}))
    found = verdict(decide(one))
    assert "CPU 1087" in found.suspected[0].text
    # Another CPU in the second round is another process, not the CPU.
    cores = [USUAL["core"]] * 128
    cores[3] *= 0.95
    other = Reading(component="core", values=cores, cpus=list(range(1000, 1128)), seconds=0.2)
    both = Given(baseline=usual, components=("core",), rounds=({"core": slow}, {"core": other}))
    assert CORE_GAP not in {each.about for each in verdict(decide(both)).suspected}


def test_the_profile_of_the_day_is_subtracted() -> None:
    hours = [0.0] * 24
    hours[5] = 0.05
    usual = baseline(changes={"hours": hours})
    assert verdict(decide(given(all_of(0.05), baseline=usual, utc=5.5 * 3600))).outcome == "healthy"
    assert again(decide(given(all_of(0.05), baseline=usual, utc=6.5 * 3600))) == ("stream",)


def test_texts_fit_a_drain_reason() -> None:
    names = list(USUAL)
    for slower in (0.02, 0.3, 0.999):
        slow = {name: reading(name, slower) for name in names}
        usual = baseline(*names)
        found = verdict(decide(Given(baseline=usual, components=names, rounds=(slow, slow))))
        for each in found.suspected:
            assert len(each.text) <= LONGEST
            assert each.text.isascii()
            assert each.text.isprintable()
            assert "check" in each.text


def test_a_threshold_has_the_stated_probability() -> None:
    """The literal version: a finding is a value that 0.5% of healthy checks exceed."""
    limit = 0.0112 * 2.5758
    found = [
        slow_components(verdict(decide(given(all_of(by), {"stream": reading("stream", by)}))))
        for by in (-math.expm1(-limit * 0.99), -math.expm1(-limit * 1.01))
    ]
    assert found == [[], ["stream"]]


def test_zero_scatter_doesnt_make_tiny_deviations_findings() -> None:
    flat = {
        "fleet": normal_table(1e-9),
        "within": normal_table(1e-9),
        "between": normal_table(1e-9),
    }
    usual = baseline(changes=flat)
    verdicts, _ = run_checks([0.009] * 30, baseline=usual)
    assert {each.outcome for each in verdicts} == {"healthy"}
    assert component(0.0, **flat).fleet[0] < 0.0


def test_a_slow_value_counts_as_evidence_once_it_is_confirmed() -> None:
    once = next_state(given(all_of(0.3), time_left=0.0)).series["stream"]
    assert once == SeriesState()
    half = given(all_of(0.3), {"stream": reading("stream", 0.3, quiet=busy())}, time_left=0.0)
    assert next_state(half).series["stream"] == SeriesState()
    twice = given(all_of(0.3), {"stream": reading("stream", 0.3)})
    assert max(next_state(twice).series["stream"].evidence) > 5.0


def test_findings_alone_dont_fail_a_node_without_evidence() -> None:
    """3% slower is a finding in the second check as well, and not yet impossible."""
    verdicts, state = run_checks([0.031, 0.031])
    assert [slow_components(each) for each in verdicts] == [["stream"], ["stream"]]
    assert [each.outcome for each in verdicts] == ["healthy", "healthy"]
    assert 0.0 < max(state.series["stream"].evidence) < 12.0


def test_one_value_that_is_far_too_fast_doesnt_move_the_own_level_far() -> None:
    _, state = run_checks([0.0] * 8 + [-2.0] + [0.0] * 8)
    _, usual = run_checks([0.0] * 17)
    moved = state.series["stream"].level - usual.series["stream"].level
    assert -0.002 < moved < 0.0
    verdicts, _ = run_checks([0.0] * 30, state=state)
    assert {each.outcome for each in verdicts} == {"healthy"}
    assert not any(each.suspected for each in verdicts)


@pytest.mark.long
def test_a_nodes_own_level_stays_after_40_checks() -> None:
    _, state = run_checks([0.0] * 40)
    level = state.series["stream"].level
    _, state = run_checks([0.008] * 30, state=state)
    assert state.series["stream"].level == level
    _, state = run_checks([0.0] * 20)
    _, state = run_checks([0.008] * 5, state=state)
    assert state.series["stream"].level > level
