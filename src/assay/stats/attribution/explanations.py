"""Candidate explanations of a cell's variation: covariates, hosts, runs and times as columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from assay.arrays import Floats, Ints
from assay.hostnames import compress_hosts, expand_hosts, natural
from assay.stats.attribution.covariates import (
    BESIDE,
    CAUSES,
    CORES,
    HOSTS,
    HOURS,
    KNOWN,
    SESSIONS,
    TREND,
    Cause,
    scaled_covariate,
)
from assay.stats.attribution.lost_time import most_lost
from assay.stats.compare.levels import numbered
from assay.stats.core.warmup import mid_ranks
from assay.stats.repeats.repeats import Repeats

# Minimum number of measurements for a host or a run to count as a level.
LEAST_OF_LEVEL = 3
# Maximum number of CPUs that are tested separately: the CPUs that divide measurements most evenly.
MOST_CORES = 256
# Maximum size of the table of CPUs by measurement; for larger tables CPUs aren't distinguished by
# host.
_MOST_SEATS = 20_000_000
ALONE = "alone"
DAY = 86400.0


@dataclass(frozen=True)
class Explanation:
    """A candidate cause; ``scores`` are columns of normal scores or of levels."""

    cause: Cause
    name: str
    scores: Floats
    #: Columns of the values with clipped outliers, or of levels.
    fenced: Floats
    sign: Literal[1, -1, 0]
    #: The covariate.
    raw: Floats | None = None
    #: Number of measurements in the shortest of the periods that it compares; 0 if it doesn't
    #: compare periods.
    stretch: int = 0
    #: With two levels, the name of the level whose values are above the column's mean.
    which: str = ""
    #: If the seconds lost to the cause are known, the maximum increase of the logarithm of each
    #: cost that they can cause, with mean 0 (``lost_time``).
    most: Floats | None = None


def normal_scores(values: Floats) -> Floats:
    """Quantiles of the normal distribution at the ranks, mean 0 (van der Waerden 1952).

    Ties share their mean rank. Under permutation the correlation of two such series has variance
    1 / (n - 1) and is nearly normal even if all but a few values of one series are tied.
    """
    from scipy.special import ndtri

    scores = ndtri(mid_ranks(values) / (values.size + 1.0))
    return np.asarray(scores - scores.mean(), dtype=np.float64)


def fenced(values: Floats) -> Floats:
    """The values, mean 0, clipped at Tukey's (1977) fences.

    If two groups of a few launches are clearly separated, the values are more powerful than ranks.
    """
    low, high = (float(q) for q in np.quantile(values, (0.25, 0.75)))
    margin = 1.5 * (high - low)
    kept = np.clip(values, low - margin, high + margin)
    return np.asarray(kept - kept.mean(), dtype=np.float64)


def candidates_of(repeats: Repeats) -> list[Explanation]:
    """All candidates from a cell's results that are known and not constant."""
    found = []
    for cause in CAUSES:
        most = most_lost(repeats, cause)
        for reading in cause.readings:
            if reading.covariate not in repeats.covariates:
                continue
            if reading.instead and _known(repeats, reading.instead):
                continue
            raw = scaled_covariate(repeats, reading.covariate)
            known = np.isfinite(raw)
            if not _known(repeats, reading.covariate) or np.ptp(raw[known]) == 0.0:
                continue
            # Unknown values are replaced by the median.
            raw = np.where(known, raw, np.median(raw[known]))
            found.append(
                Explanation(
                    cause=cause,
                    name=reading.covariate,
                    scores=normal_scores(raw)[:, None],
                    fenced=fenced(raw)[:, None],
                    sign=reading.sign,
                    raw=raw,
                    most=None if most is None else most - most.mean(),
                )
            )
    levels_of = {
        HOSTS: repeats.hosts,
        CORES: repeats.cores if len(set(repeats.cores)) > 2 else (),  # two: see _of_cores
        BESIDE: [name or ALONE for name in repeats.beside],
        SESSIONS: _occasions(repeats),
    }
    for cause, levels in levels_of.items():
        indicators = _indicators(levels)
        if indicators is not None:
            columns, which = indicators
            stretch = int(np.bincount(numbered(levels)[0]).min()) if cause is SESSIONS else 0
            found.append(
                Explanation(cause, cause.name, columns, columns, 0, stretch=stretch, which=which)
            )
    found += _of_cores(repeats)
    if np.ptp(repeats.utc) > 0.0:
        times = normal_scores(repeats.utc)[:, None]
        found.append(Explanation(TREND, TREND.name, times, times, 0, stretch=len(repeats)))
        hours = _hours(repeats.utc)
        if hours is not None:
            found.append(Explanation(HOURS, HOURS.name, hours, hours, 0))
    return found


def _known(repeats: Repeats, covariate: str) -> bool:
    values = repeats.covariates.get(covariate)
    return values is not None and bool(np.isfinite(values).mean() >= KNOWN)


def _occasions(repeats: Repeats) -> Sequence[str]:
    """The run of each measurement, with its session if the run recorded sessions."""
    if not repeats.session.size:
        return repeats.run
    return [
        run if session < 0 else f"{run}, session {session}"
        for run, session in zip(repeats.run, repeats.session.tolist(), strict=True)
    ]


def _indicators(levels: Sequence[str]) -> tuple[Floats, str] | None:
    """A column for each level except the most frequent one; None if there is nothing to compare.

    Rare levels and unknown ones (without a name) share one column. If there is only one column, its
    level's name is the second result; otherwise "".
    """
    codes, names = numbered(levels)
    if len(names) < 2:
        return None
    counts = np.bincount(codes)
    order = np.argsort(-counts, kind="stable")
    own = [i for i in order if counts[i] >= LEAST_OF_LEVEL and names[i]]
    rare = ~np.isin(codes, own)
    columns = [(codes == i).astype(np.float64) for i in own[1:]]
    which = names[own[1]] if len(own) > 1 else ""
    if own and rare.sum() >= LEAST_OF_LEVEL:
        columns.append(rare.astype(np.float64))
    # With few measurements per level the comparison has too few degrees of freedom.
    if not columns or len(columns) > len(levels) // 5:
        return None
    centred = np.stack(columns, axis=1)
    centred = np.asarray(centred - centred.mean(axis=0), dtype=np.float64)
    return centred, which if len(columns) == 1 else ""


def _of_cores(repeats: Repeats) -> list[Explanation]:
    """Each CPU that ranks of some, but not all, measurements used, as a separate candidate.

    Finding one slow CPU among many then costs a few more comparisons, but not one degree of freedom
    per CPU. CPUs that were always used together, or always alternatively, can't be distinguished
    and are one candidate. If a cell ran on several hosts, CPU 3 of all hosts is a candidate, and so
    is CPU 3 of each host.
    """
    if len(set(repeats.cores)) < 2:
        return []
    codes, places = _numbered_pairs(repeats.hosts, repeats.cores)
    seats = [_cpus(*place, several=len(set(repeats.hosts)) > 1) for place in places]
    if len(seats) * len(frozenset().union(*seats)) > _MOST_SEATS:
        seats = [_cpus(*place, several=False) for place in places]
    names = sorted(frozenset().union(*seats), key=natural)
    column_of = {name: column for column, name in enumerate(names)}
    there = np.zeros((len(names), len(seats)), dtype=bool)
    for place, seat in enumerate(seats):
        there[[column_of[name] for name in seat], place] = True
    counts = there @ np.bincount(codes)
    enough = (counts >= LEAST_OF_LEVEL) & (counts <= codes.size - LEAST_OF_LEVEL)
    evenness = np.where(enough, counts * (codes.size - counts), 0)
    groups: dict[bytes, list[int]] = {}
    for column in np.argsort(-evenness, kind="stable").tolist():
        if evenness[column]:
            apart = min(there[column].tobytes(), (~there[column]).tobytes())
            if apart in groups or len(groups) < MOST_CORES:
                groups.setdefault(apart, []).append(column)
    centred = []
    for first, *others in groups.values():
        beside = [names[k] for k in others if (there[k] == there[first]).all()]
        which = _cpus_text([names[first], *beside])
        levels = there[first][codes].astype(np.float64)
        levels = (levels - levels.mean())[:, None]
        centred.append(Explanation(CORES, which, levels, levels, 0, which=which))
    return centred


def _numbered_pairs(
    one: Sequence[str], other: Sequence[str]
) -> tuple[Ints, Sequence[tuple[str, str]]]:
    """The code of each pair of names, and the pairs that occur."""
    pairs = list(zip(one, other, strict=True))
    number = {pair: place for place, pair in enumerate(dict.fromkeys(pairs))}
    return np.fromiter(map(number.__getitem__, pairs), np.int64, len(pairs)), list(number)


def _cpus(hosts: str, cores: str, *, several: bool) -> frozenset[str]:
    """The CPUs of a measurement's ranks: ``cpu3``, and with ``several`` hosts also ``n1:cpu3``."""
    if not cores:
        return frozenset()
    names = expand_hosts(cores)
    if ":" in cores:
        return frozenset(names)
    own = [f"{host}:{name}" for host in expand_hosts(hosts) for name in names] if several else []
    return frozenset([*names, *own])


def _cpus_text(names: Sequence[str]) -> str:
    """``cpu[4-7]``: the names without host if there are any, otherwise those with host."""
    plain = [name for name in names if ":" not in name]
    return compress_hosts(plain or names)


def _hours(utc: Floats) -> Floats | None:
    """One harmonic of the day; None for fewer than three days or four different hours."""
    days, hours = np.floor(utc / DAY), np.floor((utc % DAY) / 3600.0)
    if np.unique(days).size < 3 or np.unique(hours).size < 4:
        return None
    angle = 2.0 * np.pi * utc / DAY
    centred = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return np.asarray(centred - centred.mean(axis=0), dtype=np.float64)
