"""The metric that stands for a cell."""

from __future__ import annotations

from msgspec.structs import replace

from assay.stats.cells.headline import headline_metric
from report_builder import quick_cells


def test_the_headline_is_the_kernels_and_of_a_program_its_first_metric() -> None:
    cells = {each.kernel: each for each in quick_cells()}
    stream = cells["memory.stream"]
    assert headline_metric(stream) is stream.metrics["bandwidth"]
    reordered = dict(reversed(stream.metrics.items()))
    assert headline_metric(replace(stream, metrics=reordered)) is stream.metrics["bandwidth"]
    program = replace(stream, kernel="app.solver", metrics=reordered)
    assert headline_metric(program) is next(iter(reordered.values()))
    assert headline_metric(replace(stream, metrics={})) is None
