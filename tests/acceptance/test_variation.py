"""Promises that launches or days vary little."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from acceptance_runs import BEGIN, contract, filed_run, normal_times
from assay.acceptance.decision import Dependence
from assay.acceptance.measured import items_of, read_measured
from assay.acceptance.plan import plan_of
from assay.acceptance.steadiness import (
    day_medians,
    decide_variation,
    shrunk_by,
    values_needed,
    variance_size,
)
from assay.subjects.acceptance.findings import find
from assay.subjects.acceptance.subject import SUBJECT
from records_builder import make_cell

KNOWN = Dependence(9.0, 0.0)
PINGPONG = make_cell("network.pingpong", bytes=8)
OTHERS = [make_cell("network.pingpong", bytes=2**k) for k in range(10, 16)]
PROMISE = '[[steadiness]]\ncells = "network.pingpong bytes=8"\nvariation_at_most = "1%"\n'


def exactly(cov: float, count: int = 30, seed: int = 1) -> np.ndarray:
    """Normal values around 100 with exactly this sample coefficient of variation."""
    drawn = np.random.default_rng(seed).standard_normal(count)
    drawn = (drawn - drawn.mean()) / drawn.std(ddof=1)
    return 100.0 * (1.0 + cov * drawn)


@pytest.mark.parametrize(
    ("cov", "outcome"), [(0.008, "accepted"), (0.017, "undecided"), (0.03, "rejected")]
)
def test_the_limits_decide(cov: float, outcome: str) -> None:
    found = decide_variation(exactly(cov), 0.01, 1.0, KNOWN, 0.05, 0.05)
    assert found.outcome == outcome
    assert found.value == pytest.approx(cov)
    assert found.low is not None and found.high is not None
    assert found.low < cov < found.high


def test_few_and_equal_values_decide_nothing() -> None:
    assert decide_variation(exactly(0.001, 5), 0.01, 1.0, KNOWN, 0.05, 0.05).outcome == "undecided"
    equal = decide_variation(np.full(30, 2.0), 0.01, 1.0, KNOWN, 0.05, 0.05)
    assert (equal.outcome, equal.value, equal.high) == ("undecided", 0.0, None)


def test_dependence_that_could_not_be_excluded_is_assumed() -> None:
    values = exactly(0.008, 16)
    unknown = decide_variation(values, 0.01, 1.0, Dependence(), 0.05, 0.05)
    known = decide_variation(values, 0.01, 1.0, KNOWN, 0.05, 0.05)
    assert unknown.assumed and not known.assumed
    assert (unknown.outcome, known.outcome) == ("undecided", "accepted")
    assert unknown.worth < known.worth == 16.0


@pytest.mark.parametrize("rho", [0.3, 0.7])
def test_the_loss_by_dependence_is_that_of_simulated_series(rho: float) -> None:
    """Over many series: the mean variance of a sample, and how much the sample variances vary."""
    rng, n = np.random.default_rng(5), 40
    series = np.empty((20_000, n))
    series[:, 0] = rng.standard_normal(20_000)
    for place in range(1, n):
        noise = rng.standard_normal(20_000) * np.sqrt(1.0 - rho**2)
        series[:, place] = rho * series[:, place - 1] + noise
    variances = series.var(axis=1, ddof=1)
    assert shrunk_by(n, rho) ** 2 == pytest.approx(1.0 / variances.mean(), rel=0.02)
    # The variance of the variance of n independent normal values is 2 / n; here the mean is known.
    known = (series**2).mean(axis=1)
    assert variance_size(n, rho) == pytest.approx(2.0 / known.var(), rel=0.04)


def test_the_planned_launches_accept_a_machine_at_its_promise() -> None:
    n = values_needed(1.0, 0.05, 0.05)
    assert n is not None
    rng = np.random.default_rng(2)
    outcomes = {
        times: [
            decide_variation(
                100.0 * (1.0 + 0.01 * times * rng.standard_normal(n)), 0.01, 1.0, KNOWN, 0.05, 0.05
            ).outcome
            for _ in range(400)
        ]
        for times in (1.0, 2.0)
    }
    assert outcomes[1.0].count("accepted") >= 0.92 * 400
    assert outcomes[1.0].count("rejected") <= 0.05 * 400 + 9
    assert outcomes[2.0].count("accepted") <= 0.05 * 400 + 9


def test_a_margin_that_no_launches_show_is_said() -> None:
    assert values_needed(0.01, 0.05, 0.05) is None
    agreed = contract(f'{PROMISE}margin = "1%"\n')
    (row,) = plan_of(agreed, items_of(agreed, [])).commitments
    assert row.launches is None
    assert "agree on a greater margin" in row.sentence


def test_days_are_compared_by_their_medians() -> None:
    utc = 86400.0 * np.array([0.2, 0.4, 0.9, 1.1, 3.0])
    medians, begins = day_medians(np.array([1.0, 5.0, 3.0, 7.0, 8.0]), utc)
    assert medians.tolist() == [3.0, 7.0, 8.0]
    assert (begins / 86400.0).tolist() == [0.0, 1.0, 3.0]


@pytest.mark.parametrize(("cov", "outcome"), [(0.004, "accepted"), (0.04, "rejected")])
def test_a_run_is_judged(tmp_path: Path, cov: float, outcome: str) -> None:
    times = [(PINGPONG, normal_times(1, 1e-3, 30, cov=cov))]
    times += [(cell, normal_times(2 + k, 1.0, 30)) for k, cell in enumerate(OTHERS)]
    run = filed_run(tmp_path, times)
    found = find(contract(PROMISE), read_measured(tmp_path, [run.name]))
    (each,) = found.variations
    assert (found.outcome, each.outcome) == (outcome, outcome)
    assert each.used == 30
    assert (
        SUBJECT.answer(found).verdict
        == {
            "accepted": "Accepted: 1 promise, 1 accepted.",
            "rejected": "Rejected: 1 promise, 1 rejected.",
        }[outcome]
    )


def test_days_of_several_runs_are_one_series(tmp_path: Path) -> None:
    """Each day alone is steady, but the days differ by 5%."""
    names = []
    for day in range(24):
        median = 1e-3 * (1.0 + 0.05 * (day % 2))
        times = [(cell, normal_times(day, median, 6, cov=0.001)) for cell in [PINGPONG, *OTHERS]]
        names.append(filed_run(tmp_path, times, utc=BEGIN + 86400.0 * day).name)
    runs = read_measured(tmp_path, names)
    (days,) = find(contract(f'{PROMISE}between = "days"\n'), runs).variations
    assert (days.used, days.outcome) == (24, "rejected")
    assert days.value == pytest.approx(0.025, rel=0.05)
    one = find(contract(PROMISE), runs[:1]).variations[0]
    assert (one.used, one.value) == (6, pytest.approx(0.001, rel=0.8))


def test_a_promise_without_cells_says_so(tmp_path: Path) -> None:
    run = filed_run(tmp_path, [(cell, normal_times(1, 1.0, 6)) for cell in OTHERS])
    (each,) = find(contract(PROMISE), read_measured(tmp_path, [run.name])).variations
    assert (each.outcome, each.reason) == ("undecided", "The runs have no such cell.")
