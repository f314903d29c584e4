"""Numbers of all answers of a run's report, by the stated confidence

Runs of suites on simulated machines get new launches: each launch multiplies all times of a cell
by one factor from a planted distribution with the median 1. The same run with the factor 1 gives
the true numbers. Other runs of the machine, where they are known, are drawn in the same way. A
claim is a row of evidence with a 95% interval, and it is right if the interval contains the true
number of that row. Its class is the confidence of its answer.
"""

from __future__ import annotations

import dataclasses
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np
from draws import Rng
from rate import Rate

from assay.questions import ask_all
from assay.questions.common.question import Measured
from assay.records.model import Measurement, RunData
from assay.records.reading import read_run
from assay.stats.cells.agreement import agreement
from assay.stats.cells.headline import headline_metric
from assay.stats.cells.summarise import summarise_cells
from assay.stats.core.model import CellSummary

COV = 0.005
# Numbers of launches, and of other runs of the machine.
SETTINGS = ((9, 0), (9, 5), (9, 10), (30, 0))
# Stated shares of right claims. Two points below what the words mean are allowed, as for single
# intervals: the measured rates of the classes are between 93 and 95, and between 88 and 90%.
STATED = {"high": 0.93, "medium": 0.88}
# A suite and a machine of the gallery.
SUITES = (("quick", "cluster"), ("npb", "cluster"), ("network", "cluster"))
# Fewer claims of a class tell nothing about it.
LEAST = 200

Factors = Callable[[Rng, int, int], np.ndarray]


def rates(trials: int, seed: int) -> Iterable[Rate]:
    """The share of right claims, by planted noise and confidence; a trial is some 100 claims."""
    from report_gallery import measured_suite

    with tempfile.TemporaryDirectory() as folder:
        runs = [read_run(measured_suite(Path(folder), *each)) for each in SUITES]
    exact = [summarise_cells(_with_factors(run, np.ones((_cells(run), 9)))) for run in runs]
    truths = [_claims(run, cells) for run, cells in zip(runs, exact, strict=True)]
    for place, (name, draw) in enumerate(SHAPES.items()):
        for launches, others in SETTINGS:
            rng = np.random.default_rng((seed, place, launches, others))
            right: Counter[str] = Counter()
            made: Counter[str] = Counter()
            for _ in range(max(trials // 50, 2)):
                for run, true_cells, truth in zip(runs, exact, truths, strict=True):
                    count = _cells(run)
                    noisy = _with_factors(run, draw(rng, count, launches))
                    known = [np.median(draw(rng, count, launches), axis=1) for _ in range(others)]
                    cells = _with_others(summarise_cells(noisy), true_cells, noisy, known)
                    for key, (confidence, _, interval) in _claims(noisy, cells).items():
                        if key in truth and interval is not None:
                            made[confidence] += 1
                            right[confidence] += interval[0] <= truth[key][1] <= interval[1]
            for confidence, stated in STATED.items():
                if made[confidence] >= LEAST:
                    yield Rate(
                        f"the interval of a number holds it, {confidence} confidence",
                        f"{name}, CoV {COV:.1%}, {launches} launches"
                        + f", {others} other runs known" * (others > 0),
                        right[confidence],
                        made[confidence],
                        stated,
                        "coverage",
                    )


Claims = dict[tuple[str, str, str], tuple[str, float, tuple[float, float] | None]]


def _claims(run: RunData, cells: Sequence[CellSummary]) -> Claims:
    """Confidence, number and interval by question, label and metric; no label that is double."""
    found: Claims = {}
    double = set()
    for reply in ask_all(Measured(run, cells)):
        for row in reply.answer.evidence:
            key = (reply.answer.question, row.label, row.metric)
            if key in found:
                double.add(key)
            found[key] = (reply.answer.confidence or "", row.value, row.ci95)
    return {key: value for key, value in found.items() if key not in double}


def _first(run: RunData) -> dict[str, Measurement]:
    """The first good measurement of each cell, by the cell's id."""
    first: dict[str, Measurement] = {}
    for measurement in run.measurements:
        if measurement.record.status == "ok":
            first.setdefault(measurement.cell.id, measurement)
    return first


def _cells(run: RunData) -> int:
    return len(_first(run))


def _with_others(
    cells: Sequence[CellSummary],
    exact: Sequence[CellSummary],
    run: RunData,
    known: Sequence[np.ndarray],
) -> list[CellSummary]:
    """The cells with what other runs show; ``known``: the median factors of each, by cell."""
    places = {name: place for place, name in enumerate(_first(run))}
    truths = {cell.id: headline_metric(cell) for cell in exact}
    found = []
    for cell in cells:
        metric, truth = headline_metric(cell), truths.get(cell.id)
        if known and cell.evidence and metric and metric.ci95 and truth:
            factors = np.array([run_factors[places[cell.id]] for run_factors in known])
            values = truth.median * (factors if truth.better == "less" else 1.0 / factors)
            others = agreement(metric.median, metric.ci95, values)
            evidence = msgspec.structs.replace(cell.evidence, others=others)
            cell = msgspec.structs.replace(cell, evidence=evidence)
        found.append(cell)
    return found


def _with_factors(run: RunData, drawn: np.ndarray) -> RunData:
    """The run with launches that repeat each cell's first launch, times factors by cell and launch.

    Every launch has all cells.
    """
    first, launches = _first(run), drawn.shape[1]
    records = [
        msgspec.structs.replace(run.launches[0], launch=f"{number:04d}", utc=1e9 + 60.0 * number)
        for number in range(1, launches + 1)
    ]
    made = [
        _repeated(measurement, number, float(drawn[row, number - 1]))
        for number in range(1, launches + 1)
        for row, measurement in enumerate(first.values())
    ]
    return dataclasses.replace(run, measurements=tuple(made), launches=tuple(records))


def _repeated(measurement: Measurement, number: int, by: float) -> Measurement:
    record = measurement.record
    series = [
        msgspec.structs.replace(one, values=[value * by for value in one.values])
        if one.unit == "s"
        else one
        for one in record.series
    ]
    # The simulated processes of others last as long as the original launches.
    covariates = {
        key: value for key, value in record.covariates.items() if key != "other_cpu_seconds"
    }
    name = f"{measurement.cell.id}-{number}"
    return dataclasses.replace(
        measurement,
        replicate=number,
        launch=f"{number:04d}",
        utc=1e9 + 60.0 * number,
        record=msgspec.structs.replace(
            record, series=series, measurement=name, stop="precision", covariates=covariates
        ),
    )


def _independent(draw: Callable[[Rng, tuple[int, int]], np.ndarray]) -> Factors:
    return lambda rng, cells, launches: 1.0 + COV * draw(rng, (cells, launches))


def _autocorrelated(by: float) -> Factors:
    def factors(rng: Rng, cells: int, launches: int) -> np.ndarray:
        noise = rng.standard_normal((cells, launches))
        for place in range(1, launches):
            noise[:, place] = by * noise[:, place - 1] + np.sqrt(1 - by**2) * noise[:, place]
        return np.asarray(1.0 + COV * noise)

    return factors


def _modes(share: float, lasting: int = 1) -> Factors:
    """Modes two CoV apart in each direction; the median of the mixture is 1."""
    from scipy.stats import norm

    apart, width = 4.0, 0.3

    def factors(rng: Rng, cells: int, launches: int) -> np.ndarray:
        phase = rng.integers(0, lasting, (cells, 1))
        blocks = rng.random((cells, launches // lasting + 2)) < share
        slow = np.take_along_axis(blocks, (np.arange(launches) + phase) // lasting, axis=1)
        noise = width * rng.standard_normal((cells, launches)) + apart * slow
        # The median of the mixture: a quantile of the frequent mode, or the middle between both.
        middle = apart / 2 if share == 0.5 else width * norm.ppf(0.5 / (1.0 - share))
        return np.asarray(1.0 + COV * (noise - middle))

    return factors


def _sine(rng: Rng, cells: int, launches: int) -> np.ndarray:
    phase = rng.uniform(0.0, 2 * np.pi, (cells, 1))
    wave = np.sqrt(2.0) * np.sin(phase + 2 * np.pi * np.arange(launches) / 10.0)
    return np.asarray(1.0 + COV * (0.9 * wave + 0.3 * rng.standard_normal((cells, launches))))


def _outliers(rng: Rng, size: tuple[int, int]) -> np.ndarray:
    return np.asarray(rng.standard_normal(size) + 10.0 * (rng.random(size) < 0.05))


def _shapes() -> Iterator[tuple[str, Factors]]:
    yield "normal", _independent(lambda rng, size: rng.standard_normal(size))
    yield "t3", _independent(lambda rng, size: rng.standard_t(3, size) / np.sqrt(3.0))
    yield "lognormal", _independent(lambda rng, size: (rng.lognormal(0.0, 0.5, size) - 1.0) / 0.6)
    yield (
        "outliers, 5% slower by 10 CoV",
        _independent(
            lambda rng, size: rng.standard_normal(size) + 10.0 * (rng.random(size) < 0.05)
        ),
    )
    for by in (0.3, 0.5, 0.7):
        yield f"AR(1) {by:g}", _autocorrelated(by)
    for share in (0.5, 0.4, 0.2, 0.05):
        yield f"two modes, {1 - share:.0%} and {share:.0%}", _modes(share)
    yield "two equal modes that last five launches", _modes(0.5, 5)
    yield "sine of ten launches", _sine


SHAPES: dict[str, Factors] = dict(_shapes())
