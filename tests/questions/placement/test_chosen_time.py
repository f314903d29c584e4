"""The chosen placement: no verdict on busy nodes, and a time without the luck of the choice."""

from __future__ import annotations

import dataclasses

import msgspec
import numpy as np
import pytest

from asking import reply_to
from assay.model.cell import Cell
from assay.questions.common.answer import Answer
from assay.questions.common.question import Measured
from assay.questions.placement.best.findings import find
from assay.questions.placement.best.outcomes import (
    PlacementOutcome,
    find_outcomes,
    relative_launches,
)
from assay.records.model import RunData
from assay.stats.cells.summarise import summarise_cells
from placement_runs import PLAIN, SPREAD_OUT, THREADED, cell, cg, run_of

CELLS = [*PLAIN, *THREADED, *SPREAD_OUT]


def with_others(run: RunData, busy: float, *, cpus: int = 4, every: int = 1) -> RunData:
    """The run while other processes kept this many CPUs busy, in every so manieth measurement."""
    measurements = []
    for place, measurement in enumerate(run.measurements):
        record = measurement.record
        there = busy if place % every == 0 else 0.01
        covariates = {
            **record.covariates,
            "sampling_seconds": 2.0,
            "other_cpu_seconds": 2.0 * there,
        }
        record = msgspec.structs.replace(record, covariates=covariates)
        measurements.append(dataclasses.replace(measurement, record=record))
    manifest = msgspec.structs.replace(run.manifest, system={"processor": {"threads": cpus}})
    return dataclasses.replace(run, measurements=tuple(measurements), manifest=manifest)


@pytest.fixture(scope="module")
def quiet() -> RunData:
    return run_of(CELLS, cg, [*THREADED, *SPREAD_OUT])


def answered(run: RunData) -> Answer:
    return reply_to("placement", summarise_cells(run), run).answer


def recommended(answer: Answer) -> list[str]:
    """The recommendations other than to measure again, which all answers have on busy nodes."""
    return [each for each in answer.advice if not each.startswith("Measure again when the node")]


def outcome_of(run: RunData) -> PlacementOutcome:
    (outcome,) = find_outcomes(summarise_cells(run), run)
    return outcome


def test_on_busy_nodes_a_search_has_no_verdict(quiet: RunData) -> None:
    run = with_others(quiet, 1.9)
    answer = answered(run)
    assert "Undecided for CG class S: other processes kept 1.9 of 4 CPUs busy" in answer.verdict
    assert "measure again when the node is quiet" in answer.verdict
    assert "probability" not in answer.verdict and "2 threads" not in answer.verdict
    assert recommended(answer) == []
    assert answer.confidence == "low" and "have no verdict" in answer.confidence_why
    assert "other processes kept 1.9 of 4 CPUs busy" in answer.evidence[0].note
    outcome = outcome_of(run)
    assert outcome.settled and outcome.disturbed and not outcome.decided
    found = find(Measured(run, summarise_cells(run), []))
    assert found is not None and found.choices == []


@pytest.mark.parametrize(("busy", "cpus", "every"), [(0.3, 4, 1), (1.9, 64, 1), (1.9, 4, 3)])
def test_daemons_and_single_disturbed_launches_leave_the_verdict(
    quiet: RunData, busy: float, cpus: int, every: int
) -> None:
    run = with_others(quiet, busy, cpus=cpus, every=every)
    answer = answered(run)
    assert "2 ranks × 2 threads" in answer.verdict and "open" not in answer.verdict
    assert len(recommended(answer)) == 1
    assert outcome_of(run).decided


def test_without_the_covariate_or_the_system_the_load_is_unknown_or_of_the_cores_used(
    quiet: RunData,
) -> None:
    assert outcome_of(quiet).others is None and outcome_of(quiet).decided
    run = with_others(quiet, 1.9)
    bare = dataclasses.replace(run, manifest=msgspec.structs.replace(run.manifest, system={}))
    others = outcome_of(bare).others
    assert others is not None and (others.busy, others.cpus) == (pytest.approx(1.9), 4)


ALIKE = [
    cell("npb.cg", 1, ppn, threads, binding=binding)
    for ppn, threads in ((1, 1), (2, 1), (1, 2), (4, 1), (2, 2), (1, 4))
    for binding in ("compact", "spread")
]


def test_the_best_of_equal_placements_has_a_time_between_its_own_and_the_others() -> None:
    random = np.random.default_rng(1)
    run = run_of(ALIKE, lambda one: 0.1, ALIKE)
    measurements = [
        dataclasses.replace(
            each,
            record=msgspec.structs.replace(
                each.record,
                series=[
                    msgspec.structs.replace(
                        each.record.series[0], values=[0.1 * float(np.exp(noise))]
                    )
                ],
            ),
        )
        for each, noise in zip(
            run.measurements, random.normal(0.0, 0.02, len(run.measurements)), strict=True
        )
    ]
    run = dataclasses.replace(run, measurements=tuple(measurements))
    outcome = outcome_of(run)
    assert outcome.point is not None and outcome.time is not None
    assert outcome.among == len(ALIKE)
    assert outcome.point.metric.median < 0.099 < outcome.time.value < 0.101
    low, high = outcome.time.interval
    assert low < 0.1 < high
    answer = answered(run)
    first = answer.evidence[0]
    assert (first.value, first.ci95) == (outcome.time.value, outcome.time.interval)
    assert "its launches' median is 9" in first.note and "12 comparable placements" in first.note
    if outcome.over_full is not None:
        assert outcome.over_full.value == pytest.approx(
            outcome.full.metric.median / outcome.time.value
        )


def test_a_clear_best_keeps_the_median_of_its_launches(quiet: RunData) -> None:
    outcome = outcome_of(quiet)
    assert outcome.point is not None and outcome.among == 1
    assert outcome.time == (outcome.point.metric.median, outcome.point.metric.ci95)
    answer = answered(quiet)
    assert "comparable" not in answer.evidence[0].note
    assert answer.confidence == "high"
    assert "hold for the median during the" in answer.confidence_why
    assert "autocorrelation" in answer.confidence_why or "independent" in answer.confidence_why


def scattered(cells: list[Cell], times: dict[tuple[int, int], float], seed: int) -> RunData:
    """A search of cells whose launches scatter by 2%, with 100 W per node."""
    random = np.random.default_rng(seed)
    run = run_of(cells, lambda one: 1.0, cells)
    measurements = []
    for each in run.measurements:
        place = each.cell.placement
        time = times[place.nodes, place.ppn] * float(np.exp(random.normal(0.0, 0.02)))
        record = each.record
        series = [msgspec.structs.replace(record.series[0], values=[time])]
        covariates = {"sampling_seconds": 2.0, "energy": 200.0 * place.nodes}
        record = msgspec.structs.replace(record, series=series, covariates=covariates)
        measurements.append(dataclasses.replace(each, record=record))
    return dataclasses.replace(run, measurements=tuple(measurements))


def test_the_fewest_node_seconds_and_joules_are_corrected_for_the_choice() -> None:
    cells = [cell("npb.cg", nodes, ppn) for nodes in (1, 2, 4) for ppn in (1, 2, 4)]
    # Ranks of one node halve each other's speed, and two nodes take half of the time of one.
    equal = {(c.placement.nodes, c.placement.ppn): 8.0 / c.placement.nodes for c in cells}
    run = scattered(cells, equal, 3)
    found = find(Measured(run, summarise_cells(run), []))
    assert found is not None
    (cheapest,), (least,) = found.cheapest, found.least_energy
    assert cheapest.among == least.among == len(cells)
    raw = cheapest.point.metric.median * cheapest.point.summary.cell.placement.nodes
    assert raw < 7.95 < cheapest.node_seconds.value < 8.1
    assert cheapest.node_seconds.interval[0] < 8.0 < cheapest.node_seconds.interval[1]
    assert 795.0 < least.energy.value < 810.0
    notes = [one.note for one in answered(run).evidence if "node-seconds" in one.label]
    assert "corrected because the best of 9 comparable placements looks better" in notes[0]
    # A clear one keeps the median of its launches.
    clear = scattered(cells, {**equal, (2, 2): 2.0}, 3)
    found = find(Measured(clear, summarise_cells(clear), []))
    assert found is not None
    (cheapest,), (least,) = found.cheapest, found.least_energy
    assert cheapest.among == least.among == 1
    assert cheapest.node_seconds.value == pytest.approx(2.0 * cheapest.point.metric.median)


def test_draws_show_no_certainty(quiet: RunData) -> None:
    """Of 2,000 draws, none in which another placement is better: not a probability of 1."""
    assert 0.999 < outcome_of(quiet).probability < 1.0
    assert "99.9%" in answered(quiet).evidence[0].note
    assert "100%" not in answered(quiet).verdict


def test_a_required_probability_is_printed_as_it_is(quiet: RunData) -> None:
    plan = quiet.manifest.plan
    assert plan.search is not None
    search = msgspec.structs.replace(plan.search, probability=0.996)
    plan = msgspec.structs.replace(plan, search=search)
    run = dataclasses.replace(quiet, manifest=msgspec.structs.replace(quiet.manifest, plan=plan))
    assert any("probability 99.6%, or when the budget" in each for each in answered(run).method)


@pytest.mark.parametrize(
    ("launches", "text"), [(15, "25%"), (59, "98%"), (60, "1.0 times"), (360, "6.0 times")]
)
def test_launches_beyond_an_exhaustive_search_are_a_factor(
    quiet: RunData, launches: int, text: str
) -> None:
    outcome = dataclasses.replace(outcome_of(quiet), measurements=launches, exhaustive=60)
    assert relative_launches(outcome) == text


def test_the_evidence_has_the_launches_of_the_search(quiet: RunData) -> None:
    outcome = outcome_of(quiet)
    of = " of" if outcome.measurements < outcome.exhaustive else ""
    assert (
        f"{outcome.measurements} launches, {relative_launches(outcome)}{of} the "
        f"{outcome.exhaustive} of an exhaustive search"
    ) in answered(quiet).evidence[0].note
