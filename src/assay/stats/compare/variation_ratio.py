"""Whether the launches of one side vary more than those of another, over all cells together.

Kramer & Ryan (2003) ask whether one architecture varies more than another. The answer is the
geometric mean over the cells of the ratios of their coefficients of variation. Its test permutes
launches (``stats.compare.spreads``). Cells of a launch share its disturbances, so an assignment of
launches to the sides is the same for all cells with as many launches. The interval holds the
ratios that the test doesn't reject: the other side's deviations are divided by the ratio.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.arrays import Floats
from assay.stats.compare.spreads import relative_deviations
from assay.units import Interval

#: Fewer launches of a side show too little of their spread.
FEWEST = 6
#: Level of the test: one wrong direction in 1,000 pairs of sides with equal spreads.
LEVEL = 0.001
# Permutations for the interval and for a small p, and p from which fewer are enough.
_DRAWS, _MANY, _HOPELESS = 2000, 20_000, 0.02
_TAIL = 0.025
_SEED = 2003
# Factor from the estimate up to which ratios are sought, and number of halvings.
_FARTHEST, _HALVINGS = 1e3, 30


@dataclass(frozen=True)
class VariationRatio:
    """Coefficients of variation of one side over those of the reference."""

    #: Geometric mean over the cells.
    ratio: float
    #: 95% interval of ``ratio``.
    interval: Interval
    #: Two-sided p of equal coefficients of variation.
    p: float
    #: Number of cells with variation on both sides.
    cells: int


def variation_ratio(pairs: Sequence[tuple[Floats, Floats]]) -> VariationRatio | None:
    """The ratio of the second samples' coefficients of variation to the first samples'.

    ``pairs``: the launches of each cell on the reference and on the other side, in order of time.
    Cells with fewer than six launches on a side or without variation are left out. None if none is
    left. Launches are taken as independent of each other.
    """
    groups = _grouped(pairs)
    cells = sum(len(group.squares) for group in groups)
    if not cells:
        return None
    drawn = _Permutations(groups, _DRAWS)
    found = float(np.sum([group.logs() for group in groups])) / cells
    p = drawn.p(found, cells)
    if p <= _HOPELESS:
        p = _Permutations(groups, _MANY).p(found, cells)
    # An end is where half of the error remains on its side.
    low = _end(lambda log: drawn.tail(found, cells, log, above=True), found, -1.0)
    high = _end(lambda log: drawn.tail(found, cells, log, above=False), found, 1.0)
    return VariationRatio(math.exp(found), (math.exp(low), math.exp(high)), p, cells)


@dataclass(frozen=True)
class _Group:
    """Cells with equal numbers of launches: squared deviations, a row per cell."""

    squares: Floats
    #: Number of the reference's launches; the others follow them.
    size: int

    def logs(self) -> float:
        """Sum over the cells of the logarithm of the ratio of their coefficients of variation."""
        first, second = self.squares[:, : self.size], self.squares[:, self.size :]
        return float(np.sum(np.log(second.mean(axis=1) / first.mean(axis=1)))) / 2.0


class _Permutations:
    """Assignments of launches to the sides, the same for all cells of a group."""

    def __init__(self, groups: Sequence[_Group], draws: int) -> None:
        random = np.random.default_rng(_SEED)
        self.groups = groups
        self.members = []
        for group in groups:
            launches = group.squares.shape[1]
            order = np.tile(np.arange(launches), (draws, 1))
            self.members.append((random.permuted(order, axis=1) < group.size).astype(np.float64))

    def p(self, found: float, cells: int) -> float:
        """Two-sided p of a ratio of 1."""
        drawn = self._logs(0.0) / cells
        return min(1.0, 2.0 * min(_share(drawn >= found), _share(drawn <= found)))

    def tail(self, found: float, cells: int, log: float, *, above: bool) -> float:
        """Share of the assignments at least as far on one side, if the ratio is exp(``log``)."""
        drawn = self._logs(log) / cells
        here = found - log
        return _share(drawn >= here if above else drawn <= here)

    def _logs(self, log: float) -> Floats:
        total = np.zeros(len(self.members[0]))
        for group, members in zip(self.groups, self.members, strict=True):
            squares = group.squares.copy()
            squares[:, group.size :] *= math.exp(-2.0 * log)
            first = squares @ members.T
            second = squares.sum(axis=1)[:, None] - first
            sizes = group.size, squares.shape[1] - group.size
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = (np.maximum(second, 0.0) / sizes[1]) / (first / sizes[0])
                total += np.sum(np.log(ratio), axis=0) / 2.0
        return np.nan_to_num(total, nan=0.0)


def _share(beyond: npt.NDArray[np.bool_]) -> float:
    """Share of the assignments, the observed one included."""
    return float((1 + np.count_nonzero(beyond)) / (1 + beyond.size))


def _grouped(pairs: Sequence[tuple[Floats, Floats]]) -> list[_Group]:
    by_size: dict[tuple[int, int], list[Floats]] = {}
    for one, other in pairs:
        if min(one.size, other.size) < FEWEST:
            continue
        deviations = relative_deviations(one), relative_deviations(other)
        if deviations[0] is None or deviations[1] is None:
            continue
        together = np.concatenate([deviations[0], deviations[1]])
        by_size.setdefault((int(one.size), int(other.size)), []).append(together**2)
    return [_Group(np.array(rows), size) for (size, _), rows in by_size.items()]


def _end(tail: Callable[[float], float], found: float, sign: float) -> float:
    """The logarithm of the ratio at which the tail is half of 5%, on one side of the estimate."""
    inside, outside = found, found + sign * math.log(_FARTHEST)
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2.0
        if tail(middle) > _TAIL:
            inside = middle
        else:
            outside = middle
    return outside
