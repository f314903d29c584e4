"""Traces of operating system noise, for several tests."""

from __future__ import annotations

import numpy as np

STEP = 1e-4


def lost_to_pulses(count, period, length, begin, step=STEP):
    """Seconds of each interval taken by pulses of ``length`` every ``period``, exactly."""
    starts = np.arange(begin - period, count * step + period, period)
    edges = np.arange(count + 1) * step
    overlaps = (
        np.minimum(edges[1:], start + length) - np.maximum(edges[:-1], start) for start in starts
    )
    return sum(np.clip(overlap, 0.0, None) for overlap in overlaps)


def interrupted_quanta(rng, count, jitter, period, length, once=None):
    """Times of equal quanta, if ``length`` is taken once every ``period`` by the clock.

    ``once``: the index of a quantum that additionally loses 3 ms.
    """
    clock, due, spans = 0.0, 0.3 * period, []
    for index, more in enumerate(np.abs(rng.normal(0.0, jitter, count))):
        span = STEP + more + (3e-3 if index == once else 0.0)
        while due < clock + span:
            span += length
            due += period
        spans.append(span)
        clock += span
    return np.array(spans)
