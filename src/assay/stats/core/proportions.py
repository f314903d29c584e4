"""Confidence intervals of proportions."""

from __future__ import annotations

from assay.errors import AssayError
from assay.units import Interval


def clopper_pearson(found: int, of: int, confidence: float = 0.95) -> Interval:
    """Exact interval of a probability from ``found`` successes in ``of`` trials.

    Clopper & Pearson (1934): coverage is at least ``confidence`` for every probability. [0, 1]
    without trials. Raises AssayError unless 0 <= found <= of.
    """
    if not 0 <= found <= of:
        raise AssayError(f"{found} of {of} is not a proportion.")
    if of == 0:
        return 0.0, 1.0
    from scipy.special import betaincinv

    tail = (1.0 - confidence) / 2.0
    low = float(betaincinv(found, of - found + 1, tail)) if found else 0.0
    high = float(betaincinv(found + 1, of - found, 1.0 - tail)) if found < of else 1.0
    return low, high
