"""How long a command may take, and a kernel say nothing, before it counts as hanging."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Protocol

from assay.kernels import known_kernel
from assay.model.cell import Cell

# Times what is expected: of a command, what perfect scaling would make of the quickest placement;
# of a kernel, one operation at its usual rate. Seconds on top of it for a command.
TIMES, SECONDS = 5.0, 10.0


class TimedCell(Protocol):
    """A cell with the seconds that its last measurement took."""

    cell: Cell
    wall: float | None
    failure: str | None


def time_limit(cells: Sequence[Cell], measured: Iterable[TimedCell]) -> float:
    """Seconds that a launch of these cells may take together; inf where nothing tells.

    Kernels of assay's own have none: they say how far they are. A command has the time that was
    asked for; else five times what it would take by the quickest placement so far if it scaled
    perfectly from that to fewer cores, for more cores take it no longer.
    """
    measured = list(measured)
    return sum(_limit(cell, measured) for cell in cells)


def longest_silence(cells: Sequence[Cell], patience: float) -> float:
    """Seconds without a word after which a launch of these cells is given up.

    ``patience``, unless one operation of a kernel is to take longer: many say nothing within one,
    and those that do say it between steps, of which the largest classes' take minutes on few cores.
    """
    return max(patience, *(TIMES * _operation(cell) for cell in cells))


def _operation(cell: Cell) -> float:
    """About how long one operation takes; 0 where the kernel's rate isn't known."""
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
    asked = float(cell.parameters.get("timeout", 0.0))
    if asked > 0:
        return asked
    alike = [
        state.wall * max(_cores(state.cell) / _cores(cell), 1.0)
        for state in measured
        if state.cell.kernel == cell.kernel and state.cell.parameters == cell.parameters
        if state.wall is not None and state.failure is None
    ]
    return TIMES * min(alike) + SECONDS if alike else math.inf


def _cores(cell: Cell) -> int:
    return cell.placement.ranks * cell.placement.threads
