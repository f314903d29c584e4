"""What may explain how a cell's cost varies: its covariates, hosts, runs and times as columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from assay.stats.covariates import CAUSES, HOSTS, HOURS, SESSIONS, TREND, Cause, scaled_covariate
from assay.stats.intervals import Floats
from assay.stats.repeats import Repeats
from assay.stats.warmup import mid_ranks

# A covariate must be known of this share of the measurements.
KNOWN = 0.8
# A host or a run counts as a level from so many measurements on.
LEAST_OF_LEVEL = 3
DAY = 86400.0


@dataclass(frozen=True)
class Candidate:
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


def candidates_of(repeats: Repeats) -> list[Candidate]:
    """All that a cell's results tell, as far as it is known and not always the same."""
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
                Candidate(
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
            found.append(Candidate(cause, cause.name, columns, columns, 0, stretch=stretch))
    if np.ptp(repeats.utc) > 0.0:
        times = normal_scores(repeats.utc)[:, None]
        found.append(Candidate(TREND, TREND.name, times, times, 0, stretch=len(repeats)))
        hours = _hours(repeats.utc)
        if hours is not None:
            found.append(Candidate(HOURS, HOURS.name, hours, hours, 0))
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
