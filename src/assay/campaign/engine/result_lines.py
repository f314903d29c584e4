"""Prints a line for each result of a campaign when it arrives, on terminals and in pipes.

A cell has a line after its first launch, and a line after its last launch. Many cells of one kernel
on one placement, such as message sizes, share a line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING

from assay.campaign.cells.cell_state import CellState
from assay.campaign.engine.display import describe_cell, on_ranks
from assay.campaign.engine.state import CampaignState
from assay.kernels import is_search, known_kernel
from assay.launch.executor import LaunchOrder
from assay.model.cell import Cell
from assay.model.placement import Value
from assay.model.plan import Plan
from assay.records.schema import MeasurementRecord, StreamRecord
from assay.units import Interval, counted, format_quantity

if TYPE_CHECKING:
    from rich.console import Console

    from assay.campaign.engine.observer import Observer

# Maximum cells of a kernel on a placement that have separate lines.
MANY = 8


@dataclass
class _Sweep:
    """Cells that share a line, with their values after the first launch and their last results."""

    cells: frozenset[str]
    first: dict[str, CellResult] = field(default_factory=dict)
    last: dict[str, CellResult] = field(default_factory=dict)


@dataclass(frozen=True)
class CellResult:
    """The headline result of a cell so far: a value in SI units, and its interval or None."""

    value: float
    unit: str
    interval: Interval | None
    launches: int

    @property
    def text(self) -> str:
        """``12.3 GB/s, 1 launch``; ``12.31 GB/s [12.25, 12.36], 6 launches``."""
        value = format_quantity(self.value, self.unit, self.interval)
        return f"{value}, {counted(self.launches, 'launch')}"


def result_of(
    cell: Cell, used: Mapping[str, Value], costs: Sequence[float], confidence: float
) -> CellResult:
    """The headline result of a cell from its launches' median costs.

    ``used``: the resolved parameters.
    """
    from assay.stats.cells.summarise import LeftOut, work_of
    from assay.stats.core.launches import launch_interval

    kernel = known_kernel(cell.kernel)
    metric = kernel.metric(kernel.headline) if kernel else None
    middle, interval = median(costs), launch_interval(costs, confidence)
    if kernel is None or metric is None or metric.quantity is None or min(costs) <= 0.0:
        unit = metric.unit if metric is not None and metric.quantity is None else "s"
        return CellResult(middle, unit, interval, len(costs))
    try:
        work = work_of(kernel, metric.quantity, cell, used)
    except LeftOut:
        return CellResult(middle, "s", interval, len(costs))
    rates = (work / interval[1], work / interval[0]) if interval else None
    return CellResult(work / middle, metric.unit, rates, len(costs))


class ResultLines:
    """An observer that prints results, and passes all events on to another observer."""

    def __init__(self, console: Console, plan: Plan, inner: Observer) -> None:
        self._console = console
        self._inner = inner
        self._confidence = plan.replication.confidence
        self._cells = {cell.id: cell for cell in plan.cells if not is_search(cell)}
        self._sweeps: dict[str, _Sweep] = {}
        groups: dict[tuple[object, ...], list[str]] = {}
        for name, cell in self._cells.items():
            groups.setdefault((cell.kernel, cell.placement, cell.toolchain), []).append(name)
        for names in groups.values():
            if len(names) > MANY:
                self._sweeps |= dict.fromkeys(names, _Sweep(frozenset(names)))
        self._used: dict[str, Mapping[str, Value]] = {}
        self._first = False  # whether this is a cell's first launch

    def launching(self, replicate: int, order: LaunchOrder, cells: Sequence[Cell]) -> None:
        """Note that a launch is about to start."""
        self._first = replicate == 0
        self._inner.launching(replicate, order, cells)

    def record(self, record: StreamRecord) -> None:
        """Note that a record has arrived. Prints the result of a first launch."""
        self._inner.record(record)
        if isinstance(record, MeasurementRecord):
            self._measured(record)

    def measured(self, state: CellState) -> None:
        """Note that a measurement was added to a cell's state.

        Prints the result of a finished cell.
        """
        self._inner.measured(state)
        cell = self._cells.get(state.cell.id)
        if cell is None or not state.satisfied or len(state.values) < 2:
            return
        costs = [state.values[number] for number in sorted(state.values)]
        result = result_of(cell, self._used.get(cell.id, {}), costs, self._confidence)
        sweep = self._sweeps.get(cell.id)
        self._say(cell, result, sweep, sweep.last if sweep else {})

    def tick(self, state: CampaignState) -> None:
        """Note that time has passed."""
        self._inner.tick(state)

    def note(self, sentence: str) -> None:
        """Report a decision that readers of the numbers should know."""
        self._inner.note(sentence)

    def _measured(self, record: MeasurementRecord) -> None:
        from assay.stats.cells.summarise import record_value

        cell = self._cells.get(record.measurement.rpartition("-")[0])
        if cell is None:
            return
        self._used[cell.id] = record.parameters
        if record.status == "failed" or record.verified is False:
            why = record.error or "its result is wrong"
            self._print(f"{describe_cell(cell, record.parameters)}: failed ({why})")
        elif self._first and (cost := record_value(record)) is not None:
            result = result_of(cell, record.parameters, [cost], self._confidence)
            sweep = self._sweeps.get(cell.id)
            self._say(cell, result, sweep, sweep.first if sweep else {})

    def _say(
        self, cell: Cell, result: CellResult, sweep: _Sweep | None, known: dict[str, CellResult]
    ) -> None:
        """Print a result, or keep it until its sweep is complete."""
        if sweep is None:
            self._print(f"{describe_cell(cell, self._used.get(cell.id))}: {result.text}")
            return
        known[cell.id] = result
        if len(known) == len(sweep.cells):
            self._print(f"{cell.kernel} · {on_ranks(cell.placement)}: {_range(known)}")

    def _print(self, line: str) -> None:
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)


def _range(known: Mapping[str, CellResult]) -> str:
    """``24 cells, 360 ns to 1.2 ms, 1 launch each``."""
    results = sorted(known.values(), key=lambda result: result.value)
    ends = " to ".join(format_quantity(each.value, each.unit) for each in (results[0], results[-1]))
    fewest, most = (pick(each.launches for each in results) for pick in (min, max))
    number = counted(most, "launch") if fewest == most else f"{fewest} to {most} launches"
    return f"{len(results)} cells, {ends}, {number} each"
