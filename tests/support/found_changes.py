"""The changes of a series of values, from its values to its changes in one call."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from assay.stats.changes.changes import LEVEL, Changes, changes_of, series_of

Values = Sequence[float] | npt.NDArray[np.float64]


def find_changes(
    values: Values,
    utc: Values | None = None,
    scatter: Values | None = None,
    level: float = LEVEL,
    least_dependence: float = 0.0,
) -> Changes:
    """``changes_of`` of these values; see ``series_of``."""
    return changes_of(series_of(values, utc, scatter), level, least_dependence)
