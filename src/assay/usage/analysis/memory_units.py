"""Amounts of memory that no job can have used or requested: a sign of wrong units in the log."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.units import format_quantity, format_share, listed
from assay.usage.accounts import formats
from assay.usage.analysis.distribution import Distribution
from assay.usage.jobs import Jobs

# A running process has at least this much memory, bytes per processor.
_LEAST = 16 * 2.0**10
# No machine has as much as this per processor, bytes.
_MOST = 2.0**40
# Bad requests don't explain medians of used ÷ requested below and above these: even a sleeping
# process uses a millionth of a node's memory.
_LEAST_SHARE, _MOST_SHARE = 1e-6, 100.0


def memory_doubt(jobs: Jobs, titles: Sequence[str]) -> str:
    """Why the log's amounts of memory can't have the assumed unit; "" if they can.

    ``titles``: the formats of the log.
    """
    requests, uses, shares = Distribution(), Distribution(), Distribution()
    for _, each in jobs.chunks():
        asked, used = each.number("requested_memory"), each.number("used_memory")
        processors = each.number("processors")
        sized = (processors > 0) & ~np.isnan(each.number("end"))
        requests.add(asked[sized] / processors[sized])
        uses.add(used[sized] / processors[sized])
        shares.add(used[asked > 0] / asked[asked > 0])
    reasons = []
    for noun, spread in (("request", requests), ("use", uses)):
        if not spread.n:
            continue
        median = spread.median()
        than = "less than any process has" if median < _LEAST else "more than any machine has"
        if not _LEAST <= median <= _MOST:
            reasons.append(
                f"the median {noun} would be {format_quantity(median, 'B')} per processor, {than}"
            )
    if shares.n and not _LEAST_SHARE <= shares.median() <= _MOST_SHARE:
        reasons.append(f"the median job would use {format_share(shares.median())} of its request")
    if not reasons:
        return ""
    units = [form.memory for form in formats().values() if form.title in titles]
    return (
        f"Memory: the log's unit is not the assumed one ({'; '.join(dict.fromkeys(units))}), since "
        f"{listed(reasons)}. No ratio of used to requested memory is stated."
    )
