"""Prediction by boosted symmetric trees, small enough to ship as data.

All nodes of one level of a tree have the same split (Kohavi & Li 1995; Prokhorenkova et al. 2018),
so that a tree of depth d consists of d splits and 2^d values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.arrays import Floats, Ints

# Values of leaves and bounds of splits are stored in this unit.
UNIT = 1e-4


@dataclass(frozen=True)
class Forest:
    """Forest."""

    #: Value before the first tree.
    start: float
    #: ``columns``, ``bounds``: shape (trees, depth). A value above the bound goes right; NaN goes
    #: left.
    columns: Ints
    bounds: Floats
    #: Values of the leaves, shape (trees, 2^depth).
    leaves: Floats

    def predict(self, x: Floats) -> Floats:
        """The prediction for each row of columns."""
        total = np.full(len(x), self.start)
        powers = 1 << np.arange(self.columns.shape[1])
        for columns, bounds, leaves in zip(self.columns, self.bounds, self.leaves, strict=True):
            total += leaves[(x[:, columns] > bounds) @ powers]
        return total
