"""Patterns that select cells."""

from __future__ import annotations

import pytest

from assay.stats.cells.pattern import selects, selects_cell
from assay.stats.core.model import CellSummary
from records_builder import make_cell


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("npb.cg", True),
        ("npb.*", True),
        ("npb.cg class=A", True),
        ("npb.cg class=[AB] ppn=2 nodes=1", True),
        ("npb.cg bytes=64KiB", True),
        ("npb.cg ranks=2 toolchain=fake", True),
        ("npb.cg class=B", False),
        ("npb.cg other=1", False),
        ("npb", False),
        ("npb.cg ppn=4", False),
    ],
)
def test_a_pattern_selects_cells_by_kernel_parameters_and_placement(
    pattern: str, expected: bool
) -> None:
    parameters: dict[str, int | str] = {"class": "A", "bytes": 65536}
    made = make_cell("npb.cg", **parameters)
    summary = CellSummary("npb.cg", made.id, made, "ok", True, {**parameters}, {}, [])
    assert selects(pattern, summary) is expected
    # Without a measurement the resolved parameters are passed separately.
    assert selects_cell(pattern, summary.cell, summary.parameters) is expected
