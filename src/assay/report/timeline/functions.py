"""Packs the functions inside computing for the page: samples of call stacks."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.report.timeline.detail import nanoseconds
from assay.report.timeline.model import ComputingSamples
from assay.report.timeline.packing import Packed
from assay.trace.events import Trace

# Maximum samples of a page, about 4 bytes each. Of more, every second, third … one is kept.
MOST_SAMPLES = 150_000


def thinning(samples: ComputingSamples) -> int:
    """How many samples each kept sample stands for."""
    return max(-(-len(samples.time) // MOST_SAMPLES), 1)


def samples_head(samples: ComputingSamples | None) -> dict[str, Any] | None:
    """Names of the functions, and the CPU time (s) that a kept sample stands for."""
    if samples is None:
        return None
    return {"functions": list(samples.functions), "period": samples.period * thinning(samples)}


def pack_samples(packed: Packed, trace: Trace, samples: ComputingSamples | None) -> None:
    """Adds the samples by rank, in the order of time; nothing without samples."""
    if samples is None:
        return
    rows = {rank.rank: row for row, rank in enumerate(trace)}
    row = np.array([rows.get(int(rank), -1) for rank in np.unique(samples.rank)], np.int64)
    row = row[np.searchsorted(np.unique(samples.rank), samples.rank)]
    at = nanoseconds(samples.time, trace.begin)
    inside = np.flatnonzero((row >= 0) & (at >= 0))
    order = inside[np.lexsort((at[inside], row[inside]))][:: thinning(samples)]
    row, at, function = row[order], at[order], samples.function[order]
    begins = np.flatnonzero(np.diff(row, prepend=-1))
    gaps = np.diff(at, prepend=0)
    gaps[begins] = at[begins]
    packed.unsigned("sample.counts", np.bincount(row, minlength=len(trace.ranks)))
    packed.unsigned("sample.gap", gaps)
    packed.unsigned("sample.function", function)
