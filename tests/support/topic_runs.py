"""Runs that together hold data for every topic of every question."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np

from assay.kernels import find_kernel
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.records.creation import create_run
from assay.records.directory import RunDirectory
from assay.records.model import RunData
from assay.records.reading import read_run
from assay.records.schema import MeasurementRecord, SampleSeries
from phase_runs import run_of as run_with_phases
from placement_runs import PLAIN, cg
from placement_runs import run_of as run_of_search
from records_builder import make_launch, make_plan, make_record, make_stream
from report_builder import SYSTEM, make_cell, make_measurement, make_run
from report_gallery import measured_suite
from site_programs import beside
from unsteady_run import unsteady_run
from variation_builder import normal, npb
from variation_builder import run_of as run_of_cells

_LAUNCHES = 8


def topic_runs(folder: Path) -> Iterator[RunData]:
    """The runs; ``folder``: where those that are measured on fake machines are stored."""
    for suite, machine in (("standard", "cluster"), ("linpack", "small"), ("toolchains", "odd")):
        yield read_run(measured_suite(folder, suite, machine))
    yield read_run(ring_run(folder / "rings").path)
    yield unsteady_run()
    yield _disturbed_by_steal()
    yield _searched()
    yield _beside_the_sites_code()
    yield _with_phases()
    yield _rank_orders()
    yield _late_at_barriers()


def ring_run(root: Path, ranks: int = 4) -> RunDirectory:
    """A stored run of one ring, whose hops take 1 µs, 2 µs and so on."""
    given = {each.name: each.default for each in find_kernel("network.ring").parameters}
    cell = Cell("network.ring", given, Placement(ppn=ranks), "fake")
    run = create_run(
        root,
        plan=make_plan([cell]),
        system_name="box",
        system=SYSTEM.to_dict(),
        toolchains={"fake": {}},
        command=["assay", "run"],
    )
    for replicate in range(1, _LAUNCHES + 1):
        name = run.new_launch()
        stream = make_stream(name, [_ring(cell, replicate, ranks)], ranks)
        (run.raw / f"{name}.jsonl").write_bytes(stream)
        run.append_launch(make_launch(name))
    return run


def _ring(cell: Cell, replicate: int, ranks: int) -> MeasurementRecord:
    record = make_record(cell, replicate, [1e-2 * (1 + 0.001 * k) for k in range(5)])
    hops = [
        SampleSeries("hop", "s", r, (r + 1) % ranks, [], [1e-6 * (r + 1) * (1 + 0.01 * replicate)])
        for r in range(ranks)
    ]
    return msgspec.structs.replace(record, series=[*record.series, *hops])


def _beside_the_sites_code() -> RunData:
    own = npb("cg", size="A", ppn=1)
    times = np.array([0.99, 1.0, 1.01, 0.995, 1.005, 1.002])
    return run_of_cells([(own, times), (beside(own), 2.5 * times)])


def _disturbed_by_steal() -> RunData:
    """LU, which takes as much longer as the hypervisor stole time."""
    stolen = np.random.default_rng(4).exponential(0.2, 60)
    run = run_of_cells([(npb("lu"), normal(5, 60, 0.005) + stolen)])
    measured = [
        replace(
            one,
            record=msgspec.structs.replace(
                one.record, covariates={"steal_seconds": float(2 * stolen[one.replicate - 1])}
            ),
        )
        for one in run.measurements
    ]
    return replace(run, measurements=tuple(measured))


def _searched() -> RunData:
    """A search among one, two and four ranks per node."""
    return run_of_search(PLAIN, cg, PLAIN)


def _with_phases() -> RunData:
    """CG on one, two and four ranks of a node, whose memory saturates."""
    works = []
    for ppn, compute in ((1, 1.6), (2, 1.0), (4, 0.9)):
        spread = {"least_compute": compute, "most_compute": compute} if ppn > 1 else {}
        waiting = {"allgatherv": 0.05 * ppn} if ppn > 1 else {}
        cell = Cell("npb.cg", {"class": "B"}, Placement(1, ppn), "embedded")
        works.append((cell, {"compute": compute, **waiting, **spread}))
    return run_with_phases(works, {1: 10e9, 2: 15e9, 4: 16e9})


def _rank_orders() -> RunData:
    """MG in two rank orders, one 8% slower."""
    cells = [
        Cell("npb.mg", {"class": "A"}, Placement(2, 2, order=order), "embedded")
        for order in ("block", "cyclic")
    ]
    return _run_of(
        (cell, time * factor)
        for cell, time in zip(cells, (1.0, 1.08), strict=True)
        for factor in normal(1, _LAUNCHES, 0.01)
    )


def _run_of(times: Iterator[tuple[Cell, float]]) -> RunData:
    measured = [make_measurement(cell, [time], number) for number, (cell, time) in enumerate(times)]
    return _planned(make_run([], measurements=measured, launches=[]))


def _late_at_barriers() -> RunData:
    """Three ranks at barriers, of which the last is late most often."""
    cell = make_cell("noise.barrier", ppn=3, quantum=1e-4, count=1000)
    measured = []
    for replicate in range(_LAUNCHES):
        scale = 1.0 + 0.01 * replicate
        whole = (("lost", "1", 0.02), ("spread", "s", 3e-6), ("barrier", "s", 1e-6))
        series = [SampleSeries(name, unit, None, None, [], [v * scale]) for name, unit, v in whole]
        for rank, share in enumerate((0.1, 0.2, 0.7)):
            levels = [scale * rank * k * 1e-6 for k in range(8)]
            series += [
                SampleSeries("last", "1", rank, None, [], [share]),
                SampleSeries("lateness", "s", rank, None, [], levels),
                SampleSeries("latest", "s", rank, None, [], [1e-3 * (rank + replicate), 1e-4]),
            ]
        one = make_measurement(cell, [0.4], replicate)
        record = msgspec.structs.replace(
            one.record, series=[*one.record.series, *series], facts={"clocks": "one clock"}
        )
        measured.append(replace(one, record=record))
    return _planned(make_run([], measurements=measured))


def _planned(run: RunData) -> RunData:
    """The run with a plan of the cells that it measured."""
    cells = tuple({m.cell.id: m.cell for m in run.measurements}.values())
    plan = msgspec.structs.replace(run.manifest.plan, cells=cells)
    return replace(run, manifest=msgspec.structs.replace(run.manifest, plan=plan))
