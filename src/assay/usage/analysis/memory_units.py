"""Amounts of memory that no job can have used or requested: a sign of wrong units in the log."""

from __future__ import annotations

from collections.abc import Sequence

from assay.units import format_quantity, format_share, listed
from assay.usage.accounts import formats
from assay.usage.analysis.totals import Totals

# A running process has at least this much memory, bytes per processor.
_LEAST = 16 * 2.0**10
# No machine has as much as this per processor, bytes.
_MOST = 2.0**40
# Medians of used ÷ requested below and above these are no result of bad requests: even a sleeping
# process uses a millionth of a node's memory.
_LEAST_SHARE, _MOST_SHARE = 1e-6, 100.0


def memory_doubt(totals: Totals, titles: Sequence[str]) -> str:
    """Why the log's amounts of memory can't have the assumed unit; "" if they can.

    ``titles``: the formats of the log.
    """
    reasons = []
    for noun, spread in (("request", totals.memory_requested), ("use", totals.memory_used)):
        median = spread.median() if spread.n else None
        if median is not None and median < _LEAST:
            reasons.append(
                f"the median {noun} would be {format_quantity(median, 'B')} per processor, less "
                "than any process has"
            )
        if median is not None and median > _MOST:
            reasons.append(
                f"the median {noun} would be {format_quantity(median, 'B')} per processor, more "
                "than any machine has"
            )
    if totals.memory_ratio.n:
        share = totals.memory_ratio.median()
        if not _LEAST_SHARE <= share <= _MOST_SHARE:
            reasons.append(f"the median job would use {format_share(share)} of its request")
    if not reasons:
        return ""
    units = [form.memory for form in formats().values() if form.title in titles]
    return (
        f"Memory: the log's unit is not the assumed one ({'; '.join(dict.fromkeys(units))}), since "
        f"{listed(reasons)}. No ratio of used to requested memory is stated."
    )
