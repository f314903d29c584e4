"""Runs that together hold data for every topic of every question."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np

from assay.kernels import find_kernel
from assay.launch.fake.congestion import CongestionModel
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.records.creation import create_run
from assay.records.directory import RunDirectory
from assay.records.model import RunData
from assay.records.reading import read_run
from assay.records.schema import MeasurementRecord, SampleSeries
from loaded_networks import congestion_cells, loaded_run
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
# Suites on fake machines of the gallery.
_SUITES = (
    ("standard", "cluster"),
    ("linpack", "small"),
    ("toolchains", "odd"),
    ("gpu", "devices"),
)


def topic_runs(folder: Path) -> Iterator[RunData]:
    """The runs; ``folder``: where those that are measured on fake machines are stored."""
    for suite, machine in _SUITES:
        yield read_run(measured_suite(folder, suite, machine))
    yield read_run(ring_run(folder / "rings").path)
    yield unsteady_run()
    yield _disturbed_by_steal()
    yield _searched()
    yield _beside_the_sites_code()
    yield _with_phases()
    yield _rank_orders()
    yield _late_at_barriers()
    yield _overlapped()
    yield _conjugate_gradients()
    yield _under_load(folder)
    yield _by_the_rules_of_io500()


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


def _under_load(folder: Path) -> RunData:
    """An allreduce that an incast slows, beside two shares of two aggressors."""
    model = CongestionModel(slowed={"incast/allreduce": 3.0})
    cells = congestion_cells(("allreduce",), ("incast", "permutation"), (0.5, 1.0))
    return loaded_run(folder, model, cells, launches=_LAUNCHES)


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


def _overlapped() -> RunData:
    """Exchanges of two sizes: computation hides nothing or a fifth, and more with calls."""
    times = {"communication": 1.0, "computation": 1.0, "overlapped": 1.8, "tested": 1.1}
    measured = []
    for size, hidden in ((8, 0.0), (1 << 20, 0.2)):
        shares = {"overlap": hidden, "overlap_tested": 0.9}
        cell = make_cell("network.overlap", ppn=2, op="exchange", bytes=size, interval=1e-5)
        for replicate, factor in enumerate(normal(1, _LAUNCHES, 0.01, median=1e-3)):
            series = [
                *(SampleSeries(n, "s", None, None, [], [factor * t]) for n, t in times.items()),
                *(SampleSeries(n, "1", None, None, [], [s]) for n, s in shares.items()),
            ]
            one = make_measurement(cell, [4 * factor], replicate)
            record = msgspec.structs.replace(one.record, series=[*one.record.series, *series])
            measured.append(replace(one, record=record))
    return _planned(make_run([], measurements=measured))


def _conjugate_gradients() -> RunData:
    """HPCG on two ranks, with the times of its parts."""
    size = {"nx": 64, "ny": 64, "nz": 64, "iterations": 50}
    cell = make_cell("hpcg", ppn=2, **size)
    phases = {"spmv": 0.2, "symgs": 0.6, "transfer": 0.1, "waxpby": 0.05, "dot": 0.05}
    times = {**phases, "mg": 0.7, "rated": 1.04}
    measured = []
    for replicate, factor in enumerate(normal(1, _LAUNCHES, 0.01, median=1.0)):
        series = [
            SampleSeries(name, "s", None, None, [], [factor * time]) for name, time in times.items()
        ]
        one = make_measurement(cell, [factor], replicate)
        record = msgspec.structs.replace(one.record, series=[*one.record.series, *series])
        measured.append(replace(one, record=record))
    return _planned(make_run([], measurements=measured))


def _by_the_rules_of_io500() -> RunData:
    """storage.io500 on two ranks, with the costs of its phases."""
    kernel = find_kernel("storage.io500")
    cell = make_cell(kernel.name, ppn=2)
    costs = [metric.series for metric in kernel.metrics if metric.quantity]
    measured = []
    for replicate, factor in enumerate(normal(1, _LAUNCHES, 0.01, median=1.0)):
        series = [SampleSeries(name, "s", None, None, [], [factor]) for name in costs]
        one = make_measurement(cell, [30.0], replicate)
        record = msgspec.structs.replace(one.record, series=[*one.record.series, *series])
        measured.append(replace(one, record=record))
    return _planned(make_run([], measurements=measured))


def _planned(run: RunData) -> RunData:
    """The run with a plan of the cells that it measured."""
    cells = tuple({m.cell.id: m.cell for m in run.measurements}.values())
    plan = msgspec.structs.replace(run.manifest.plan, cells=cells)
    return replace(run, manifest=msgspec.structs.replace(run.manifest, plan=plan))
