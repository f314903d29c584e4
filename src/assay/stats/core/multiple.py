"""Correction of p-values for multiple testing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from assay.arrays import Floats
from assay.errors import AssayError

Method = Literal["holm", "bh"]


def corrected(p_values: Sequence[float] | Floats, method: Method = "holm") -> Floats:
    """The p-values, in their order, corrected for multiple testing.

    ``holm`` (Holm 1979) controls the family-wise error rate, however the tests depend on each
    other. ``bh`` (Benjamini & Hochberg 1995) controls the false discovery rate of tests that are
    independent or depend positively. A nan is a test that wasn't made: it stays and doesn't count.
    Raises AssayError for a p-value outside [0, 1] and for an unknown method.
    """
    given = np.asarray(p_values, dtype=np.float64)
    tested = np.flatnonzero(~np.isnan(given))
    p = given[tested]
    if p.size and (p.min() < 0.0 or p.max() > 1.0):
        raise AssayError("A p-value must lie between 0 and 1.")
    result = np.full(given.shape, np.nan)
    order = np.argsort(p, kind="stable")
    ranked, count = p[order], p.size
    if method == "holm":
        adjusted = np.maximum.accumulate(ranked * np.arange(count, 0, -1))
    elif method == "bh":
        adjusted = np.minimum.accumulate((ranked * (count / np.arange(1, count + 1)))[::-1])[::-1]
    else:
        raise AssayError(
            f"There is no correction '{method}'.", fix="The corrections are holm and bh."
        )
    result[tested[order]] = np.minimum(adjusted, 1.0)
    return result


def corrected_rows(p_values: Floats) -> Floats:
    """Each row's p-values corrected as ``bh`` does; nan is a test not made.

    The minimum of a row is Simes' (1986) p-value of all its hypotheses together.
    """
    tests = np.isfinite(p_values).sum(axis=1, keepdims=True)
    order = np.argsort(p_values, axis=1)  # nan last
    ranked = np.take_along_axis(p_values, order, axis=1)
    over = ranked * tests / np.arange(1, p_values.shape[1] + 1)
    over = np.where(np.isfinite(ranked), over, np.inf)
    least = np.minimum.accumulate(over[:, ::-1], axis=1)[:, ::-1]
    adjusted = np.empty_like(p_values)
    np.put_along_axis(adjusted, order, np.minimum(least, 1.0), axis=1)
    return np.where(np.isfinite(p_values), adjusted, np.nan)
