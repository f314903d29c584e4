"""The number of measured pairs, and what limits it."""

from __future__ import annotations

import pytest

from assay.records.schema import MeasurementRecord
from assay.stats.cells.sampled_pairs import sampled_pairs


@pytest.mark.parametrize(("most", "limited"), [(20, 20), (24, None)])
def test_a_part_smaller_than_permitted_is_due_to_time(most: int, limited: int | None) -> None:
    """16 CPUs have 8 pairs in a round, so that 16 pairs are as many as 20 permit."""
    record = MeasurementRecord(
        "m", "memory.core_to_core", "ok", start=0.0, wall=1.0, parameters={"most": most},
        facts={"members": 16, "pairs": 16, "pairs_in_all": 120},
    )  # fmt: skip
    found = sampled_pairs([record])
    assert found is not None and (found.per_launch, found.most) == (16, limited)
