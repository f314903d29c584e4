"""How much of a cell's variation goes with each of its covariates, and how much with none.

Which covariates matter is tested on ranks, so that skewed costs and rare events do no harm; how
much they explain is told of the logarithm of the cost itself. What is found goes together with the
cost; that it causes it is what the covariate's meaning suggests, and what an experiment would show.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from assay.stats.correlation import integrated_time
from assay.stats.covariates import (
    CAUSES,
    HOSTS,
    HOURS,
    SESSIONS,
    TREND,
    Cause,
    scaled_covariate,
    unit_of,
)
from assay.stats.intervals import Floats, Interval
from assay.stats.multiple import corrected
from assay.stats.repeats import Repeats
from assay.stats.warmup import mid_ranks
from assay.units import format_quantity, format_share

Mask = npt.NDArray[np.bool_]

# Fewest measurements: with 25 covariates tried at 1%, a correlation of 0.7 is found among twenty.
LEAST = 20
# A cell whose cost goes with no covariate is said to have a cause once in a hundred.
ALPHA = 0.01
MOST_CAUSES = 5
# Enough for every share to a hundredth; of more, as many are taken at equal distances.
MOST_MEASUREMENTS = 20_000
# Of two that explain about the same the more direct one counts: from this share of the other's.
NEARLY, HALF = 0.8, 0.5
# A covariate must be known of this share of the measurements.
KNOWN = 0.8
RESAMPLES = 500
BLOCKS = 2000
# A host, a run or an hour counts as a level from so many measurements on.
LEAST_OF_LEVEL = 3
# Stretches of time are compared if they are so many times as long as measurements depend.
LONG_STRETCH = 20.0
DAY = 86400.0


class Share(msgspec.Struct, frozen=True):
    """What one cause explains: ``share`` of the variance of the logarithm of the cost.

    ``covariate``: the one that stands for the cause; of causes that are no covariates the cause's
    own name. ``sign``: +1 if more of it goes with slower, -1 with quicker, 0 where it is levels.
    ``p``: corrected for all that were tried. ``quick``, ``slow``: its mean in the quickest and
    the slowest quarter of the measurements, in ``unit``; None where it is levels.
    """

    cause: str
    covariate: str
    share: float
    ci95: Interval
    sign: int
    p: float
    sentence: str
    unit: str = ""
    quick: float | None = None
    slow: float | None = None


class Attribution(msgspec.Struct, frozen=True):
    """Shares, the greatest first, which add up to 1 with ``unexplained``.

    ``n`` measurements are worth ``effective_n`` independent ones. ``tried``: covariates and factors
    that were tried. ``deviation``: standard deviation of the logarithm of the cost. ``silent``: why
    nothing can be said, empty otherwise; then there are no shares and ``unexplained`` is 1.
    """

    shares: list[Share]
    unexplained: float
    unexplained_ci95: Interval | None
    n: int
    effective_n: float
    tried: int
    deviation: float
    method: str
    silent: str = ""


@dataclass(frozen=True)
class _Candidate:
    """What may explain: ``scores``, columns of normal scores or of levels; ``raw``: the rate.

    ``fenced``: columns of the values themselves without outliers, or of levels. ``stretch``:
    measurements in the shortest of the stretches of time that it sets against each other; 0 of what
    isn't about stretches of time.
    """

    cause: Cause
    name: str
    scores: Floats
    fenced: Floats
    sign: Literal[1, -1, 0]
    raw: Floats | None = None
    stretch: int = 0


@dataclass(frozen=True)
class _Tested:
    candidate: _Candidate
    p: float
    gain: float  # of what is left of the scores' variance, adjusted for columns


def attribute(repeats: Repeats, *, alpha: float = ALPHA) -> Attribution:
    """Attribute a cell's variation to its covariates, its hosts and its times.

    ``alpha``: chance that anything is named where nothing explains. A cell is never said more of
    than its measurements carry: under ``LEAST`` nothing. docs/methods.md, "Causes", has the steps,
    their sources and the rates that were found.
    """
    cost = repeats.cost
    n = int(cost.size)
    if n < LEAST:
        return _silence(n, f"{n} measurements are too few to tell causes: it takes {LEAST}")
    if not (np.isfinite(cost).all() and cost.min() > 0.0):
        return _silence(n, "its values are no costs, so there is no ratio between them")
    repeats = _thinned(repeats)
    log_cost = np.log(repeats.cost)
    deviation = float(np.std(log_cost, ddof=1))
    if np.ptp(log_cost) == 0.0:
        return _silence(n, "it did not vary")
    candidates = _candidates(repeats)
    scores = normal_scores(log_cost)
    chosen = _chosen(scores, fenced(log_cost), candidates, alpha)
    worth = effective_pairs(scores, scores) * n / log_cost.size
    shares, rest, rest_ci95 = _shares(log_cost, chosen, n / worth)
    quarter = _quarters(log_cost)
    return Attribution(
        shares=sorted(
            (
                _share(tested, share, ci95, quarter)
                for tested, (share, ci95) in zip(chosen, shares, strict=True)
            ),
            key=lambda each: -each.share,
        ),
        unexplained=rest,
        unexplained_ci95=rest_ci95,
        n=n,
        effective_n=worth,
        tried=len(candidates),
        deviation=deviation,
        method=(
            f"Tested: {len(candidates)} covariates and factors, by normal scores, at "
            f"{format_share(alpha)} for all together (Holm); shares: of the variance of the "
            "logarithm of the cost, averaged over orders, direct causes first"
        ),
    )


def _silence(n: int, why: str) -> Attribution:
    return Attribution([], 1.0, None, n, float(n), 0, 0.0, "", why)


def _thinned(repeats: Repeats) -> Repeats:
    n = len(repeats)
    if n <= MOST_MEASUREMENTS:
        return repeats
    return repeats.take(np.linspace(0, n - 1, MOST_MEASUREMENTS).astype(np.int64))


def normal_scores(values: Floats) -> Floats:
    """Quantiles of the normal distribution at the ranks, mean 0 (van der Waerden 1952).

    Ties share their mean rank. Under permutation the correlation of two such series has variance
    1 / (n - 1) and is nearly normal even if one of them has a few values that aren't tied.
    """
    from scipy.special import ndtri

    scores = ndtri(mid_ranks(values) / (values.size + 1.0))
    return np.asarray(scores - scores.mean(), dtype=np.float64)


def fenced(values: Floats) -> Floats:
    """The values, mean 0, with what lies beyond Tukey's (1977) fences brought back to them.

    Where a few launches in two groups are told apart by far, ranks say less than the values do.
    """
    low, high = (float(q) for q in np.quantile(values, (0.25, 0.75)))
    reach = 1.5 * (high - low)
    kept = np.clip(values, low - reach, high + reach)
    return np.asarray(kept - kept.mean(), dtype=np.float64)


# ---- what may explain ----------------------------------------------------------------------------


def _candidates(repeats: Repeats) -> list[_Candidate]:
    found = []
    for cause in CAUSES:
        for reading in cause.readings:
            if reading.covariate not in repeats.covariates:
                continue
            if reading.instead and _known(repeats, reading.instead):
                continue
            raw = scaled_covariate(repeats, reading.covariate)
            known = np.isfinite(raw)
            if not _known(repeats, reading.covariate) or np.ptp(raw[known]) == 0.0:
                continue
            # What isn't known is taken as usual.
            raw = np.where(known, raw, np.median(raw[known]))
            found.append(
                _Candidate(
                    cause=cause,
                    name=reading.covariate,
                    scores=normal_scores(raw)[:, None],
                    fenced=fenced(raw)[:, None],
                    sign=reading.sign,
                    raw=raw,
                )
            )
    for cause, levels in ((HOSTS, repeats.hosts), (SESSIONS, repeats.run)):
        columns = _indicators(levels)
        if columns is not None:
            stretch = min(Counter(levels).values()) if cause is SESSIONS else 0
            found.append(_Candidate(cause, cause.name, columns, columns, 0, stretch=stretch))
    if np.ptp(repeats.utc) > 0.0:
        times = normal_scores(repeats.utc)[:, None]
        found.append(_Candidate(TREND, TREND.name, times, times, 0, stretch=len(repeats)))
        hours = _hours(repeats.utc)
        if hours is not None:
            found.append(_Candidate(HOURS, HOURS.name, hours, hours, 0))
    return found


def _known(repeats: Repeats, covariate: str) -> bool:
    values = repeats.covariates.get(covariate)
    return values is not None and bool(np.isfinite(values).mean() >= KNOWN)


def _indicators(levels: Sequence[str]) -> Floats | None:
    """A column for each level but the commonest; rare ones are one level. None for one alone."""
    names, codes, counts = np.unique(np.array(levels), return_inverse=True, return_counts=True)
    order = np.argsort(-counts)
    own = [i for i in order if counts[i] >= LEAST_OF_LEVEL and names[i]]
    rare = ~np.isin(codes, own)
    columns = [(codes == i).astype(np.float64) for i in own[1:]]
    if own and rare.sum() >= LEAST_OF_LEVEL:
        columns.append(rare.astype(np.float64))
    # With a level for every few measurements there is nothing left to compare them by.
    if not columns or len(columns) > len(levels) // 5:
        return None
    made = np.stack(columns, axis=1)
    return np.asarray(made - made.mean(axis=0), dtype=np.float64)


def _hours(utc: Floats) -> Floats | None:
    """One harmonic of the day; None unless days repeat and their hours differ."""
    days, hours = np.floor(utc / DAY), np.floor((utc % DAY) / 3600.0)
    if np.unique(days).size < 3 or np.unique(hours).size < 4:
        return None
    angle = 2.0 * np.pi * utc / DAY
    made = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return np.asarray(made - made.mean(axis=0), dtype=np.float64)


# ---- which of it does ----------------------------------------------------------------------------


def effective_pairs(x: Floats, y: Floats) -> float:
    """How many independent pairs carry as much about the correlation of two series in time order.

    n / (1 + 2 sum of the products of their autocorrelations) (Bartlett 1935; Pyper & Peterman
    1998), as far as these are more than chance; at most n.
    """
    n = int(x.size)
    lags = min(n // 4, 200)
    chance = 4.0 / n  # the square of two standard deviations of a correlation
    norms = float(x @ x), float(y @ y)
    if min(norms) <= 0.0:
        return float(n)
    total = 0.0
    for lag in range(1, lags + 1):
        of_x = float(x[lag:] @ x[:-lag]) / norms[0]
        of_y = float(y[lag:] @ y[:-lag]) / norms[1]
        if of_x <= 0.0 or of_y <= 0.0 or of_x * of_y < chance:
            break
        total += of_x * of_y
    return n / (1.0 + 2.0 * total)


def _worth_of_stretches(rest: Floats, stretch: int) -> float:
    """How many independent measurements there are, where stretches of time are compared.

    By the dependence of what the comparison leaves, for in the cost itself the difference looked
    for is dependence too. It can only be seen in stretches much longer than itself: 0 otherwise.
    """
    seen = float(integrated_time(rest))
    # Taking off each stretch's mean takes some of the dependence too.
    dependence = seen / max(1.0 - 3.0 * seen / stretch, 0.1)
    return rest.size / dependence if stretch >= LONG_STRETCH * dependence else 0.0


def _test(
    series: tuple[Floats, Floats],
    given: Sequence[_Candidate],
    candidates: Sequence[_Candidate],
) -> list[_Tested]:
    """Partial association of the cost with each candidate, given others.

    ``series``: the cost's normal scores, and its fenced logarithm. The better of the two, at twice
    its p.
    """
    n = series[0].size
    bases = (
        _basis([each.scores for each in given], n),
        _basis([each.fenced for each in given], n),
    )
    tested = []
    for candidate in candidates:
        by_scores = _associated(series[0], bases[0], candidate.scores, candidate)
        by_values = _associated(series[1], bases[1], candidate.fenced, candidate)
        p, gain = min(by_scores, by_values)
        tested.append(_Tested(candidate, min(2.0 * p, 1.0), gain))
    return tested


def _associated(
    cost: Floats, base: Floats, columns: Floats, candidate: _Candidate
) -> tuple[float, float]:
    """p, and the share of what the base leaves of the cost that the columns explain, adjusted."""
    from scipy.special import fdtrc, stdtr

    y = cost - base @ (base.T @ cost)
    x = columns - base @ (base.T @ columns)
    whole = float(y @ y)
    # A candidate that the base holds already leaves rounding errors.
    if whole <= 0.0 or float((x**2).sum()) <= 1e-9 * float((columns**2).sum()):
        return 1.0, 0.0
    axes, sizes, _ = np.linalg.svd(x, full_matrices=False)
    axes = axes[:, sizes > 1e-7 * sizes[0]]
    count = axes.shape[1]
    along = axes.T @ y
    explained = min(float(along @ along) / whole, 1.0 - 1e-12)
    fitted = axes @ along
    if candidate.stretch:
        worth = _worth_of_stretches(y - fitted, candidate.stretch)
    else:
        worth = effective_pairs(fitted, y)
    freedom = worth - base.shape[1] - count
    if freedom < 3.0:
        return 1.0, 0.0
    gain = max(1.0 - (1.0 - explained) * (freedom + count) / freedom, 0.0)
    if count > 1:
        ratio = explained / count / ((1.0 - explained) / freedom)
        return float(fdtrc(count, freedom, ratio)), gain
    t = math.sqrt(explained * freedom / (1.0 - explained))
    if candidate.sign == 0:
        return 2.0 * float(stdtr(freedom, -t)), gain
    as_expected = float(x[:, 0] @ y) * candidate.sign > 0.0
    return float(stdtr(freedom, -t if as_expected else t)), gain


def _basis(parts: Sequence[Floats], n: int) -> Floats:
    """Orthonormal columns that span the constant and the parts."""
    columns = np.concatenate([np.full((n, 1), 1.0), *parts], axis=1)
    axes, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    return np.asarray(axes[:, sizes > 1e-7 * sizes[0]])


def _chosen(
    scores: Floats, values: Floats, candidates: Sequence[_Candidate], alpha: float
) -> list[_Tested]:
    """The causes that stand up to correction, one covariate each, in the order in which found.

    Forward: of those that hold, the one that explains most, or a more direct one that explains
    nearly as much; then again given it. At the end each must hold given the others.
    """
    series = scores, values
    chosen: list[_Tested] = []
    while len(chosen) < MOST_CAUSES:
        taken = {each.candidate.cause.name for each in chosen}
        left = [
            each
            for each in candidates
            if each.cause.name not in taken and taken.isdisjoint(each.cause.way)
        ]
        holding = _holding(_test(series, [each.candidate for each in chosen], left), alpha)
        if not holding:
            break
        most = max(holding, key=lambda each: each.gain)
        near = [each for each in holding if each.gain >= NEARLY * most.gain]
        # What is but the way in which another cause acts gives way to that one, if it explains half.
        near += [
            each
            for each in holding
            if each.candidate.cause.name in most.candidate.cause.way
            and each.gain >= HALF * most.gain
        ]
        chosen.append(min(near, key=lambda each: (each.candidate.cause.tier, -each.gain)))
    while len(chosen) > 1:
        again = []
        for each in chosen:
            others = [other.candidate for other in chosen if other is not each]
            (tested,) = _test(series, others, [each.candidate])
            again.append(tested.p * len(candidates))
        worst = int(np.argmax(again))
        if again[worst] <= alpha:
            break
        del chosen[worst]
    return chosen


def _holding(tested: Sequence[_Tested], alpha: float) -> list[_Tested]:
    if not tested:
        return []
    p = corrected([each.p for each in tested], "holm")
    return [
        _Tested(each.candidate, float(value), each.gain)
        for each, value in zip(tested, p, strict=True)
        if value <= alpha
    ]


# ---- how much ------------------------------------------------------------------------------------


def _shares(
    log_cost: Floats, chosen: Sequence[_Tested], dependence: float
) -> tuple[list[tuple[float, Interval]], float, Interval | None]:
    """Each chosen cause's share with its interval, and the rest with its own.

    ``dependence``: measurements that make one independent one. Shares are of adjusted R², so that
    what explains nothing is expected to get nothing; averaged over the orders in which the causes
    of one tier may be asked (Lindeman, Merenda & Gold 1980; Grömping 2006), those of more direct
    tiers first (Frye, Rowat & Feige 2020). Intervals: bootstrap over blocks of time.
    """
    if not chosen:
        return [], 1.0, None
    groups = [_regressors(each.candidate, log_cost) for each in chosen]
    tiers = [each.candidate.cause.tier for each in chosen]
    n = log_cost.size
    data = np.concatenate([np.full((n, 1), 1.0), (log_cost - log_cost.mean())[:, None], *groups], 1)
    widths = [group.shape[1] for group in groups]
    blocks = max(min(BLOCKS, int(n / max(dependence, 1.0))), min(n, 10))
    edges = np.linspace(0, n, blocks + 1).astype(np.int64)
    products = np.add.reduceat(data[:, :, None] * data[:, None, :], edges[:-1], axis=0)
    drawn = np.random.default_rng(n).multinomial(blocks, np.full(blocks, 1.0 / blocks), RESAMPLES)
    weights = np.concatenate([np.ones((1, blocks)), drawn])  # as it is, and resampled
    grams = np.tensordot(weights, products, axes=(1, 0))
    values = _averaged(grams, widths, tiers)
    values = np.maximum(values, 0.0)
    rests = np.clip(1.0 - values.sum(axis=1), 0.0, 1.0)
    ends = np.quantile(values[1:], (0.025, 0.975), axis=0)
    # An interval holds what it is about.
    low, high = np.minimum(ends[0], values[0]), np.maximum(ends[1], values[0])
    rest_low, rest_high = np.quantile(rests[1:], (0.025, 0.975))
    rest = float(rests[0])
    return (
        [
            (float(share), (float(a), float(b)))
            for share, a, b in zip(values[0], low, high, strict=True)
        ],
        rest,
        (min(float(rest_low), rest), max(float(rest_high), rest)),
    )


def _regressors(candidate: _Candidate, log_cost: Floats) -> Floats:
    """Its columns, centred and scaled: of a covariate the rate itself or its ranks, what fits."""
    if candidate.raw is None:
        columns = candidate.scores
    else:
        options = [candidate.raw - candidate.raw.mean(), candidate.scores[:, 0]]
        y = log_cost - log_cost.mean()
        fits = [float((x @ y) ** 2 / max(float(x @ x), 1e-300)) for x in options]
        columns = options[int(np.argmax(fits))][:, None]
    return np.asarray(columns / np.maximum(columns.std(axis=0), 1e-300), dtype=np.float64)


def _averaged(grams: Floats, widths: Sequence[int], tiers: Sequence[int]) -> Floats:
    """Shapley values of adjusted R² within tiers, earlier tiers given: (resamples, causes)."""
    ends = np.cumsum([2, *widths])
    columns = [list(range(a, b)) for a, b in itertools.pairwise(ends)]
    known: dict[frozenset[int], Floats] = {}

    def explained(causes: frozenset[int]) -> Floats:
        if causes not in known:
            known[causes] = _adjusted(grams, [c for i in sorted(causes) for c in columns[i]])
        return known[causes]

    values = np.zeros((grams.shape[0], len(widths)))
    before: frozenset[int] = frozenset()
    for tier in sorted(set(tiers)):
        members = [i for i, own in enumerate(tiers) if own == tier]
        m = len(members)
        for i in members:
            others = [j for j in members if j != i]
            for size in range(m):
                weight = math.factorial(size) * math.factorial(m - size - 1) / math.factorial(m)
                for some in itertools.combinations(others, size):
                    without = before | frozenset(some)
                    values[:, i] += weight * (explained(without | {i}) - explained(without))
        before |= frozenset(members)
    return values


def _adjusted(grams: Floats, columns: Sequence[int]) -> Floats:
    """Adjusted R² (Ezekiel 1930) of column 1 on column 0, the constant, and these."""
    count = grams[:, 0, 0]
    total = grams[:, 1, 1] - grams[:, 0, 1] ** 2 / count
    if not columns:
        return np.zeros(grams.shape[0])
    used = [0, *columns]
    normal = grams[:, used][:, :, used]
    # A resample may hold one level alone: the smallest of ridges keeps it solvable.
    ridge = 1e-9 * np.trace(normal, axis1=1, axis2=2)[:, None, None] * np.eye(len(used))
    right = grams[:, used, 1]
    solved = np.linalg.solve(normal + ridge, right[..., None])[..., 0]
    rest = np.maximum(grams[:, 1, 1] - (solved * right).sum(axis=1), 0.0)
    freedom = np.maximum(count - 1.0 - len(columns), 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = 1.0 - (rest / freedom) / (total / (count - 1.0))
    return np.asarray(np.where(total > 0.0, share, 0.0))


# ---- in words ------------------------------------------------------------------------------------


def _quarters(log_cost: Floats) -> tuple[Mask, Mask]:
    """Which measurements are the quickest quarter, and which the slowest."""
    low, high = np.quantile(log_cost, (0.25, 0.75))
    return log_cost <= low, log_cost >= high


def _share(tested: _Tested, share: float, ci95: Interval, quarters: tuple[Mask, Mask]) -> Share:
    candidate = tested.candidate
    cause = candidate.cause
    sentence = (
        f"{format_share(share, ci95)} of the variation goes with {cause.words}: {cause.meaning}"
    )
    if candidate.raw is None:
        return Share(cause.name, candidate.name, share, ci95, candidate.sign, tested.p, sentence)
    unit = unit_of(candidate.name)
    quick, slow = (float(np.mean(candidate.raw[which])) for which in quarters)
    return Share(
        cause=cause.name,
        covariate=candidate.name,
        share=share,
        ci95=ci95,
        sign=candidate.sign,
        p=tested.p,
        sentence=f"{sentence} ({format_quantity(quick, unit)} in the quickest quarter of the "
        f"launches, {format_quantity(slow, unit)} in the slowest)",
        unit=unit,
        quick=quick,
        slow=slow,
    )
