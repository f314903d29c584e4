"""How many pairs a cell measured, for kernels that measure every pair or a random part of them."""

from __future__ import annotations

from collections.abc import Sequence

from assay.records.schema import MeasurementRecord
from assay.stats.core.model import SampledPairs


def sampled_pairs(records: Sequence[MeasurementRecord]) -> SampledPairs | None:
    """The measured pairs over all launches; None for kernels without pairs."""
    facts = records[0].facts
    members, per_launch, in_all = (facts.get(n) for n in ("members", "pairs", "pairs_in_all"))
    if not (isinstance(members, int) and isinstance(per_launch, int) and isinstance(in_all, int)):
        return None
    pairs = {
        frozenset((series.rank, series.peer))
        for record in records
        for series in record.series
        if series.rank is not None and series.peer is not None
    }
    # Pairs are drawn in rounds with at most one pair of each member.
    given = records[0].parameters.get("most")
    most = given if isinstance(given, int) and per_launch + members // 2 > given else None
    return SampledPairs(len(pairs), in_all, per_launch, most)
