"""The traces that records of the noise kernels hold, quantum by quantum."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.records.model import Measurement
from assay.records.schema import ClockRecord, RankRecord, SampleSeries
from assay.stats.noise.detours import traces
from records_builder import make_record

CELL = Cell("noise.fwq", {"quantum": 1e-3, "count": 3}, Placement(ppn=2), "fake")
INTERVALS = Cell("noise.ftq", {"interval": 1e-3, "count": 2}, Placement(ppn=1), "fake")
SEATS = (
    RankRecord(0, "n1", 100, 0, [4], 0, True, False),
    RankRecord(1, "n2", 101, 0, [6], 0, False, False),
)


def measured(cell: Cell, values: dict[int, list[float]], **changes: object) -> Measurement:
    name = "quantum" if cell is CELL else "pieces"
    whole = SampleSeries("time", "s", None, None, [0.5, 0.9], [1.0, 1.0])
    own = [SampleSeries(name, "s", rank, None, [], list(each)) for rank, each in values.items()]
    record = msgspec.structs.replace(make_record(cell, 0, [1.0]), series=[whole, *own], **changes)
    clock = ClockRecord("fake", 1e-8, 2e-8)
    return Measurement(cell, 0, "0000", 0.0, record, clock, SEATS)


def test_fixed_work_loses_the_time_of_a_quantum_beyond_the_fastest() -> None:
    spans = [1.0, 1.2, 1.0, 1.1, 1.5, 1.3]
    first, second = traces([measured(CELL, {1: spans[:3], 0: spans})])
    assert (first.rank, first.host, first.cpu) == (0, "n1", 4)
    assert (second.rank, second.host, second.cpu) == (1, "n2", None)  # it wasn't pinned
    assert (first.kernel, first.step, first.grain) == ("noise.fwq", 1e-3, 2e-8)
    assert [each.at for each in first.segments] == [0.5, 0.9]
    for number, segment in enumerate(first.segments):
        own = spans[3 * number : 3 * number + 3]
        assert segment.spans.tolist() == own
        assert segment.starts == pytest.approx([0.0, own[0], own[0] + own[1]])
        assert segment.lost == pytest.approx([span - 1.0 for span in own])
    assert len(second.segments) == 1


def test_fixed_time_loses_the_missing_work_of_an_interval() -> None:
    (found,) = traces([measured(INTERVALS, {0: [200.0, 150.0, 100.0, 190.0]})] * 2)
    assert len(found.segments) == 4
    assert found.lost == pytest.approx([0.0, 0.25e-3, 0.5e-3, 0.05e-3] * 2)
    assert found.segments[1].spans.tolist() == [1e-3, 1e-3]
    assert found.grain == pytest.approx(1e-3 / 200)  # a piece of work, coarser than the clock


def test_untraced_or_failed_measurements_have_no_trace() -> None:
    values = {0: [1.0, 1.2, 1.0]}
    assert traces([measured(CELL, values, status="failed")]) == []
    assert traces([measured(CELL, values, verified=False)]) == []
    assert traces([measured(CELL, values, kernel="noise.barrier")]) == []
    assert traces([measured(CELL, {0: []})]) == []
    assert np.isfinite(traces([measured(CELL, values)])[0].lost).all()
