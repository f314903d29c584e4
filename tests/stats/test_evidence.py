"""The evidence for cells' intervals: whole runs with planted launches, up to the confidence."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import pytest

from assay.model.replication import Replication
from assay.questions.common.confidence import confidence_in
from assay.questions.common.selection import Point
from assay.stats.cells.caveats import CaveatInputs
from assay.stats.cells.evidence import with_evidence
from assay.stats.core.launches import launch_interval
from assay.stats.core.model import CellSummary, ClaimEvidence, MetricSummary, RunAgreement, Stop
from records_builder import make_cell

CELL = make_cell()


def rule(least: int, most: int) -> Replication:
    return Replication(precision=0.01, min_launches=least, max_launches=most)


def summary(values: np.ndarray, stop: Stop) -> CellSummary:
    metric = MetricSummary(
        unit="s", better="less", median=float(np.median(values)), ci95=launch_interval(values),
        min=0.0, max=2.0, p05=0.0, p95=2.0, cov=0.02, cov_samples=None, n=values.size,
        samples=values.size, stop=stop,
    )  # fmt: skip
    return CellSummary(
        kernel=CELL.kernel, id=CELL.id, cell=CELL, status="ok", verified=True, parameters={},
        metrics={"time": metric}, caveats=[],
    )  # fmt: skip


def judged(rows: Sequence[np.ndarray], by: Replication, stop: Stop = "precision") -> list[Point]:
    inputs = [CaveatInputs(CELL, [], [], row, None, by.precision, 0.95, stop) for row in rows]
    found = with_evidence([summary(row, stop) for row in rows], inputs, by)
    return [Point(each, each.metrics["time"]) for each in found]


def normal(rng: np.random.Generator, cells: int, n: int, cov: float = 0.02) -> np.ndarray:
    return 100.0 * (1.0 + cov * rng.standard_normal((cells, n)))


def autoregressive(rng: np.random.Generator, cells: int, n: int, rho: float) -> np.ndarray:
    rows = rng.standard_normal((cells, n))
    for launch in range(1, n):
        rows[:, launch] = rho * rows[:, launch - 1] + (1 - rho**2) ** 0.5 * rows[:, launch]
    return 100.0 * (1.0 + 0.02 * rows)


def evidence(point: Point) -> ClaimEvidence:
    assert point.summary.evidence is not None
    return point.summary.evidence


@pytest.mark.parametrize("rho", [0.3, 0.5, 0.7])
def test_few_dependent_launches_have_low_confidence_however_many_cells(rho: float) -> None:
    rng = np.random.default_rng(int(10 * rho))
    rows = [row for _ in range(8) for row in [*judged(autoregressive(rng, 30, 8, rho), rule(8, 8))]]
    low = [confidence_in(point).confidence == "low" for point in rows]
    assert np.mean(low) > 0.85


@pytest.mark.parametrize(("cells", "n", "confidence"), [(40, 20, "medium"), (40, 30, "high")])
def test_independent_launches_of_many_cells_are_trusted_and_right(
    cells: int, n: int, confidence: str
) -> None:
    rng = np.random.default_rng(n)
    found = [point for _ in range(5) for point in judged(normal(rng, cells, n), rule(n, n))]
    assert np.mean([confidence_in(point).confidence == confidence for point in found]) > 0.75
    holds = [point.metric.ci95[0] <= 100.0 <= point.metric.ci95[1] for point in found]
    assert np.mean(holds) > 0.9


@pytest.mark.parametrize("rho", [0.3, 0.7])
def test_thirty_dependent_launches_of_one_cell_are_right_in_their_class(rho: float) -> None:
    rng = np.random.default_rng(30)
    found = [judged(row[None, :], rule(30, 30))[0] for row in autoregressive(rng, 200, 30, rho)]
    assert {confidence_in(point).confidence for point in found} == {"high"}
    holds = [point.metric.ci95[0] <= 100.0 <= point.metric.ci95[1] for point in found]
    assert np.mean(holds) > 0.9


def test_the_confidence_does_not_depend_on_the_cell_s_own_width() -> None:
    """Of cells that differ in one cell's scatter alone, that cell has the same evidence."""
    rng = np.random.default_rng(3)
    rows = normal(rng, 12, 12)
    narrow = rows.copy()
    narrow[0] = 100.0 + 0.01 * (rows[0] - 100.0)
    before, after = (judged(each, rule(6, 12), "launches")[0] for each in (rows, narrow))
    assert evidence(before).coverage == pytest.approx(evidence(after).coverage)


def test_a_cell_that_stops_before_the_others_is_suspect() -> None:
    rng = np.random.default_rng(4)
    rows = [normal(rng, 1, 6, 0.0001)[0], *normal(rng, 30, 12)]
    first, *rest = judged(rows, rule(6, 12))
    assert evidence(first).early == 0.0 and evidence(first).coverage is None
    assert (confidence_in(first).confidence, confidence_in(first).cause) == ("low", "early")
    assert {evidence(each).early for each in rest} == {None}  # the maximum number
    # Where most cells stop so early, stopping early is no sign of chance.
    quiet = judged(list(normal(rng, 31, 9, 0.0001)), rule(9, 12))
    assert {evidence(each).early for each in quiet} == {1.0}
    assert confidence_in(quiet[0]).cause == "one period"
    near = msgspec.structs.replace(evidence(quiet[0]), others=RunAgreement(5, 1, 0))
    known = msgspec.structs.replace(quiet[0].summary, evidence=near)
    assert confidence_in(Point(known, quiet[0].metric)).confidence == "medium"


def test_a_lone_cell_that_stops_early_has_low_confidence_even_from_twenty_launches_on() -> None:
    rng = np.random.default_rng(5)
    (found,) = judged(normal(rng, 1, 21, 0.0001), rule(6, 30))
    assert (confidence_in(found).confidence, confidence_in(found).cause) == ("low", "early")
    (whole,) = judged(normal(rng, 1, 21), rule(21, 21))
    assert confidence_in(whole).confidence == "medium"


def test_cells_without_an_interval_have_no_evidence() -> None:
    rng = np.random.default_rng(6)
    (found,) = judged(normal(rng, 1, 5), rule(6, 30), "budget")
    assert found.summary.evidence is None
    assert with_evidence([found.summary], [None], rule(6, 30)) == [found.summary]
