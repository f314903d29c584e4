"""Judges results by the ``[[expect]]`` of the config.

A result misses a value only if its whole 95% interval does. Noise alone then fails at most 5% of
the steady cells that lie exactly on the limit, and hardly any cells within it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from assay.arrays import Floats
from assay.config.expectation import FEWEST_RUNS, Expectation, unmatched
from assay.errors import AssayError
from assay.kernels import is_search, known_kernel
from assay.kernels.naming import cell_name
from assay.records.model import RunData, system_name
from assay.stats.cells.pattern import selects
from assay.stats.core.model import CellSummary, MetricSummary
from assay.units import counted, format_change, format_quantity, parse_quantity

# For expectations from history: the one-sided probability that a cell of a steady machine misses,
# and the minimum share by which a missing cell is worse.
LEVEL, LEAST = 0.001, 0.01

Outcome = Literal["met", "missed", "undecided", "unmeasured"]


@dataclass(frozen=True)
class Judgement:
    """The outcome of one expectation for one cell."""

    #: Name of the cell; the expectation's pattern if it selects no cell.
    cell: str
    metric: str
    #: "undecided" if the median is beyond a limit but its 95% interval reaches it, or if too few
    #: earlier runs exist; "unmeasured" if there is no result. ``sentence`` gives the numbers.
    outcome: Outcome
    sentence: str
    #: Node of a group that has the cell; otherwise empty.
    node: str = ""
    #: Wall time of the cell's measurements, s.
    seconds: float = 0.0

    @property
    def failed(self) -> bool:
        """Whether the expectation is missed or has no result; false if it is undecided."""
        return self.outcome in ("missed", "unmeasured")


def judge(
    expectations: Sequence[Expectation],
    cells: Sequence[CellSummary],
    earlier: Mapping[str, Floats],
    node: str = "",
) -> list[Judgement]:
    """Judge each expectation for every cell that it selects, in the order of the config.

    ``earlier``: medians of the headline metric in earlier runs, by cell id. Raises AssayError if a
    value's unit differs from the metric's unit, or if a metric is unknown.
    """
    found: list[Judgement] = []
    for expectation in expectations:
        chosen = [c for c in cells if selects(expectation.cells, c) and not is_search(c.cell)]
        if not chosen:
            sentence = "The run has no such cell."
            found.append(Judgement(expectation.cells, "", "unmeasured", sentence, node))
        found += [_of_cell(expectation, c, earlier.get(c.id), node) for c in chosen]
    return found


def _of_cell(
    expectation: Expectation, cell: CellSummary, earlier: Floats | None, node: str
) -> Judgement:
    name = f"{cell_name(cell.cell)}, {_placement(cell)}"
    kernel = known_kernel(cell.kernel)
    metric = expectation.metric or (kernel.headline if kernel else next(iter(cell.metrics), "time"))
    if cell.status != "ok" or cell.verified is False or not cell.metrics:
        why = cell.error or ("its check failed" if cell.verified is False else "it has no result")
        return Judgement(name, metric, "unmeasured", f"Not measured: {why.rstrip('.')}.", node)
    if metric not in cell.metrics:
        raise unmatched(expectation.cells, metric, cell.metrics, expectation.where)
    summary = cell.metrics[metric]
    if expectation.like is not None:
        outcome, sentence = _by_history(summary, earlier)
    else:
        outcome, sentence = _by_value(expectation, summary)
    return Judgement(
        cell=name,
        metric=metric,
        outcome=outcome,
        sentence=sentence,
        node=node,
        seconds=cell.span or 0.0,
    )


def _placement(cell: CellSummary) -> str:
    placement = cell.cell.placement
    return f"{counted(placement.nodes, 'node')}, {counted(placement.ranks, 'rank')}"


def _by_value(expectation: Expectation, found: MetricSummary) -> tuple[Outcome, str]:
    assert expectation.value is not None
    value = float(parse_quantity(expectation.value, found.unit, where=expectation.where))
    if not value > 0:
        raise AssayError("An expected value must be above zero.", where=expectation.where)
    sign = 1 if found.better == "more" else -1
    worst = value * (1 - sign * expectation.worse_share)
    limits = [(sign, worst)]
    if expectation.better_share is not None:
        limits.append((-sign, value * (1 + sign * expectation.better_share)))
    outcome: Outcome = "met"
    for direction, limit in limits:
        if direction * (found.median - limit) < 0:
            # The end of the interval that is nearest to the limit.
            low, high = found.ci95 or (found.median, found.median)
            nearest = high if direction > 0 else low
            beyond = direction * (nearest - limit) < 0
            outcome = "missed" if beyond else "undecided"
            break
    expected = format_quantity(value, found.unit)
    change = format_change(found.median / value - 1)
    return outcome, f"{_result(found)}, expected {expected} ({change})."


def _by_history(found: MetricSummary, earlier: Floats | None) -> tuple[Outcome, str]:
    """Judge by a prediction interval for one more value, from logarithms (Student's t)."""
    from scipy.special import stdtrit

    values = np.asarray(earlier if earlier is not None else [])
    count = int(values.size)
    if count < FEWEST_RUNS:
        runs = counted(count, "earlier run")
        return "undecided", f"{_result(found)}; {runs}, but at least {FEWEST_RUNS} are needed."
    logs = np.log(values)
    centre, spread = float(np.mean(logs)), float(np.std(logs, ddof=1))
    reach = float(stdtrit(count - 1, 1 - LEVEL)) * spread * math.sqrt(1 + 1 / count)
    reach = max(reach, math.log1p(LEAST))
    worse = (centre - math.log(found.median)) * (1 if found.better == "more" else -1)
    expected = format_quantity(math.exp(centre), found.unit)
    change = format_change(found.median / math.exp(centre) - 1)
    sentence = (
        f"{_result(found)}; the mean of {count} earlier runs is {expected} ({change}; a result "
        f"{math.expm1(reach):.1%} worse would be a miss)."
    )
    return "missed" if worse > reach else "met", sentence


def _result(found: MetricSummary) -> str:
    return format_quantity(found.median, found.unit, found.ci95)


def earlier_values(run: RunData) -> dict[str, Floats]:
    """The medians of the earlier runs of this system in the same folder, by cell id."""
    from assay.records.store import RunFilter, Store
    from assay.stats.repeats.stored_repeats import repeats_in

    if run.path is None:
        return {}
    choice = RunFilter(system=system_name(run.manifest), until=run.manifest.utc)
    found = {}
    for repeats in repeats_in(Store(run.path.parent), choice):
        runs = np.array(repeats.run)
        found[repeats.cell.id] = np.array(
            [float(np.median(repeats.values[runs == name])) for name in dict.fromkeys(repeats.run)]
        )
    return found
