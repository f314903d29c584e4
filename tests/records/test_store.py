"""A store of many runs: listed, scanned, and compared with reading every stream of every run."""

from __future__ import annotations

import json
import random
import re
import shutil
import statistics
from collections.abc import Sequence
from pathlib import Path

import msgspec
import polars as pl
import pytest

from assay.records import reading
from assay.records.creation import create_run
from assay.records.directory import RunDirectory
from assay.records.listing import describe_run
from assay.records.reading import read_run
from assay.records.store import RunFilter, Store
from assay.records.summary import machine_identity, summarise_run
from assay.records.tables import TABLES_SCHEMA, write_tables
from assay.report.earlier_runs import read_history
from records_builder import make_cell, make_plan, make_record, make_stream

STREAM = [make_cell("memory.stream", op=op) for op in ("copy", "triad")]
PINGPONG = [make_cell("network.pingpong", bytes=size) for size in (0, 8)]


def sealed(
    root: Path, system: str, suite: str, cells: Sequence, seed: int, **covariates: float
) -> RunDirectory:
    """A complete run with two replicates of each cell, stored as by a campaign."""
    drawn = random.Random(seed)
    plan = msgspec.structs.replace(make_plan(cells), name=suite)
    run = create_run(
        root,
        plan=plan,
        system_name=system,
        system={"name": system, "os": {"hostname": system}, "processor": {"cores": 2}},
        toolchains={"fake": {}},
        command=["assay", "run"],
    )
    for replicate in range(2):
        records = [
            msgspec.structs.replace(
                make_record(cell, replicate, [drawn.uniform(1.0, 2.0) for _ in range(7)]),
                covariates=covariates,
                warmup=1,
            )
            for cell in drawn.sample(list(cells), len(cells))
        ]
        name = f"{replicate:04d}-a"
        (run.raw / f"{name}.jsonl").write_bytes(make_stream(name, records))
    data = read_run(run.path)
    write_tables(data)
    run.seal(summarise_run(data, launches=2, tables=TABLES_SCHEMA))
    return run


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("store")
    sealed(root, "seth", "memory", STREAM, 1, steal_seconds=0.5)
    sealed(root, "dell", "network", PINGPONG, 2)
    sealed(root, "seth", "all", [*STREAM, *PINGPONG], 3, steal_seconds=0.1, load_average=2.0)
    sealed(root, "seth", "network", PINGPONG, 4, load_average=1.0)
    unfinished = sealed(root, "seth", "cut", STREAM, 5)
    (unfinished.path / "seal.json").unlink()
    return root


def by_hand(root: Path, choice: RunFilter) -> dict[tuple[str, str], tuple[float, list[float]]]:
    """(run, measurement) → its median after warm-up and all samples, from the streams."""
    found = {}
    for path in sorted(root.iterdir()):
        data = read_run(path)
        system = str(data.manifest.system["name"])
        if not data.complete or choice.system not in (None, system):
            continue
        if choice.suite not in (None, data.manifest.plan.name):
            continue
        for m in data.measurements:
            if choice.kernel in (None, m.cell.kernel):
                values = list(m.record.series[0].values)
                found[data.manifest.run, m.record.measurement] = (
                    statistics.median(values[1:]),
                    values,
                )
    return found


CHOICES = [
    RunFilter(),
    RunFilter(kernel="memory.stream"),
    RunFilter(kernel="network.pingpong", system="seth"),
    RunFilter(suite="network"),
    RunFilter(suite="network", system="dell", kernel="memory.stream"),
    RunFilter(system="nobody"),
]


@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_scans_return_the_content_of_the_streams(root: Path, choice: RunFilter) -> None:
    wanted = by_hand(root, choice)
    measurements = Store(root).measurements(choice).collect()
    medians = {
        (run, name): median
        for run, name, median in measurements.select("run", "measurement", "median").iter_rows()
    }
    assert medians == {key: median for key, (median, _) in wanted.items()}
    assert measurements.height == len(medians)
    samples = Store(root).samples(choice).collect()
    found = {
        key: rows.sort("index")["value"].to_list()
        for key, rows in samples.group_by("run", "measurement")
    }
    assert found == {key: values for key, (_, values) in wanted.items()}


def test_rows_know_their_runs_suite_and_system(root: Path) -> None:
    table = Store(root).measurements().select("run", "suite", "system").unique().collect()
    wanted = {
        (run.name, run.manifest().plan.name, run.manifest().system["name"])
        for run in Store(root).directories()
        if run.complete
    }
    assert set(table.iter_rows()) == wanted


def test_one_cell_over_all_runs(root: Path) -> None:
    cell = PINGPONG[1]
    rows = Store(root).samples(cells=[cell.id], metric="time").collect()
    assert set(rows["cell"]) == {cell.id} and rows["run"].n_unique() == 3
    assert rows.height == 3 * 2 * 7
    assert Store(root).samples(metric="fastest").collect().height == 0


def test_covariates_of_some_runs_are_null_in_the_others(root: Path) -> None:
    table = Store(root).measurements(RunFilter(system="seth")).collect()
    # The oldest and the newest have one each that the other lacks, and another run both.
    assert table.filter(suite="memory")["covariate.load_average"].to_list() == [None] * 4
    assert table.filter(suite="memory")["covariate.steal_seconds"].to_list() == [0.5] * 4
    assert table.filter(suite="network")["covariate.load_average"].to_list() == [1.0] * 4
    assert table.filter(suite="network")["covariate.steal_seconds"].to_list() == [None] * 4
    whole = table.filter(suite="all").select("covariate.steal_seconds", "covariate.load_average")
    assert set(whole.iter_rows()) == {(0.1, 2.0)}


def test_covariates_of_runs_with_older_seals_are_found_in_their_tables(
    root: Path, tmp_path: Path
) -> None:
    """Sealed before seals listed covariates; then only those tables are opened."""
    new = shutil.copytree(root, tmp_path / "runs")
    wanted = Store(new).measurements().collect()
    for seal in new.glob("*/seal.json"):
        content = json.loads(seal.read_bytes())
        assert content["summary"]["covariates"] is not None
        del content["summary"]["covariates"], content["summary"]["until"]
        seal.write_text(json.dumps(content))
    assert Store(new).measurements().collect().equals(wanted)


def test_runs_of_other_kernels_count_only_if_they_ran_at_the_same_time(tmp_path: Path) -> None:
    ours = sealed(tmp_path, "seth", "memory", STREAM, 1)
    others = sealed(tmp_path, "seth", "network", PINGPONG, 2)
    run = read_run(ours.path)
    seal = others.path / "seal.json"
    content = json.loads(seal.read_bytes())
    begun = run.manifest.utc

    def found(utc: float, until: float | None) -> list[str]:
        content["summary"] |= {"utc": utc, "until": until}
        seal.write_text(json.dumps(content))
        return [each.manifest.run for each in read_history(run)]

    # The measurements of these streams are of the first hour of 1970, the manifests of today.
    assert found(0.0, begun + 1.0) == [others.name]
    assert found(0.0, begun - 1.0) == []
    assert found(begun, begun + 1.0) == []
    assert found(0.0, None) == []


def test_times_bound_the_runs(root: Path) -> None:
    starts = sorted(run.manifest().utc for run in Store(root).directories() if run.complete)
    some = RunFilter(since=starts[1], until=starts[3])
    assert len(list(Store(root).complete(some))) == 2
    assert Store(root).measurements(some).collect()["run"].n_unique() == 2


def test_an_empty_folder_has_empty_tables(tmp_path: Path) -> None:
    store = Store(tmp_path / "none")
    assert store.listing() == []
    assert store.measurements().collect().height == store.samples().collect().height == 0
    assert "median" in store.measurements().collect_schema()


def test_a_sealed_run_is_listed_without_its_manifest(root: Path) -> None:
    for run in Store(root).directories():
        slow = describe_run(run, check=True)
        assert describe_run(run) == slow
        if run.complete:
            manifest = run.path / "manifest.json"
            content = manifest.read_bytes()
            manifest.write_bytes(b"no JSON")
            try:
                assert describe_run(run) == slow
                assert describe_run(run, check=True).state == "damaged"
            finally:
                manifest.write_bytes(content)


def test_a_seal_without_summary_is_listed_nevertheless(tmp_path: Path) -> None:
    run = sealed(tmp_path, "seth", "memory", STREAM, 1)
    whole = describe_run(run)
    run.seal()
    assert run.summary() is None
    assert describe_run(run) == whole
    assert Store(tmp_path).measurements().collect().height == 0
    (run.path / "seal.json").write_text('{"summary": 7}')
    assert describe_run(run).state == "damaged"
    assert list(Store(tmp_path).complete()) == []


def test_a_changed_file_is_damage_whatever_the_summary_contains(tmp_path: Path) -> None:
    run = sealed(tmp_path, "seth", "memory", STREAM, 1)
    with (run.raw / "0000-a.jsonl").open("ab") as stream:
        stream.write(b"\n")
    found = describe_run(run, check=True)
    assert found.state == "damaged"
    assert "0000-a.jsonl" in (found.problem or "")


def test_history_is_of_this_machine_and_of_kernels_in_common(root: Path) -> None:
    runs = {run.name: run for run in Store(root).directories()}
    newest = next(name for name in runs if name.endswith("seth-network"))
    found = [each.manifest.run for each in read_history(read_run(runs[newest].path))]
    assert [name.rpartition("-")[2] for name in found] == ["cut", "all"]
    identity = machine_identity(runs[newest].manifest().system)
    assert identity == ("seth", None, 2)


# ---- memory ----------------------------------------------------------------------------------


def test_lazy_samples_read_the_same(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for run in Store(root).directories():
        monkeypatch.undo()
        whole = read_run(run.path)
        monkeypatch.setattr(reading, "IN_MEMORY", 10)
        stored = read_run(run.path)
        assert stored.measurements == whole.measurements
        assert all(isinstance(m.record.series, list) for m in whole.measurements)
        assert not any(isinstance(m.record.series, list) for m in stored.measurements)
        for m, other in zip(stored.measurements, whole.measurements, strict=True):
            assert len(m.record.series) == 1
            assert m.record.series[0].values == other.record.series[0].values
            assert m.record.series[:1] == other.record.series[:1]


def test_tables_written_in_parts_are_the_same(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from assay.records import tables

    run = next(iter(Store(root).directories()))
    data = read_run(run.path)
    wanted = pl.read_parquet(run.path / "samples.parquet")
    copy = tmp_path / "copy"
    copy.mkdir()
    monkeypatch.setattr(tables, "_CHUNK", 10)
    monkeypatch.setattr(tables, "_ROWS", 3)
    object.__setattr__(data, "path", copy)
    write_tables(data)
    assert pl.read_parquet(copy / "samples.parquet").equals(wanted)
    measurements = pl.read_parquet(run.path / "measurements.parquet")
    assert pl.read_parquet(copy / "measurements.parquet").equals(measurements)
    assert [path.name for path in copy.iterdir() if path.name.startswith(".")] == []


@pytest.mark.long
def test_memory_depends_on_measurements_and_not_on_samples(tmp_path: Path) -> None:
    """With ten times the samples, reading, storing and summarising take little more memory."""
    import tracemalloc

    from assay.records import lazy_samples as kept
    from assay.records import tables
    from assay.stats.cells.summarise import summarise_cells

    def peak(samples: int) -> int:
        cells = [make_cell("network.pingpong", bytes=size) for size in range(20)]
        run = create_run(
            tmp_path,
            plan=make_plan(cells),
            system_name="box",
            system={},
            toolchains={},
            command=[],
        )
        drawn = random.Random(1)
        for replicate in range(3):
            records = [
                make_record(cell, replicate, [drawn.random() for _ in range(samples)])
                for cell in cells
            ]
            path = run.raw / f"{replicate:04d}-a.jsonl"
            path.write_bytes(make_stream(path.stem, records))
        del records
        tracemalloc.start()
        try:
            data = read_run(run.path, samples=False)
            write_tables(data)
            summaries = summarise_cells(data)
            assert sum(next(iter(c.metrics.values())).samples for c in summaries) == 60 * samples
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "_CHUNK", 5000)
        patch.setattr(kept, "KEPT", 100_000)
        peak(50)  # fills caches and imports
        small, large = peak(200), peak(2000)
    # All samples of the larger run as Python's floats alone take 60 * 2000 * 2 * 32 bytes.
    assert large < small + 60 * 2000 * 2 * 32 / 4


# ---- the list --------------------------------------------------------------------------------


def test_very_many_runs_are_listed_in_the_columns_of_a_few() -> None:
    from rich.console import Console

    from assay.records.listing import RunListing
    from assay.report.runs_table import MANY, run_table

    runs = [
        RunListing(f"run-{i:04d}", "/x", "complete", 1.6e9 + i, "quick", "seth", i, 2, 3)
        for i in range(MANY - 1)
    ]
    damaged = RunListing("last", "/x", "damaged", problem="not as sealed: raw/[0].jsonl")

    def printed(listed: list[RunListing]) -> list[list[str]]:
        console = Console(width=200, color_system=None)
        with console.capture() as capture:
            console.print(run_table(listed, 200), soft_wrap=True)
        return [line.split() for line in capture.get().splitlines()]

    few, many = printed(runs), printed([*runs, damaged])
    assert many[:MANY] == few
    assert many[MANY:] == [["last", *"–" * 5, "damaged", "(not", "as", "sealed:", "raw/[0].jsonl)"]]
    assert len(few) == MANY


@pytest.mark.parametrize(
    ("width", "columns"),
    [
        (130, ["run", "suite", "started (UTC)", "cells", "launches", "measurements", "state"]),
        (80, ["run", "measurements", "state"]),
        (66, ["run", "state"]),
    ],
)
def test_names_are_whole_within_the_width_of_a_terminal(width: int, columns: list[str]) -> None:
    from rich.console import Console

    from assay.records.listing import RunListing
    from assay.report.runs_table import run_table

    names = [f"20261125T15{i:02d}02Z-machine-with-a-long-name-steadiness" for i in range(3)]
    runs = [RunListing(n, "/x", "complete", 1.7e9, "steadiness", "m", 12, 20, 240) for n in names]
    members = {"complete": 12, "failed": 1, "unfinished": 3}
    runs.append(RunListing("group", "/x", "unfinished", members=members))
    console = Console(width=width, color_system=None)
    with console.capture() as capture:
        console.print(run_table(runs, width))
    lines = capture.get().splitlines()
    assert max(map(len, lines)) <= width
    head = lines[0]
    places = [head.index(name) for name in columns]
    assert places == sorted(places)
    assert len(re.findall(r"\S+(?: \(UTC\))?", head)) == len(columns)
    assert [line.split()[0] for line in lines[1:4]] == names
    assert [line.split()[-1] for line in lines[1:4]] == ["complete"] * 3
