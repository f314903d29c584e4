"""CPUs that other processes kept busy: each machine counts once, and ticks are no contention."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import msgspec

from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.records.model import Measurement
from assay.records.schema import ClockOffset, HostClocks, RankRecord
from assay.stats.cells.caveats import contention_text
from assay.stats.cells.contention import contention_of, machines_of, shared_cpus
from report_builder import SYSTEM, make_cell, make_disturbed


def test_ticks_of_short_measurements_are_no_contention() -> None:
    """Two steps of 10 ms in 20 ms are not a busy CPU, and six steps not three of two CPUs."""
    cell = make_cell("network.barrier", ppn=2)
    short = contention_of([make_disturbed(cell, 1.0, spans=0.02)], {})
    assert short is not None and not short.noticeable
    steps = contention_of([make_disturbed(cell, 3.0, spans=0.02)], {})
    assert steps is not None and steps.possible


def _hosts(offsets: Mapping[str, float]) -> tuple[RankRecord, ...]:
    return tuple(
        RankRecord(
            number, host, 1, 0, [0], 0, True, False,
            HostClocks(ClockOffset(0.0, 1e-5), ClockOffset(offset, 1e-5)),
        )
        for number, (host, offset) in enumerate(offsets.items())
    )  # fmt: skip


def test_hosts_of_one_machine_count_once() -> None:
    """Hosts of a virtual cluster read one monotonic clock; those of machines began at boot."""
    cell = Cell("network.barrier", {}, Placement(nodes=16, ppn=1), "embedded")
    measured = make_disturbed(cell, 31.0, cpus=None)
    lab = _hosts({f"node{n}": 1e-6 * n for n in range(16)})
    shared = Measurement(cell, 1, "l", 0.0, measured.record, measured.clock, lab)
    assert machines_of(shared) == 1
    system = SYSTEM.to_dict()
    found = contention_of([shared], system)  # a stream without the number of CPUs
    assert found is not None and found.cpus == 2 and not found.possible
    assert "can't have kept 31 of 2 CPUs busy" in contention_text(found)
    apart = _hosts({f"node{n}": 3600.0 * n for n in range(16)})
    real = Measurement(cell, 1, "l", 0.0, measured.record, measured.clock, apart)
    assert machines_of(real) == 16
    counted = msgspec.structs.replace(measured.record, covariates={"online_cpus": 2.0})
    assert shared_cpus(replace(shared, record=counted)) == 2
    assert shared_cpus(replace(real, record=counted)) is None
    assert shared_cpus(replace(shared, ranks=lab[:1], record=counted)) is None
    # assay ran elsewhere, on a machine whose CPUs say nothing of the nodes'.
    known = contention_of([real], system)
    assert known is not None and known.cpus is None and known.possible
