"""Cost and variation of past launches, and the number of samples of the next launches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from statistics import median

from assay.kernels import is_search, known_kernel
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.model.plan import Plan
from assay.model.replication import Replication
from assay.records.schema import MeasurementRecord
from assay.stats.cells.effort import (
    LaunchEffort,
    LaunchVariation,
    levels_of,
    most_samples,
    requested_at,
)

# Toolchain and placement. Cells with the same values share launches.
Place = tuple[str, Placement]


class Efforts:
    """Past launches of the cells that may be measured in more and shorter launches.

    ``chosen``: ids of cells that only searches request. The search decides when these cells are
    done.
    """

    def __init__(self, plan: Plan, chosen: Collection[str]) -> None:
        self._rule = plan.replication
        self._seconds = plan.replication.budget / max(len(plan.cells), 1)
        self._launches: dict[str, dict[int, LaunchEffort]] = {
            cell.id: {}
            for cell in plan.cells
            if cell.id not in chosen and may_be_short(cell, plan.replication)
        }
        self._unbroken = dict.fromkeys(self._launches, 0)  # consecutive launches from the first one
        # Seconds outside all measurements, for launches that ended normally.
        self._beside: dict[Place, dict[str, float]] = {}
        self._levels: dict[str, tuple[int, LaunchVariation | None]] = {}

    def add(
        self,
        cell: Cell,
        replicate: int,
        record: MeasurementRecord,
        *,
        value: float,
        samples: int,
        launch: str,
        beside: float | None,
    ) -> None:
        """Add a valid measurement with its value and its number of samples.

        ``beside``: seconds of its launch outside all measurements; None unless the launch ended
        normally.
        """
        if cell.id not in self._launches:
            return
        self._launches[cell.id][replicate] = LaunchEffort(
            value=value,
            half_width=record.half_width,
            samples=samples,
            warmup=min(record.warmup or 0, samples // 2),
            sampling=sampling_seconds(record),
            wall=record.wall,
        )
        if beside is not None:
            self._beside.setdefault(place_of(cell), {})[launch] = max(beside, 0.0)

    def most(self, replicate: int, cells: Collection[Cell]) -> dict[str, int]:
        """The maximum number of samples for each of a block's cells, by cell id.

        It depends only on launches of earlier blocks without gaps, so an interrupted run that
        measured blocks out of order decides the same.
        """
        together = Counter(map(place_of, cells)) if self._launches else {}
        shared = {
            place: median(self._beside[place].values()) / count
            for place, count in together.items()
            if place in self._beside
        }
        return {cell.id: self._most(replicate, cell, shared) for cell in cells}

    def _most(self, replicate: int, cell: Cell, shared: Mapping[Place, float]) -> int:
        levels = self._levels_of(cell.id, replicate)
        if levels is None:
            return self._rule.max_samples
        return most_samples(levels, shared.get(place_of(cell), 0.0), self._seconds, self._rule)

    def _levels_of(self, name: str, replicate: int) -> LaunchVariation | None:
        launches = self._launches.get(name)
        if launches is None:
            return None
        while self._unbroken[name] in launches:
            self._unbroken[name] += 1
        point = requested_at(min(self._unbroken[name], replicate))
        known = self._levels.get(name)
        if known is None or known[0] != point:
            first = [launches[k] for k in range(point)]
            known = self._levels[name] = point, levels_of(first, self._rule)
        return known[1]


def may_be_short(cell: Cell, rule: Replication) -> bool:
    """Whether a cell's samples only serve the median across launches.

    False if the plan fixes the number of launches or their time, since all launches must then be
    alike. False for searches and for kernels whose result is not the time per sample but another
    series, such as lost time. Their samples are the result.
    """
    kernel = known_kernel(cell.kernel)
    headline = kernel.metric(kernel.headline) if kernel else None
    return (
        rule.min_launches < rule.max_launches
        and rule.min_samples < rule.max_samples
        and not rule.unbroken
        and not rule.repeated
        and not is_search(cell)
        and headline is not None
        and headline.series == "time"
    )


def sampling_seconds(record: MeasurementRecord) -> float:
    """Seconds of a measurement spent on samples; its whole time if they are not recorded."""
    return min(record.covariates.get("sampling_seconds") or record.wall, record.wall)


def place_of(cell: Cell) -> Place:
    """The toolchain and placement of a cell, which decide with which cells it shares launches."""
    return cell.toolchain, cell.placement
