"""How long a command may run, and a kernel report nothing, before it counts as hung."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Protocol

from assay.kernels import known_kernel
from assay.kernels.outside import is_beside
from assay.model.cell import Cell
from assay.plans.beside.limits import first_limit

# Multiple of the expected time: of a command, the quickest placement scaled perfectly; of a kernel,
# one operation at its usual rate. A command gets the seconds in addition.
TIMES, SECONDS = 5.0, 10.0
# Seconds in which ranks end once the last measurement is recorded: MPI_Finalize can wait forever.
ENDING = 60.0


class TimedCell(Protocol):
    """A cell with the seconds that its last measurement took."""

    cell: Cell
    wall: float | None
    failure: str | None


def time_limit(cells: Sequence[Cell], measured: Iterable[TimedCell]) -> float:
    """Seconds that a launch of these cells may take together; inf without a limit.

    assay's own kernels have no limit: they report their progress. A command has the time that the
    plan gives. Otherwise it has five times the time of the quickest placement so far, scaled
    perfectly down to fewer cores, plus ten seconds. Before any launch has ended, a site's
    executable has the time of ``first_limit``, and a user's command none but the patience.
    """
    measured = list(measured)
    return sum(_limit(cell, measured) for cell in cells)


def longest_silence(cells: Sequence[Cell], patience: float) -> float:
    """Seconds without reports after which a launch of these cells is given up.

    ``patience``, or more if one operation of a kernel is expected to take longer: many kernels
    report nothing within an operation, others only between steps that can take minutes.
    """
    return max(patience, *(TIMES * _operation(cell) for cell in cells))


def _operation(cell: Cell) -> float:
    """Estimated seconds of one operation; 0 if the kernel's usual rate isn't known."""
    kernel = known_kernel(cell.kernel)
    if kernel is None or kernel.pace is None:
        return 0.0
    placement = cell.placement
    work = kernel.work(cell.parameters, placement.ranks, placement.threads)
    return work["operations"] / kernel.pace / _cores(cell)


def _limit(cell: Cell, measured: Iterable[TimedCell]) -> float:
    kernel = known_kernel(cell.kernel)
    if kernel is None or not kernel.outside:
        return math.inf
    timeout = float(cell.parameters.get("timeout", 0.0))
    if timeout > 0:
        return timeout
    alike = [
        state.wall * max(_cores(state.cell) / _cores(cell), 1.0)
        for state in measured
        if state.cell.kernel == cell.kernel and state.cell.parameters == cell.parameters
        if state.wall is not None and state.failure is None
    ]
    if alike:
        return TIMES * min(alike) + SECONDS
    return first_limit(cell.parameters, _cores(cell)) if is_beside(cell.kernel) else math.inf


def _cores(cell: Cell) -> int:
    return cell.placement.ranks * cell.placement.threads
