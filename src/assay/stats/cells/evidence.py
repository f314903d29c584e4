"""The evidence for the intervals of a run's cells, from all of its cells together."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from assay.model.replication import Replication
from assay.stats.cells.caveats import CaveatInputs
from assay.stats.cells.dependence import NEEDED, LaunchSeries, dependence_limits
from assay.stats.cells.expected_coverage import expected_coverage
from assay.stats.cells.launch_rule import needs_more
from assay.stats.core.intervals import smallest_size
from assay.stats.core.model import CellSummary, ClaimEvidence

# Share of all cells that miss the median because they stopped at an interval that was narrow by
# chance, at most (docs/methods/sampling.md, "Optional stopping"). If few cells of a run stop early,
# these misses are a large share of them.
_MISSES = 0.02


def with_evidence(
    cells: Sequence[CellSummary], launches: Sequence[CaveatInputs | None], rule: Replication
) -> list[CellSummary]:
    """The cells with the evidence for their intervals; ``launches``: of their headline metrics."""
    known = [place for place, each in enumerate(launches) if each is not None]
    inputs = [each for each in launches if each is not None]
    limits = dependence_limits([_series(each) for each in inputs])
    counts = [len(each.medians) for each in inputs]
    found = list(cells)
    for number, (place, limit) in enumerate(zip(known, limits, strict=True)):
        count = counts[number]
        if count < smallest_size():
            continue
        early = None
        coverage: float | None = expected_coverage(count, limit.autocorrelation)
        if _stopped_early(inputs[number], rule):
            others = counts[:number] + counts[number + 1 :]
            early = sum(other <= count for other in others) / max(len(others), 1)
            known_loss = early > 0.0 and limit.cells >= NEEDED
            coverage = max(coverage - _MISSES / early, 0.0) if coverage and known_loss else None
        evidence = ClaimEvidence(
            launches=count,
            cells=limit.cells,
            autocorrelation=limit.autocorrelation,
            early=early,
            coverage=coverage,
        )
        found[place] = msgspec.structs.replace(found[place], evidence=evidence)
    return found


def _series(cell: CaveatInputs) -> LaunchSeries:
    numbers = [each.replicate for each in cell.measurements]
    if len(set(numbers)) != len(cell.medians):
        numbers = list(range(len(cell.medians)))
    return LaunchSeries(numbers, cell.medians)


def _stopped_early(cell: CaveatInputs, rule: Replication) -> bool:
    """Whether the cell's own results ended it, before the maximum number of launches."""
    if rule.repeated or rule.unbroken or cell.stop != "precision":
        return False
    values = [float(value) for value in cell.medians]
    return len(values) < rule.max_launches and needs_more(values, rule).stop == "precision"
