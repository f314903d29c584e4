"""Results in order of time: single runs, and running medians with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.arrays import Floats
from assay.questions.steadiness.variation.cells import CellVariation, notable
from assay.stats.core.intervals import median_interval
from assay.stats.repeats.session_labels import sessions
from assay.units import Interval

SEQUENCES = 4  # maximum number of lines that stay legible when they cross
# Minimum number of runs in a window: with fewer, the median has no interval.
MIN_WINDOW = 6
# Maximum number of rows of all lines: points of single runs, and windows.
_RUNS, _WINDOWS = 640, 160


@dataclass(frozen=True)
class RunningMedian:
    """The median of consecutive runs."""

    #: Number of the session.
    session: int
    #: Mean time of the runs since the first run, s.
    time: float
    #: Excess over the cell's median, as a share of the median.
    slower: float
    #: 95% interval of ``slower``.
    ci95: Interval | None


@dataclass(frozen=True)
class RunSequence:
    """One cell's results in order of time."""

    #: The cell.
    cell: CellVariation
    #: Session, time (s since the first run of all cells) and slowness (share of the cell's median)
    #: of each drawn run.
    runs: tuple[tuple[int, float, float], ...]
    #: Running medians.
    windows: tuple[RunningMedian, ...]


@dataclass(frozen=True)
class RunSequences:
    """The most notable cells in order of time."""

    #: Time of the first run, s since 1970 (UTC).
    began: float
    #: Maximum number of drawn runs per cell.
    most: int
    #: Whether a cell has more runs than are drawn.
    thinned: bool
    #: One sequence per cell.
    lines: tuple[RunSequence, ...]


def sequences_of(varied: Sequence[CellVariation]) -> RunSequences | None:
    """The sequences of the most notable cells whose times are not all equal; None without such
    cells.
    """
    chosen = [each for each in notable(varied, SEQUENCES) if np.ptp(each.times) > 0.0]
    if not chosen:
        return None
    began = min(float(each.repeats.utc[0]) for each in chosen)
    most, windows = max(1, _RUNS // len(chosen)), max(2, _WINDOWS // len(chosen))
    return RunSequences(
        began,
        most,
        thinned=max(len(each.times) for each in chosen) > most,
        lines=tuple(_sequence(each, began, most, windows) for each in chosen),
    )


def _sequence(varied: CellVariation, began: float, most: int, windows: int) -> RunSequence:
    time, slower = varied.repeats.utc - began, varied.slower
    session = sessions([varied.repeats])
    size = max(MIN_WINDOW, -(-slower.size // windows))
    medians = []
    for number in np.unique(session):
        (members,) = np.nonzero(session == number)
        if members.size < size:
            continue
        medians += [
            RunningMedian(
                session=int(number),
                time=float(time[part].mean()),
                slower=float(np.median(slower[part])),
                ci95=median_interval(slower[part]),
            )
            for part in np.array_split(members, max(1, members.size // size))
        ]
    return RunSequence(
        cell=varied,
        runs=tuple(
            (int(session[place]), float(time[place]), float(slower[place]))
            for place in _drawn(slower, most)
        ),
        windows=tuple(medians),
    )


def _drawn(values: Floats, most: int) -> list[int]:
    """Indices of the points that are drawn: all, or the minimum and maximum of each interval."""
    if values.size <= most:
        return list(range(values.size))
    kept: set[int] = set()
    for part in np.array_split(np.arange(values.size), max(1, most // 2)):
        kept |= {int(part[np.argmin(values[part])]), int(part[np.argmax(values[part])])}
    return sorted(kept)
