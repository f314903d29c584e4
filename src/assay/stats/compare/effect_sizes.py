"""How much of the variation over a plan each factor explains."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.stats.compare.linear_terms import Bases, Ints, Term, explained, f_of
from assay.stats.core.intervals import Floats, Interval
from assay.stats.repeats.spread import LONGER

# Resamples behind the interval of a share.
RESAMPLES = 500


def spans(term: Term, terms: Sequence[Term], bases: Bases) -> tuple[Floats, Floats]:
    """What is fitted without a term, and with it: type II, without the terms that contain it."""
    others = [other for other in terms if not set(term) <= set(other)]
    return bases.of(others), bases.of([*others, term])


def variance_shares(
    columns: Floats, terms: Sequence[Term], bases: Bases, everything: Floats
) -> Floats:
    """Omega squared of each term (row) in each column of centred values: its share of variance.

    (SS - df MSE) / (SS_total + MSE), not below 0 (Hays 1963; Olejnik & Algina 2003), which takes
    off what chance adds to a sum of squares. Shares of a balanced design and of what is left add up
    to 1 but for that.
    """
    total = np.einsum("ij,ij->j", columns, columns)
    freedom = columns.shape[0] - everything.shape[1]
    mean_square = (total - explained(everything, columns)) / freedom
    found = np.empty((len(terms), columns.shape[1]))
    for place, term in enumerate(terms):
        reduced, extended = spans(term, terms, bases)
        extra = extended.shape[1] - reduced.shape[1]
        squares, _ = f_of(columns, reduced, extended, everything)
        found[place] = squares - extra * mean_square
    scale = np.where(total > 0.0, total + mean_square, np.inf)
    return np.asarray(np.maximum(found / scale, 0.0))


def share_intervals(
    values: Floats,
    groups: Ints,
    terms: Sequence[Term],
    bases: Bases,
    everything: Floats,
    seed: int,
) -> list[Interval | None]:
    """The 95% interval of each term's share of variance; None where no group has two values.

    Percentiles of resamples within each combination of levels (``groups``), which stays as often in
    the plan as it is; deviations from its mean are stretched by the root of n / (n - 1), since n
    resampled values spread by so much less (Davison & Hinkley 1997). A long tail is rarely in few
    values, and with it is missed how far what they spread by is off: all deviations of a resample
    are made longer or shorter together by what a kurtosis above the normal one, raised as for a
    cell's spread, adds to the error of their logarithm.
    """
    counts = np.bincount(groups)
    if counts.max() < 2:
        return [None] * len(terms)
    rng = np.random.default_rng(seed)
    drawn = np.empty((values.size, RESAMPLES))
    scale = np.exp(_unseen(values, groups, counts) * rng.standard_normal(RESAMPLES))
    for group, count in enumerate(counts):
        places = np.flatnonzero(groups == group)
        own = values[places]
        stretch = scale * np.sqrt(count / (count - 1)) if count > 1 else 0.0 * scale
        chosen = rng.integers(0, count, (count, RESAMPLES))
        drawn[places] = own.mean() + stretch * (own - own.mean())[chosen]
    shares = variance_shares(drawn - drawn.mean(axis=0), terms, bases, everything)
    low, high = np.quantile(shares, (0.025, 0.975), axis=1)
    return [(float(a), float(b)) for a, b in zip(low, high, strict=True)]


def _unseen(values: Floats, groups: Ints, counts: Ints) -> float:
    """What a long tail that few values don't show adds to the error of their deviation's logarithm.

    Of n values with kurtosis k that logarithm has variance (k - 1) / 4n; k counts LONGER / n more
    times above the normal one than it was seen to (``spread.cov_interval``).
    """
    means = np.bincount(groups, values) / np.maximum(counts, 1)
    rest = values - means[groups]
    n = int(counts[counts > 1].sum())
    squares = float(rest @ rest)
    if squares <= 0.0:
        return 0.0
    kurtosis = n * float((rest**4).sum()) / squares**2
    return float(np.sqrt(max(kurtosis - 3.0, 0.0) * LONGER / n / (4.0 * n)))
