"""Rates of the NPB are named as those of assay's own code, wherever cells are listed."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from assay.kernels.npb.own_code import OWN_CODE
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.report.cell_table import cell_table
from assay.report.measured import print_cells
from report_builder import make_summary

STREAM = Cell("memory.stream", {"op": "triad"}, Placement(), "embedded")
CG = Cell("npb.cg", {"class": "S"}, Placement(), "embedded")


@pytest.mark.parametrize(("cells", "named"), [([STREAM], False), ([STREAM, CG], True)])
def test_lists_of_cells_name_the_code_where_they_show_an_npb_rate(
    cells: list[Cell], named: bool
) -> None:
    summaries = [make_summary(cell, 1e9, elements=1000) for cell in cells]
    stream = io.StringIO()
    print_cells(summaries, Console(file=stream, width=100))
    assert (OWN_CODE in stream.getvalue()) is named
    caption = cell_table(summaries).caption
    assert caption.endswith(f"NPB: {OWN_CODE}." if named else "number of launches.")
