"""What a run says about the next machine: figures of a measured node, and the answer on design

The run of the suite quick gets new launches, as in ``answers``. `assay design --from RUN` prints
the rates of its node with intervals. A claim is such an interval; its class is the confidence in
this number. It is right if it contains the rate without noise. The answer on design of a run states
nothing, since a run has neither a workload nor prices.
"""

from __future__ import annotations

import re
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from answers import COV, SHAPES, STATED, _cells, _with_factors, _with_others
from rate import Rate

from assay.design.parts.measured import MeasuredRun, catalogue_of_runs
from assay.questions.common.confidence import confidence_in
from assay.questions.common.question import Measured, ask
from assay.questions.common.selection import Point
from assay.questions.design.question import QUESTION
from assay.records.model import RunData
from assay.records.reading import read_run
from assay.stats.cells.summarise import summarise_cells
from assay.stats.core.model import CellSummary

SETTINGS = ((9, 10), (30, 0))
_LEAST = 50


def rates(trials: int, seed: int) -> Iterable[Rate]:
    """Right intervals by confidence, all distributions together and each; a trial is four rates."""
    from report_gallery import measured_suite

    with tempfile.TemporaryDirectory() as folder:
        run = read_run(measured_suite(Path(folder), "quick", "cluster"))
    count = _cells(run)
    exact = summarise_cells(_with_factors(run, np.ones((count, 9))))
    truth = {name: value for name, (value, _, _) in _figures(run, exact).items()}
    said = of = 0
    for place, (name, draw) in enumerate(SHAPES.items()):
        right: Counter[str] = Counter()
        made: Counter[str] = Counter()
        for launches, others in SETTINGS:
            rng = np.random.default_rng((seed, place, launches))
            for _ in range(max(trials // 25, 2)):
                noisy = _with_factors(run, draw(rng, count, launches))
                known = [np.median(draw(rng, count, launches), axis=1) for _ in range(others)]
                cells = _with_others(summarise_cells(noisy), exact, noisy, known)
                for figure, (_, interval, confidence) in _figures(noisy, cells).items():
                    made[confidence] += 1
                    right[confidence] += interval[0] <= truth[figure] <= interval[1]
                answer = ask(QUESTION, Measured(noisy, cells)).answer
                of += 1
                said += bool(answer.confidence or answer.evidence or answer.advice)
        for confidence, stated in STATED.items():
            if made[confidence] >= _LEAST:
                yield Rate(
                    f"the interval of a measured node's figure holds it, {confidence} confidence",
                    f"{name}, CoV {COV:.1%}, 9 launches and 10 other runs, or 30 launches",
                    right[confidence],
                    made[confidence],
                    stated,
                    "coverage",
                )
    what = "the answer on design states a number, a confidence or a recommendation"
    yield Rate(what, "runs of quick, all distributions", said, of, 0.0, "false alarm")


def _figures(
    run: RunData, cells: Sequence[CellSummary]
) -> dict[str, tuple[float, tuple[float, float], str]]:
    """Rate, interval and confidence of each figure that the catalogue states with an interval."""
    catalogue = catalogue_of_runs([MeasuredRun(run, cells, "2026-01-01")])
    (node,) = tomllib.loads(catalogue)["node"]
    stated = {**node, **node.get("rates", {})}
    found = {}
    for name, figure in stated.items():
        if isinstance(figure, dict) and "interval" in figure:
            value = _number(figure["value"])
            low, high = map(_number, figure["interval"])
            for point in _points(cells):
                if f"{point.metric.median:.6g}" == f"{value:.6g}":
                    found[name] = value, (low, high), confidence_in(point).confidence
    return found


def _points(cells: Sequence[CellSummary]) -> Iterator[Point]:
    for cell in cells:
        for metric in cell.metrics.values():
            if metric.ci95 is not None:
                yield Point(cell, metric)


def _number(text: str) -> float:
    found = re.match(r"[-+.\de]+", text)
    assert found
    return float(found[0])
