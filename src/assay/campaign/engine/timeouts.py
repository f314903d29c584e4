"""Limits on the time of commands, and on the silence of kernels, before they count as hung."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Protocol

from assay.kernels import known_kernel
from assay.kernels.outside import is_beside
from assay.model.cell import Cell
from assay.plans.beside.limits import first_limit

# Multiple of the expected time: for a command, the perfectly scaled time of the quickest placement;
# for a kernel, one operation at its usual rate. A command may take the seconds in addition.
TIMES, SECONDS = 5.0, 10.0
# Seconds within which ranks must end after the last measurement: MPI_Finalize can wait forever.
ENDING = 60.0


class TimedCell(Protocol):
    """A cell with the seconds of its last measurement."""

    cell: Cell
    wall: float | None
    failure: str | None


def time_limit(cells: Sequence[Cell], measured: Iterable[TimedCell]) -> float:
    """Maximum seconds of a launch of these cells in total; inf without a limit. assay's own kernels
    have no limit, since they report their progress.

    The plan may limit a command. Otherwise the limit is five times the time of the quickest
    placement so far, scaled perfectly to fewer cores, plus ten seconds. Before the first launch has
    ended, the limit of a site's executable is ``first_limit``. A user's command then has no limit
    except the patience.
    """
    measured = list(measured)
    return sum(_limit(cell, measured) for cell in cells)


def longest_silence(cells: Sequence[Cell], patience: float) -> float:
    """Seconds without reports after which a launch of these cells is given up.

    This is ``patience``, or more if one operation of a kernel is expected to take longer. Many
    kernels report nothing within an operation; others report only between steps, which can take
    minutes.
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
