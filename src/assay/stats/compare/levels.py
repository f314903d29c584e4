"""Levels of factors as integer codes, and results grouped by level; efficient for many results."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.arrays import Floats, Ints

# Up to this number of codes per result, a table of all codes is cheaper than sorting.
_TABLE = 4
# NumPy uses a radix sort for 16-bit integers.
_SMALL = 1 << 16


def numbered(names: Sequence[str]) -> tuple[Ints, tuple[str, ...]]:
    """The code of each name's level, and the levels in the order of their first occurrence."""
    levels = tuple(dict.fromkeys(names))
    if len(levels) <= 1:
        return np.zeros(len(names), dtype=np.int64), levels
    number = {level: place for place, level in enumerate(levels)}
    return np.fromiter(map(number.__getitem__, names), np.int64, len(names)), levels


def combined(columns: Sequence[Ints], size: int) -> Ints:
    """The code of each result's combination of levels, in lexicographic order without gaps.

    ``columns``: for each factor the codes of ``size`` results' levels, from 0; the first factor is
    the most significant. Without factors all results have one combination.
    """
    together = np.zeros(size, dtype=np.int64)
    count = 1
    for codes in columns:
        levels = int(codes.max(initial=0)) + 1
        together, count = _without_gaps(together * levels + codes, count * levels)
    return together


def _without_gaps(codes: Ints, count: int) -> tuple[Ints, int]:
    """The codes, out of ``count``, renumbered over those that occur; and their number."""
    if count > _TABLE * codes.size + _SMALL:
        different, found = np.unique(codes, return_inverse=True)
        return np.asarray(found, dtype=np.int64).reshape(-1), int(different.size)
    occurs = np.bincount(codes, minlength=count) > 0
    number = np.cumsum(occurs) - 1
    return np.asarray(number[codes], dtype=np.int64), int(occurs.sum())


def places_of(codes: Ints, count: int) -> list[Ints]:
    """For each of ``count`` levels the ascending indices of its results."""
    narrow = codes.astype(np.uint16) if count <= _SMALL else codes
    order = np.argsort(narrow, kind="stable")
    return np.split(order, np.cumsum(np.bincount(codes, minlength=count))[:-1])


def relative(values: Floats, codes: Ints) -> Floats:
    """The values minus the median of their level."""
    shifted = values.copy()
    for places in places_of(codes, int(codes.max(initial=0)) + 1):
        if places.size:
            shifted[places] -= np.median(values[places])
    return shifted
