"""Distributions of values that arrive in chunks: exact up to a number of values, then bounded."""

from __future__ import annotations

import numpy as np

from assay.arrays import Floats, Ints
from assay.usage.analysis.model import LEVELS, UsageSpread

# Number of values that are kept. Beyond it, only the number of values in each class is counted.
EXACT = 1 << 22
# A class is a power of two divided into 2^12 equal parts, so that a value differs from the middle
# of its class by at most 2^-13 of the value. The powers are 2^-31 to 2^32; smaller values count as
# 0.
_PARTS = 12
_SHIFT = 52 - _PARTS
_LOW, _HIGH = (1023 - 31) << _PARTS, (1023 + 33) << _PARTS
# The greatest relative error of a quantile of more than ``EXACT`` values.
ERROR = 2.0 ** -(_PARTS + 1)


class Distribution:
    """Values (>= 0; NaN is ignored) with their quantiles, which are exact for up to ``exact``
    values.
    """

    def __init__(self, exact: int = EXACT) -> None:
        self.n = 0
        self._exact = exact
        self._sum = 0.0
        self._least, self._greatest = np.inf, -np.inf
        self._kept: list[Floats] = []
        self._counts: Ints | None = None

    def add(self, values: Floats) -> None:
        """Add values."""
        known = values[~np.isnan(values)]
        if not known.size:
            return
        self.n += int(known.size)
        self._sum += float(known.sum())
        self._least = min(self._least, float(known.min()))
        self._greatest = max(self._greatest, float(known.max()))
        if self._counts is None:
            self._kept.append(known)
            if self.n > self._exact:
                self._counts = np.zeros(_HIGH - _LOW + 1, dtype=np.int64)
                for each in self._kept:
                    self._count(each)
                self._kept = []
        else:
            self._count(known)

    def _count(self, values: Floats) -> None:
        assert self._counts is not None
        # The upper bits of non-negative numbers have the same order as the numbers.
        classes = np.clip((values.view(np.int64) >> _SHIFT) - _LOW, 0, _HIGH - _LOW)
        self._counts += np.bincount(classes, minlength=self._counts.size)

    def quantiles(self, levels: tuple[float, ...]) -> list[float]:
        """Linear between the ordered values (Hyndman & Fan, 1996, type 7); NaN without values.

        With more than ``exact`` values, the middle of the value's class, with a relative error of
        at most ``ERROR``. The least and the greatest value are exact.
        """
        if not self.n:
            return [np.nan] * len(levels)
        if self._counts is None:
            values = self._kept[0] if len(self._kept) == 1 else np.concatenate(self._kept)
            return [float(value) for value in np.quantile(values, levels)]
        before = np.cumsum(self._counts)
        place = np.searchsorted(before, np.array(levels) * (self.n - 1), side="right")
        low = ((place + _LOW) << _SHIFT).astype(np.int64).view(np.float64)
        high = ((place + 1 + _LOW) << _SHIFT).astype(np.int64).view(np.float64)
        middle = np.where(place == 0, 0.0, (low + high) / 2)
        middle = np.where(np.array(levels) <= 0.0, self._least, middle)
        middle = np.where(np.array(levels) >= 1.0, self._greatest, middle)
        return [float(value) for value in np.clip(middle, self._least, self._greatest)]

    def median(self) -> float:
        """The mean of the two middle values, as exact as ``quantiles``."""
        if self._counts is None and self.n:
            return float(np.median(np.concatenate(self._kept)))
        return self.quantiles((0.5,))[0]

    def spread(self) -> UsageSpread | None:
        """The distribution; None if there is no value."""
        if not self.n:
            return None
        return UsageSpread(self.n, self._sum / self.n, self.quantiles(LEVELS))
