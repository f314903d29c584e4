"""What the launches of a run's cells show about the dependence of successive launches."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from assay.acceptance.decision import Dependence
from assay.records.model import RunData
from assay.stats.cells.dependence import LaunchSeries, dependence_limits
from assay.stats.cells.summarise import launch_value
from assay.stats.core.launches import dependence_of

# Standard errors that are added to the autocorrelation of all cells, as for the interval of a cell.
_ADDED, _EVIDENT = 1.5, 1.5


class RunEvidence:
    """The launches of all cells of a run.

    What counts for a look at a cell are the launches of the other cells up to the same block of the
    run. Later launches change nothing, so that a decision stays what it was when it was made.
    """

    def __init__(self, run: RunData) -> None:
        values: dict[str, dict[int, float]] = {}
        for measurement in run.measurements:
            value = launch_value(measurement) if measurement.record.verified is not False else None
            if value is not None:
                own = values.setdefault(measurement.cell.id, {})
                # Results of other programs may lack numbers.
                number = measurement.replicate
                own[number if number not in own else len(own)] = value
        self._values = {name: dict(sorted(each.items())) for name, each in values.items()}
        self._limits: dict[int, dict[str, Dependence]] = {}

    def of_others(self, cell: str, launches: int) -> Dependence:
        """What the other cells show when the cell, by its id, has this many launches."""
        numbers = list(self._values.get(cell, ()))
        if not 0 < launches <= len(numbers):
            return Dependence()
        last = numbers[launches - 1]
        if last not in self._limits:
            self._limits[last] = self._until(last)
        return self._limits[last].get(cell, Dependence())

    def _until(self, last: int) -> dict[str, Dependence]:
        series = {}
        for name, values in self._values.items():
            kept = {number: value for number, value in values.items() if number <= last}
            series[name] = LaunchSeries(list(kept), np.array(list(kept.values())))
        return dict(zip(series, dependences(list(series.values())), strict=True))


def dependences(cells: Sequence[LaunchSeries]) -> list[Dependence]:
    """What the other cells show of each cell."""
    series = [cell.values for cell in cells]
    halves = [each[start::2] for each in series for start in (0, 1)]
    # Levels that last decay more slowly than an autoregressive series: they show at a lag of two.
    together = max(
        dependence_of(*series, added=_ADDED),
        math.sqrt(dependence_of(*halves, added=_ADDED, evident=_EVIDENT)),
    )
    return [
        Dependence(limit.cells, limit.autocorrelation, together)
        for limit in dependence_limits(cells)
    ]
