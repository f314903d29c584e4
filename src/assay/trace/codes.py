"""Columns of few distinct numbers."""

from __future__ import annotations

import numpy as np

from assay.arrays import Ints


def coded(values: Ints) -> tuple[Ints, Ints]:
    """The distinct values, ascending, and the place of each value among them.

    As ``np.unique`` with ``return_inverse``, which sorts all values: where few are distinct, a
    search among these takes a fraction.
    """
    found = np.unique(values)
    return found, np.searchsorted(found, values).astype(np.int64)
