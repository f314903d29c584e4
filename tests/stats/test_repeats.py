"""Repeats of a run and of a store: planted values are returned, in one order, by either."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest

from assay.kernels import find_kernel
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.records.creation import create_run
from assay.records.model import Measurement, RunData
from assay.records.reading import read_run
from assay.records.schema import MeasurementRecord, RankRecord, SampleSeries
from assay.records.store import RunFilter, Store
from assay.records.summary import summarise_run
from assay.records.tables import TABLES_SCHEMA, write_tables
from assay.stats.cells.summarise import launch_value, summarise_cells
from assay.stats.repeats.repeats import Repeats, joined, repeats_of
from assay.stats.repeats.stored_repeats import repeats_in
from records_builder import make_plan, make_record, make_run, make_stream

STREAM = Cell("memory.stream", {"op": "triad"}, Placement(ppn=2, node_set=3), "fake")
BARRIER = Cell("network.barrier", {}, Placement(ppn=2), "fake")
OUTSIDE = Cell("site.solver", {"size": 3}, Placement(ppn=2), "fake")
NOISE = Cell("noise.fwq", {}, Placement(ppn=2), "fake")


def seats(*hosts: str) -> tuple[RankRecord, ...]:
    return tuple(
        RankRecord(rank, host, 100 + rank, 0, [0], 0, True, False)
        for rank, host in enumerate(hosts)
    )


def measured(
    cell: Cell, replicate: int, values: Sequence[float], utc: float, **changes: object
) -> Measurement:
    ranks = changes.pop("ranks", seats("n2", "n10"))
    record = msgspec.structs.replace(make_record(cell, replicate, values), **changes)
    assert isinstance(ranks, tuple)
    return Measurement(cell, replicate, f"{replicate:04d}", utc, record, None, ranks)


def in_memory(root: Path, measurements: Sequence[Measurement]) -> RunData:
    cells = {m.cell.id: m.cell for m in measurements}
    run = make_run(root, make_plan(list(cells.values())))
    return RunData(run.path, run.manifest(), tuple(measurements), (), True)


def test_what_counts_comes_in_order_of_time_in_the_metrics_unit(tmp_path: Path) -> None:
    elements = {"op": "triad", "elements": 1000}
    run = in_memory(
        tmp_path,
        [
            measured(STREAM, 0, [9.0, 2.0, 4.0], 30.0, warmup=1, parameters=elements),
            measured(STREAM, 1, [1.0, 3.0], 10.0, parameters=elements, ranks=seats("n1")),
            measured(STREAM, 2, [1.0], 20.0, status="failed", error="x"),
            measured(STREAM, 3, [1.0], 21.0, verified=False),
            measured(STREAM, 4, [1.0], 22.0, status="interrupted"),
        ],
    )
    (repeats,) = repeats_of(run)
    kernel = find_kernel("memory.stream")
    work = kernel.work(elements, 2, 1)["bytes"]
    assert (repeats.metric, repeats.unit, repeats.better) == ("bandwidth", "B/s", "more")
    # 3 s is the median of 2 and 4, after one sample of warm-up; 2 s that of 1 and 3.
    assert repeats.values == pytest.approx([work / 2.0, work / 3.0])
    assert repeats.cost * work == pytest.approx([2.0, 3.0])
    assert repeats.utc.tolist() == [10.0, 30.0]
    assert repeats.launch == ("0001", "0000")
    assert repeats.hosts == ("n1", "n[2,10]")
    assert repeats.sizes.tolist() == [2, 2]
    assert work / repeats.samples == pytest.approx([1.0, 3.0, 2.0, 4.0])
    by_launch = {m.launch: launch_value(m) for m in run.measurements}
    assert [work * c for c in repeats.cost] == pytest.approx(
        [by_launch[launch] for launch in repeats.launch]
    )


def test_the_values_are_those_that_the_cells_summary_rests_on(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    run = in_memory(
        tmp_path,
        [
            measured(
                *(STREAM, k, rng.lognormal(0.0, 0.3, 9).tolist(), float(k)),
                warmup=2,
                parameters={"op": "triad", "elements": 1000},
            )
            for k in range(7)
        ],
    )
    (repeats,) = repeats_of(run)
    (summary,) = summarise_cells(run)
    metric = summary.metrics[repeats.metric]
    assert np.median(repeats.values) == pytest.approx(metric.median)
    assert np.sort(repeats.values).std(ddof=1) / repeats.values.mean() == pytest.approx(metric.cov)
    assert (repeats.samples.min(), repeats.samples.max()) == pytest.approx((metric.min, metric.max))


def test_covariates_are_nan_if_the_machine_did_not_report_them(tmp_path: Path) -> None:
    run = in_memory(
        tmp_path,
        [
            measured(BARRIER, 0, [1.0], 1.0, covariates={"steal_seconds": 0.5, "frequency": None}),
            measured(BARRIER, 1, [1.0], 2.0, covariates={"load_average": 2.0}),
        ],
    )
    (repeats,) = repeats_of(run)
    assert repeats.covariates["steal_seconds"] == pytest.approx([0.5, np.nan], nan_ok=True)
    assert repeats.covariates["load_average"] == pytest.approx([np.nan, 2.0], nan_ok=True)
    assert np.isnan(repeats.covariates["frequency"]).all()


def test_some_of_them_keep_their_samples_and_hosts(tmp_path: Path) -> None:
    run = in_memory(
        tmp_path,
        [
            measured(BARRIER, k, [k + 1.0] * (k + 1), float(k), ranks=seats(f"n{k % 2}"))
            for k in range(4)
        ],
    )
    (repeats,) = repeats_of(run)
    names = np.array(repeats.hosts)
    by_host = {host: repeats.take(names == host) for host in ("n1", "n0")}
    assert by_host["n1"].values.tolist() == [2.0, 4.0]
    assert by_host["n1"].samples.tolist() == [2.0, 2.0, 4.0, 4.0, 4.0, 4.0]
    assert by_host["n0"].sizes.tolist() == [1, 3]
    assert repeats.take([2, 0]).values.tolist() == [3.0, 1.0]
    (whole,) = joined([by_host["n1"], by_host["n0"]])
    assert_same(whole, repeats)


def assert_same(one: Repeats, other: Repeats, *, samples: bool = True) -> None:
    assert one.cell == other.cell
    assert (one.metric, one.unit, one.better) == (other.metric, other.unit, other.better)
    assert one.values == pytest.approx(other.values, rel=1e-12)
    assert one.utc.tolist() == other.utc.tolist()
    assert (one.run, one.launch, one.hosts) == (other.run, other.launch, other.hosts)
    for name in one.covariates.keys() | other.covariates.keys():
        nothing = np.full(len(one), np.nan)
        pair = [each.covariates.get(name, nothing) for each in (one, other)]
        assert pair[0] == pytest.approx(pair[1], nan_ok=True)
    if samples:
        assert one.samples == pytest.approx(other.samples)
        assert one.sizes.tolist() == other.sizes.tolist()


def noisy(cell: Cell, replicate: int, values: list[float]) -> MeasurementRecord:
    """A record whose headline is of another series than the first."""
    record = make_record(cell, replicate, [1.0] * len(values))
    noise = SampleSeries("noise", "1", None, None, [], values)
    detour = SampleSeries("detour", "s", None, None, [], [2.0 * v for v in values])
    return msgspec.structs.replace(record, series=[*record.series, noise, detour])


def test_a_store_gives_what_its_runs_give(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    for number in range(3):
        cells = [STREAM, OUTSIDE, NOISE] if number else [STREAM, BARRIER]
        run = create_run(
            tmp_path,
            plan=make_plan(cells),
            system_name="box",
            system={"name": "box"},
            toolchains={"fake": {}},
            command=["assay"],
        )
        for launch in range(2):
            records = []
            for cell in cells:
                values = rng.lognormal(0.0, 0.1, 5).tolist()
                record = (
                    noisy(cell, launch, values)
                    if cell is NOISE
                    else make_record(cell, launch, values)
                )
                covariates = {"steal_seconds": float(number)} if number else {"load_average": 1.0}
                resolved = {**cell.parameters, "elements": 10 + launch} if cell is STREAM else {}
                records.append(
                    msgspec.structs.replace(
                        record,
                        covariates=covariates,
                        warmup=1,
                        start=10.0 * number + launch,
                        parameters=resolved or cell.parameters,
                        verified=not (number == 1 and launch == 0 and cell is OUTSIDE),
                    )
                )
            name = f"{launch:04d}-x"
            (run.raw / f"{name}.jsonl").write_bytes(make_stream(name, records))
        data = read_run(run.path)
        write_tables(data)
        run.seal(summarise_run(data, launches=2, tables=TABLES_SCHEMA))
    runs = [read_run(path) for path in sorted(tmp_path.iterdir())]
    wanted = {r.cell.id: r for r in joined(r for run in runs for r in repeats_of(run))}
    found = {r.cell.id: r for r in repeats_in(Store(tmp_path))}
    assert found.keys() == wanted.keys() == {c.id for c in (STREAM, BARRIER, OUTSIDE, NOISE)}
    for name, repeats in found.items():
        assert repeats.covariates.keys() == wanted[name].covariates.keys()
        assert_same(repeats, wanted[name], samples=False)
    # One covariate is reported by the oldest run alone, another by the others.
    assert found[STREAM.id].covariates.keys() == {"steal_seconds", "load_average"}
    assert found[NOISE.id].metric == "noise"
    assert len(found[OUTSIDE.id]) == 3
    (only,) = repeats_in(Store(tmp_path), RunFilter(kernel="network.barrier"))
    assert_same(only, wanted[BARRIER.id], samples=False)
    assert repeats_in(Store(tmp_path / "nowhere")) == []
