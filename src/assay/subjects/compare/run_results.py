"""The results of a run, or of a part of it, as a side of a comparison."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import msgspec
import numpy as np

from assay.arrays import Floats
from assay.kernels import known_kernel
from assay.kernels.naming import cell_title
from assay.kernels.npb.common import is_plain
from assay.model.cell import Cell
from assay.questions.common.code_factors import printed_codes
from assay.questions.common.contention import together
from assay.records.model import Measurement, RunData
from assay.stats.cells.contention import Contention, contention_of
from assay.stats.compare.levels import combined, numbered
from assay.stats.repeats.repeats import Repeats, joined, repeats_of
from assay.subjects.compare.results import (
    OUTSIDE_CODE,
    OWN_CODE,
    PLAIN_CODE,
    ResultSubject,
    SideResult,
    alike_of,
    subject_of,
)
from assay.subjects.compare.sides import Side

# Covariates with the clock rate of the processors: measured, and as reported by the system.
_CLOCKS = ("clock_rate", "frequency")


@dataclass
class RunResults:
    """The results of a side, by metric; each metric is read once."""

    side: Side
    _by_metric: dict[str, list[SideResult]] = field(default_factory=dict)

    @cached_property
    def main(self) -> list[SideResult]:
        """Results by headline metric.

        An imported code that corresponds to a kernel has that kernel's metric.
        """
        found = self._results(None)
        if not self.side.run.manifest.imported:
            return found
        others: dict[str, dict[str, SideResult]] = {}
        for place, each in enumerate(found):
            alike = alike_of(each.cell)
            if alike is None:
                continue
            metric, _ = alike
            if metric not in others:
                others[metric] = {other.cell.id: other for other in self._results(metric)}
            found[place] = others[metric].get(each.cell.id, each)
        return found

    def of(self, metric: str) -> list[SideResult]:
        """The results of all cells that have this metric."""
        if metric not in self._by_metric:
            self._by_metric[metric] = self._results(metric)
        return self._by_metric[metric]

    def sessions(self) -> int:
        """The number of sessions with results; 0 if the run was not measured in sessions."""
        return max((int(np.unique(r.session[r.session >= 0]).size) for r in self.main), default=0)

    def clock(self) -> float | None:
        """The median clock rate of the side's results, in Hz."""
        known = [each.clock for each in self.main if each.clock]
        return float(np.median(known)) if known else None

    def contention(self) -> Contention | None:
        """Contention by other processes during all measurements of the side together."""
        runs = self.side.runs
        if self.side.pooled:
            return contention_of(
                [m for run in runs for m in run.measurements], runs[0].manifest.system
            )
        return together(contention_of(run.measurements, run.manifest.system) for run in runs)

    def _results(self, metric: str | None) -> list[SideResult]:
        side = self.side
        parts = [each for run in side.runs for each in repeats_of(run, metric) if len(each)]
        if side.nodes is not None:
            # Node sets are random samples of nodes; here the side itself names its nodes.
            parts = [_without_node_set(part) for part in parts]
        codes, printed = _codes(side.run), printed_codes(side.run)
        reported = _reported_clock(side.run)
        contention = self._contention
        return [
            _result(
                _by_run(each) if side.pooled else each,
                codes,
                printed,
                reported,
                contention.get(each.cell.id),
            )
            for each in joined(parts)
        ]

    @cached_property
    def _contention(self) -> dict[str, Contention | None]:
        """Contention by other processes during each cell, by the cell's id.

        A group has runs of different machines; runs named as one side share a machine.
        """
        by_run: list[tuple[RunData, dict[str, list[Measurement]]]] = []
        for run in self.side.runs:
            by_cell: dict[str, list[Measurement]] = {}
            for measurement in run.measurements:
                cell = measurement.cell
                if self.side.nodes is not None:
                    cell = _without_set(cell)
                by_cell.setdefault(cell.id, []).append(measurement)
            by_run.append((run, by_cell))
        cells = dict.fromkeys(cell for _, by_cell in by_run for cell in by_cell)
        if self.side.pooled:
            system = self.side.run.manifest.system
            return {
                cell: contention_of([m for _, each in by_run for m in each.get(cell, ())], system)
                for cell in cells
            }
        return {
            cell: together(
                contention_of(each[cell], run.manifest.system)
                for run, each in by_run
                if cell in each
            )
            for cell in cells
        }


def _result(
    found: Repeats,
    codes: dict[str, str],
    printed: dict[str, str],
    reported: float | None,
    contention: Contention | None,
) -> SideResult:
    code = codes.get(found.cell.id)
    own = _own_code(found.cell, printed)
    alike = None if code is None else alike_of(found.cell)
    subject: ResultSubject | None = subject_of(found.cell, found.metric)
    metric, unit, better = found.metric, found.unit, found.better
    if code is not None:
        subject = None if alike is None or alike[0] != metric else alike[1]
        metric = metric if subject is None else subject.metric
    return SideResult(
        cell=found.cell,
        name=cell_title(found.cell),
        metric=metric,
        unit=unit,
        better=better,
        values=found.values,
        code=own if code is None else code,
        foreign=code is not None,
        subject=subject,
        session=found.session_numbers(),
        hosts=found.hosts,
        clock=_clock(found) or (None if code is not None else reported),
        contention=contention,
    )


def _own_code(cell: Cell, printed: dict[str, str]) -> str:
    """The code of a cell that assay measured. ``printed``: the code of the site's executables."""
    if cell.id in printed:
        return printed[cell.id]
    kernel = known_kernel(cell.kernel)
    if kernel is not None and kernel.outside:
        return OUTSIDE_CODE
    return PLAIN_CODE if is_plain(cell.parameters) else OWN_CODE


def _without_node_set(found: Repeats) -> Repeats:
    return replace(found, cell=_without_set(found.cell))


def _by_run(found: Repeats) -> Repeats:
    """The results, where each run or each session of a run counts as a session."""
    run, _ = numbered(found.run)
    session = found.session_numbers()
    return replace(found, session=combined([run, session + 1], len(found)))


def _without_set(cell: Cell) -> Cell:
    if not cell.placement.node_set:
        return cell
    placement = msgspec.structs.replace(cell.placement, node_set=0)
    return Cell(cell.kernel, cell.parameters, placement, cell.toolchain)


def _codes(run: RunData) -> dict[str, str]:
    """The code of each imported cell with its version, by the cell's id; empty for other runs."""
    if not run.manifest.imported:
        return {}
    codes: dict[str, str] = {}
    for measurement in run.measurements:
        facts = measurement.record.facts
        words = [str(facts.get("tool") or measurement.cell.kernel), str(facts.get("version") or "")]
        codes.setdefault(measurement.cell.id, " ".join(filter(None, words)))
    return codes


def _clock(found: Repeats) -> float | None:
    """The median clock rate of the launches; the measured rate if there is one."""
    for name in _CLOCKS:
        values: Floats = found.covariates.get(name, np.empty(0))
        known = values[np.isfinite(values) & (values > 0.0)]
        if known.size:
            return float(np.median(known))
    return None


def _reported_clock(run: RunData) -> float | None:
    """The clock that the system reported when the run began, in Hz."""
    processor = run.manifest.system.get("processor")
    frequency = processor.get("frequency") if isinstance(processor, dict) else None
    value = frequency.get("current") if isinstance(frequency, dict) else None
    return float(value) if isinstance(value, int | float) and value > 0 else None


def codes_of(results: Sequence[SideResult]) -> list[str]:
    """The codes of a side, the most frequent first."""
    return [code for code, _ in Counter(each.code for each in results).most_common()]
