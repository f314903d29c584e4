"""Effect sizes: the share of the variance over a plan that each factor explains."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.arrays import Floats, Ints
from assay.stats.compare.linear_terms import Bases, Term, explained, f_of
from assay.stats.core.summary import LONGER
from assay.units import Interval

# Bootstrap resamples for the interval of a share.
RESAMPLES = 500


def spans(term: Term, terms: Sequence[Term], bases: Bases) -> tuple[Floats, Floats]:
    """Bases without a term and with it: type II, both without the terms that contain it."""
    others = [other for other in terms if not set(term) <= set(other)]
    return bases.of(others), bases.of([*others, term])


def variance_shares(
    columns: Floats, terms: Sequence[Term], bases: Bases, everything: Floats
) -> Floats:
    """Omega squared of each term (row) in each column of centred values: its share of variance.

    (SS - df MSE) / (SS_total + MSE), at least 0 (Hays 1963; Olejnik & Algina 2003), where df MSE is
    the part of a sum of squares that is expected by chance. But for this correction, the shares of
    a balanced design and of the residual add up to 1.
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

    Percentiles of bootstrap resamples within each combination of levels (``groups``), whose sizes
    are kept. Deviations from its mean are multiplied by the root of n / (n - 1), because n
    resampled values spread by that much less (Davison & Hinkley 1997). Few values rarely show a
    long tail and the error that it causes: all deviations of a resample are therefore scaled by a
    common lognormal factor with the error of ``_unseen``.
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
    """Error of the logarithm of a standard deviation due to a long tail that few values don't show.

    For n values with kurtosis k that logarithm has variance (k - 1) / 4n; the excess of k over 3 is
    raised by LONGER / n times itself (``spread.cov_interval``).
    """
    means = np.bincount(groups, values) / np.maximum(counts, 1)
    rest = values - means[groups]
    n = int(counts[counts > 1].sum())
    squares = float(rest @ rest)
    if squares <= 0.0:
        return 0.0
    kurtosis = n * float((rest**4).sum()) / squares**2
    return float(np.sqrt(max(kurtosis - 3.0, 0.0) * LONGER / n / (4.0 * n)))
