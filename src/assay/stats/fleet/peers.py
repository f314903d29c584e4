"""Deviation of each of several values from the others, robust against outliers among them.

The others are summarised by mean and standard deviation after iterated rejection of outliers
(Hampel, Ronchetti, Rousseeuw & Stahel 1986, 1.4), which starts from robust estimates: the median,
and Qn (Rousseeuw & Croux 1993) or, for many values, the median absolute deviation. At most a
quarter is rejected. Each value is then compared with the others without it, as Grubbs (1950) and
externally studentised residuals do (Cook & Weisberg 1982, 2.2.1). The distribution without outliers
was simulated: t, with the degrees of freedom and the scale of ``_ALIKE``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.arrays import Floats, Ints

# Minimum number of values for a comparison of one with the others.
MIN_VALUES = 3
# Values farther away than this number of deviations are rejected; the share of a normal
# distribution's variance that remains: 1 - 2 k phi(k) / (2 Phi(k) - 1).
CUT = 2.5
VARIANCE_LEFT = 0.91126
# Maximum share of rejected values, and maximum number of rounds.
MOST_BAD = 0.25
_ROUNDS = 10
# Up to this number of values the start is Qn, which needs all pairs; its scale for normal values,
# and its factors for 2 to 9 values (Rousseeuw & Croux 1993; Croux & Rousseeuw 1992).
_PAIRS = 64
_QN = 2.21914
_QN_SMALL = (0.399, 0.994, 0.512, 0.844, 0.611, 0.857, 0.669, 0.872)
# Scales a median absolute deviation to the standard deviation of a normal distribution.
ROBUST = 1.4826
# (number of values, degrees of freedom, scale) of the t distribution that fits the tail of the
# deviations between probabilities of 1e-4 and 1e-2; benchmarks/rates/fleets.py repeats the
# simulation.
_ALIKE: tuple[tuple[int, float, float], ...] = (
    (3, 1.0, 1.0),
    (4, 1.5, 0.85),
    (5, 2.23, 0.928),
    (6, 3.4, 0.993),
    (7, 4.54, 1.005),
    (8, 3.79, 0.917),
    (9, 4.79, 0.96),
    (10, 5.43, 0.941),
    (12, 5.7, 0.898),
    (15, 8.2, 0.951),
    (20, 9.75, 0.933),
    (30, 15.2, 0.955),
    (50, 25.7, 0.974),
    (100, 50.0, 0.992),
    (1000, 500.0, 1.0),
)


@dataclass(frozen=True)
class Peers:
    """Comparison of values with the others of their column.

    Of each column ``centre``, ``scale`` (a standard deviation) and ``count`` of its values. Of each
    value ``t``, its deviation above the others over its standard error, nan where it is missing or
    has too few others.
    """

    centre: Floats
    scale: Floats
    count: Ints
    t: Floats
    #: One-sided, if all values have the same distribution.
    p: Floats


def median_down(values: Floats) -> Floats:
    """The median of each column without nan; nan for a column that contains only nan."""
    ordered = np.sort(values, axis=0)  # nan last
    count = np.isfinite(values).sum(axis=0)
    low, high = np.maximum(count - 1, 0) // 2, np.minimum(count // 2, values.shape[0] - 1)
    picked = np.take_along_axis(ordered, np.stack([low, high]), axis=0)
    return np.asarray(np.where(count > 0, picked.mean(axis=0), np.nan))


def qn(values: Floats) -> float:
    """Qn of at least two values (Rousseeuw & Croux 1993): about the first quartile of the pairs'
    distances, scaled to the standard deviation of normal values.
    """
    n = int(values.size)
    half = n // 2 + 1
    place = half * (half - 1) // 2 - 1
    small = _QN_SMALL[n - 2] if n <= 9 else n / (n + (1.4 if n % 2 else 3.8))
    if n > _MOST_PAIRED:
        return _QN * small * _distance(values, place + 1)
    above, below = np.triu_indices(n, 1)
    pairs = np.abs(values[above] - values[below])
    return _QN * small * float(np.partition(pairs, place)[place])


# From this number of values on, their pairs are counted, not listed.
_MOST_PAIRED = 2000


def _distance(values: Floats, rank: int) -> float:
    """The ``rank``-th smallest distance of two values, from 1, by bisection."""
    ordered = np.sort(values)
    own = np.arange(1, ordered.size + 1)
    low, high = -1.0, float(ordered[-1] - ordered[0])
    while low < (middle := 0.5 * (low + high)) < high:
        within = int((np.searchsorted(ordered, ordered + middle, side="right") - own).sum())
        low, high = (low, middle) if within >= rank else (middle, high)
    return high


def against_peers(values: Floats, noise: Floats | float = 0.0, floor: float = 0.0) -> Peers:
    """Compare each of ``values`` [row, column] with the others of its column; nan is missing.

    ``noise``: known variance of each value (such as of the mean of few repetitions); values with
    more of it than others may deviate more. ``floor``: the minimum standard deviation.
    """
    values = np.asarray(values, dtype=np.float64)
    noise = np.broadcast_to(np.asarray(noise, dtype=np.float64), values.shape)
    there = np.isfinite(values)
    count = there.sum(axis=0)
    inside = _inside(values, there, count, floor)
    kept = inside.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        total = np.where(inside, values, 0.0).sum(axis=0)
        centre = np.where(kept > 0, total / kept, np.nan)
        squares = np.where(inside, (values - centre) ** 2, 0.0).sum(axis=0)
        variance = np.where(kept > 1, squares / (kept - 1) / VARIANCE_LEFT, 0.0)
        typical = median_down(np.where(there, noise, np.nan))
        t = _deviations(
            values=values,
            inside=inside,
            kept=kept,
            centre=centre,
            squares=squares,
            more_noise=noise - typical,
            noise=noise,
            floor=floor,
        )
    t = np.where(there & (count >= MIN_VALUES), t, np.nan)
    scale = np.sqrt(np.maximum(variance, floor**2))
    return Peers(centre, scale, count, t, chance(t, count))


def chance(t: Floats, count: Ints | int) -> Floats:
    """Probability of a deviation of at least ``t`` of one of ``count`` values without outliers."""
    from scipy.special import stdtr

    freedom, scale = _alike(np.asarray(count, dtype=np.float64))
    return np.asarray(stdtr(freedom, -t / scale))


def reach(count: Ints | int, share: float = 0.975) -> Floats:
    """The ``share``-quantile of the deviation of one of ``count`` values without outliers."""
    from scipy.special import stdtrit

    freedom, scale = _alike(np.asarray(count, dtype=np.float64))
    return np.asarray(stdtrit(freedom, share) * scale)


def _alike(count: Floats) -> tuple[Floats, Floats]:
    """Degrees of freedom and scale for ``count`` values, interpolated in 1 / n."""
    sizes = np.array([row[0] for row in _ALIKE], dtype=np.float64)
    lost = np.array([1.0 / row[1] for row in _ALIKE])
    scales = np.array([row[2] for row in _ALIKE])
    inverse = 1.0 / np.maximum(count, sizes[0])
    freedom = 1.0 / np.interp(inverse, 1.0 / sizes[::-1], lost[::-1])
    return freedom, np.interp(inverse, 1.0 / sizes[::-1], scales[::-1])


def _inside(
    values: Floats, there: npt.NDArray[np.bool_], count: Ints, floor: float
) -> npt.NDArray[np.bool_]:
    """Which values are not rejected."""
    if values.shape[0] == 0:
        return there
    centre, scale = median_down(values), np.maximum(_start(values, there), floor)
    must = count - np.maximum(1, np.floor(MOST_BAD * count).astype(np.int64))
    place = np.clip(must - 1, 0, values.shape[0] - 1)[None, :]
    inside = there
    for _ in range(_ROUNDS):
        with np.errstate(invalid="ignore"):
            away = np.where(there, np.abs(values - centre), np.inf)
            nearest = np.take_along_axis(np.partition(away, np.unique(place), axis=0), place, 0)[0]
            now = away <= np.maximum(CUT * scale, nearest)
        now &= there
        if now is inside or np.array_equal(now, inside):
            break
        inside = now
        kept = np.maximum(inside.sum(axis=0), 1)
        centre = np.where(inside, values, 0.0).sum(axis=0) / kept
        squares = np.where(inside, (values - centre) ** 2, 0.0).sum(axis=0)
        scale = np.maximum(np.sqrt(squares / np.maximum(kept - 1, 1) / VARIANCE_LEFT), floor)
    return inside


def _start(values: Floats, there: npt.NDArray[np.bool_]) -> Floats:
    if values.shape[0] <= _PAIRS:
        columns = (values[there[:, c], c] for c in range(values.shape[1]))
        return np.array([qn(column) if column.size > 1 else 0.0 for column in columns])
    return ROBUST * median_down(np.abs(values - median_down(values)))


def _deviations(
    values: Floats,
    inside: npt.NDArray[np.bool_],
    kept: Ints,
    centre: Floats,
    squares: Floats,
    more_noise: Floats,
    noise: Floats,
    floor: float,
) -> Floats:
    """Deviations from the others, with each value removed from the mean and the variance."""
    away = values - centre
    others = np.where(inside, kept - 1, kept)
    # Without one of n values the mean moves by away / (n - 1), the sum of squares by
    # n / (n - 1) of its square.
    own = np.where(inside, away / np.maximum(others, 1), 0.0)
    left = squares - np.where(inside, away**2 * kept / np.maximum(others, 1), 0.0)
    variance = np.maximum(left, 0.0) / np.maximum(others - 1, 1) / VARIANCE_LEFT
    # A single other value has no scatter; with the scatter of the pair, neither is an outlier.
    variance = np.where(others > 1, variance, squares / np.maximum(kept - 1, 1) / VARIANCE_LEFT)
    each = np.maximum(np.maximum(variance + more_noise, noise), floor**2)
    return np.asarray((away + own) / np.sqrt(each + variance / others))
