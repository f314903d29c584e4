"""What went over which network adapter: the records' own counts, added up."""

from __future__ import annotations

from collections.abc import Iterable

from assay.records.schema import MeasurementRecord


def sent_by_adapter(records: Iterable[MeasurementRecord]) -> dict[str, float]:
    """Bytes that all hosts sent over the adapters of each name, the busiest first.

    Where one adapter stands for others (a bond, a VLAN), both have counted the same bytes.
    """
    sums: dict[str, float] = {}
    for record in records:
        for each in record.traffic:
            sums[each.adapter] = sums.get(each.adapter, 0.0) + each.sent
    return dict(sorted(sums.items(), key=lambda item: (-item[1], item[0])))
