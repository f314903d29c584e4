"""Exports: every format holds the numbers of the summaries, and can be read back."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path

import polars as pl
import pytest

from assay.cli.results.export import export
from assay.errors import AssayError
from assay.importers.importing import import_files
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.records.creation import create_run
from assay.records.directory import RunDirectory
from assay.records.reading import read_run
from assay.report.export.model import EXPORT_SCHEMA, ResultRow
from assay.report.export.tabular import result_columns, sample_schema
from assay.stats.cells.summarise import summarise_cells
from examples import ROOT
from fleet_builder import make_group
from importing_probe import output, probe
from openmetrics_grammar import parse
from records_builder import make_launch, make_plan, make_record, make_stream
from report_builder import SYSTEM

BARRIER = Cell("network.barrier", {}, Placement(nodes=2, ppn=4), "fake")
STREAM = Cell("memory.stream", {"op": "triad", "elements": 10**6}, Placement(ppn=2), 'o"wn\\')
LOST = Cell("compute.dgemm", {"n": 500}, Placement(threads=2), "fake")
SECONDS = {1: 1.0e-6, 2: 1.1e-6, 3: 1.2e-6, 4: 1.3e-6, 5: 1.4e-6, 6: 1.5e-6, 7: 1.6e-6}


def store(root: Path, scale: float = 1.0) -> RunDirectory:
    """A run with seven launches of two cells, and a cell whose launches crashed."""
    run = create_run(
        root,
        plan=make_plan([BARRIER, STREAM, LOST]),
        system_name="box",
        system=SYSTEM.to_dict(),
        toolchains={
            "fake": {
                "cxx": "g++",
                "cxx_version": "12.2.0",
                "mpi_flavour": "mpich",
                "mpi_version": "5.0",
                "blas": {"name": "OpenBLAS", "version": "0.3.34"},
            }
        },
        command=["assay", "run"],
    )
    for replicate, seconds in SECONDS.items():
        name = run.new_launch()
        records = [
            make_record(cell, replicate, [seconds * scale] * 3) for cell in (BARRIER, STREAM)
        ]
        (run.raw / f"{name}.jsonl").write_bytes(make_stream(name, records))
        run.append_launch(make_launch(name))
    name = run.new_launch()
    (run.raw / f"{name}.jsonl").write_bytes(make_stream(name, []))
    run.append_launch(make_launch(name, outcome="crash", exit=1, blamed=f"{LOST.id}-1"))
    return run


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    store(tmp_path / "runs")
    return tmp_path / "runs"


def exported(capsysbinary, *names: str, **options) -> str:
    export(*names, **options)
    return capsysbinary.readouterr().out.decode()


def csv_rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_a_row_has_the_truth_that_was_planted(runs, capsysbinary):
    rows = csv_rows(exported(capsysbinary, runs=runs))
    (row,) = (row for row in rows if row["kernel"] == "network.barrier")
    assert float(row["median"]) == 1.3e-6
    assert (float(row["min"]), float(row["max"])) == (1.0e-6, 1.6e-6)
    assert float(row["low"]) <= 1.3e-6 <= float(row["high"])
    assert (row["n"], row["samples"], row["unit"], row["better"]) == ("7", "21", "s", "less")
    assert (row["nodes"], row["ppn"], row["ranks"], row["threads"]) == ("2", "4", "8", "1")
    assert (row["compiler"], row["mpi"], row["blas"]) == (
        "g++ 12.2.0", "mpich 5.0", "OpenBLAS 0.3.34",
    )  # fmt: skip
    assert (row["system"], row["suite"], row["imported"], row["code"]) == (
        "box",
        "test",
        "false",
        "",
    )
    assert (row["headline"], row["complete"], row["hosts"]) == ("true", "false", "box")


def test_a_cell_without_results_has_a_row_that_says_why(runs, capsysbinary):
    rows = csv_rows(exported(capsysbinary, runs=runs))
    (row,) = (row for row in rows if row["kernel"] == "compute.dgemm")
    assert row["status"] == "failed"
    assert row["error"]
    assert row["metric"] == row["median"] == row["stop"] == ""
    assert row["n"] == "0"


def test_every_format_has_the_same_numbers(runs, tmp_path, capsysbinary):
    (run,) = runs.iterdir()
    truth = {
        (cell.kernel, name): metric.median
        for cell in summarise_cells(read_run(run))
        for name, metric in cell.metrics.items()
    }
    assert len(truth) == 3
    document = json.loads(exported(capsysbinary, runs=runs, format_="json"))
    assert document["schema"] == EXPORT_SCHEMA
    assert document["kind"] == "results"
    listed = document["results"]
    assert numbers(listed) == truth
    assert numbers(csv_rows(exported(capsysbinary, runs=runs))) == truth
    export(runs=runs, format_="parquet", out=tmp_path / "new" / "r.parquet")
    table = pl.read_parquet(tmp_path / "new" / "r.parquet")
    assert dict(table.schema) == result_columns()
    assert numbers(table.to_dicts()) == truth
    assert json.loads(table["parameters"][1])["op"] == STREAM.parameters["op"]


def numbers(rows: list[dict]) -> dict[tuple[str, str], float]:
    return {(row["kernel"], row["metric"]): float(row["median"]) for row in rows if row["metric"]}


def test_openmetrics_is_valid_and_has_the_numbers(runs, capsysbinary):
    store(runs, 2.0)
    names = sorted(path.name for path in runs.iterdir())
    families = parse(exported(capsysbinary, *names, runs=runs, format_="openmetrics"))
    seconds = families["assay_median_seconds"]
    assert (seconds.type, seconds.unit) == ("gauge", "seconds")
    found = {
        (dict(labels)["run"], dict(labels)["kernel"]): (value, dict(labels))
        for labels, value, _ in seconds.samples
    }
    assert found[names[0], "network.barrier"][0] == 1.3e-6
    assert found[names[1], "network.barrier"][0] == 2.6e-6
    bandwidth = families["assay_median_bytes_per_second"].samples
    assert {dict(labels)["toolchain"] for labels, _, _ in bandwidth} == {STREAM.toolchain}
    assert {json.loads(dict(labels)["parameters"])["op"] for labels, _, _ in bandwidth} == {"triad"}
    assert [value for _, value, _ in families["assay_failed_cell"].samples] == [1.0, 1.0]
    low, high = (families[f"assay_interval_{end}_seconds"].samples for end in ("low", "high"))
    assert [labels for labels, _, _ in low] == [labels for labels, _, _ in high]
    assert {value for _, value, _ in families["assay_launches"].samples} == {7.0}


def test_every_member_of_groups_is_exported_and_told_apart(tmp_path, capsysbinary):
    groups = [
        make_group(tmp_path, ["n1", "n2"], lambda host, cell, launch: 1e-3, day=day).name
        for day in (0.0, 1.0)
    ]
    rows = csv_rows(exported(capsysbinary, *groups, runs=tmp_path))
    assert {(row["group"], row["hosts"]) for row in rows} == {
        (group, host) for group in groups for host in ("n1", "n2")
    }
    families = parse(exported(capsysbinary, *groups, runs=tmp_path, format_="openmetrics"))
    for family in families.values():
        assert len({labels for labels, _, _ in family.samples}) == len(family.samples)
    assert len(families["assay_launches"].samples) == len(rows)


def test_a_report_of_reframe_is_read_back_with_the_same_numbers(runs, tmp_path, capsysbinary):
    """The importer of ReFrame's reports reads what assay exports: values, units, result, system."""
    text = exported(capsysbinary, runs=runs, format_="reframe")
    (run,) = runs.iterdir()
    found = probe(text, tmp_path / "output")
    assert found.skipped == []
    found.check()
    truth = {
        (name, metric.unit, metric.median)
        for cell in summarise_cells(read_run(run))
        for name, metric in cell.metrics.items()
    }
    back = {
        (series.metric, series.unit, float(series.found[0].value))
        for result in found.results
        for series in result.series
    }
    assert back == truth
    assert {result.parameters["system"].value for result in found.results} == {"box"}
    assert {result.parameters["environment"].value for result in found.results} == {
        "fake",
        STREAM.toolchain,
    }
    assert [result.verified for result in found.results] == [True, True]
    report = json.loads(text)
    assert report["session_info"]["num_failures"] == 1
    assert [case["result"] for case in report["runs"][0]["testcases"]] == ["pass", "pass", "fail"]


# Fields that ReFrame's schemas/runreport.json requires, with their types, and those that its
# frontend/reporting reads in addition.
TEXT, NUMBER, NULL = str, (int, float), type(None)
SESSION = {
    "data_version": TEXT, "version": TEXT, "hostname": TEXT, "uuid": TEXT, "time_start": TEXT,
    "time_end": TEXT, "time_elapsed": NUMBER, "time_start_unix": NUMBER, "time_end_unix": NUMBER,
    "num_cases": NUMBER, "num_failures": NUMBER, "num_aborted": NUMBER, "num_skipped": NUMBER,
}  # fmt: skip
RUN = {
    "num_cases": NUMBER, "num_failures": NUMBER, "num_aborted": NUMBER, "num_skipped": NUMBER,
    "run_index": NUMBER, "testcases": list,
}  # fmt: skip
CASE = {
    "name": TEXT, "unique_name": TEXT, "filename": TEXT, "system": TEXT, "uuid": TEXT,
    "result": TEXT, "job_nodelist": TEXT, "fixture": bool, "perfvalues": dict,
    "environ": (str, NULL), "partition": (str, NULL), "fail_phase": (str, NULL),
    "fail_reason": (str, NULL), "job_completion_time": (str, NULL),
    "job_completion_time_unix": (int, float, NULL), "time_total": (int, float, NULL),
}  # fmt: skip


def has_fields(value: dict[str, object], fields: dict[str, object]) -> None:
    for name, kind in fields.items():
        assert name in value, name
        assert isinstance(value[name], kind), (name, value[name])


def test_a_report_of_reframe_has_the_fields_that_reframe_requires(runs, capsysbinary):
    store(runs, 2.0)
    names = sorted(path.name for path in runs.iterdir())
    report = json.loads(exported(capsysbinary, *names, runs=runs, format_="reframe"))
    assert report["restored_cases"] == []
    has_fields(report["session_info"], SESSION)
    # ReFrame finds this object by its braces.
    assert not any(isinstance(value, dict | list) for value in report["session_info"].values())
    assert len(report["runs"]) == 2
    cases = []
    for run in report["runs"]:
        has_fields(run, RUN)
        cases += run["testcases"]
    session = report["session_info"]["uuid"]
    assert len({case["uuid"] for case in cases}) == len(cases) == 6
    for case in cases:
        has_fields(case, CASE)
        assert case["uuid"].startswith(f"{session}:")
        assert case["result"] in ("pass", "fail", "skip", "abort")
        assert (case["result"] == "fail") == (case["fail_phase"] == "run")
        for key, entry in case["perfvalues"].items():
            assert key.startswith(f"{case['system']}:{case['partition']}:")
            value, *targets, unit = entry
            assert isinstance(value, float)
            assert targets == [None] * 3
            assert isinstance(unit, str)
    again = json.loads(exported(capsysbinary, *names, runs=runs, format_="reframe"))
    assert again["session_info"]["uuid"] == session
    one = json.loads(exported(capsysbinary, names[0], runs=runs, format_="reframe"))
    assert one["session_info"]["uuid"] != session


def test_missing_values_of_a_performance_log_are_written_as_reframe_does(tmp_path, capsysbinary):
    """``null`` in fields of a test, ``None`` in those of a variable."""
    source = tmp_path / "osu.out"
    source.write_text(output("osu-3.1.out"))
    import_files([str(source)], tmp_path / "runs", system=None, command=["assay"])
    text = exported(capsysbinary, runs=tmp_path / "runs", format_="reframe-perflog")
    heading, first = (line.split("|") for line in text.splitlines()[:2])
    line = dict(zip(heading, first, strict=True))
    assert line["num_tasks"] == line["num_tasks_per_node"] == "null"
    assert {value for name, value in line.items() if name.endswith(("_ref", "_thres"))} == {"None"}


def test_results_of_ramble_have_the_fields_that_ramble_reads(runs, tmp_path, capsysbinary):
    """Those of its text writer and of its uploader, which fail without them."""
    source = tmp_path / "osu.out"
    source.write_text(output("osu-3.1.out"))
    import_files([str(source)], runs, system=None, command=["assay"])
    names = [path.name for path in runs.iterdir()]
    document = json.loads(exported(capsysbinary, *names, runs=runs, format_="ramble"))
    has_fields(document, {"workspace_name": TEXT, "workspace_hash": TEXT, "experiments": list})
    for each in document["experiments"]:
        has_fields(
            each,
            {
                **dict.fromkeys(("name", "application_name", "workload_name"), TEXT),
                **dict.fromkeys(("experiment_name", "RAMBLE_STATUS"), TEXT),
                **dict.fromkeys(("n_nodes", "processes_per_node"), (str, NULL)),
                **dict.fromkeys(("n_ranks", "n_threads"), (str, NULL)),
                **dict.fromkeys(("RAMBLE_VARIABLES", "RAMBLE_RAW_VARIABLES"), dict),
                **dict.fromkeys(("CONTEXTS", "TAGS", "EXPERIMENT_CHAIN"), list),
                "N_REPEATS": int,
            },
        )
        assert each["RAMBLE_VARIABLES"]["workspace_name"] == document["workspace_name"]
        assert all(isinstance(value, str) for value in each["RAMBLE_VARIABLES"].values())
        for context in each["CONTEXTS"]:
            has_fields(context, {"name": TEXT, "display_name": TEXT, "foms": list})
            for fom in context["foms"]:
                has_fields(fom, dict.fromkeys(("name", "units", "origin", "origin_type"), TEXT))
                assert isinstance(fom["value"], int | float)
    barrier = next(e for e in document["experiments"] if e["application_name"] == "network.barrier")
    assert (barrier["n_nodes"], barrier["n_ranks"]) == ("2", "8")


def test_a_performance_log_of_reframe_is_read_back_with_the_same_numbers(
    runs, tmp_path, capsysbinary
):
    text = exported(capsysbinary, runs=runs, format_="reframe-perflog")
    (run,) = runs.iterdir()
    found = probe(text, tmp_path / "output")
    assert found.skipped == []
    found.check()
    truth = {
        (name, metric.unit, metric.median)
        for cell in summarise_cells(read_run(run))
        for name, metric in cell.metrics.items()
    }
    back = {
        (series.metric, series.unit, float(series.found[0].value))
        for result in found.results
        for series in result.series
    }
    assert back == truth
    assert len(found.results) == 2
    assert {result.parameters["ranks"].value for result in found.results} == {8, 2}
    assert [result.verified for result in found.results] == [True, True]


def test_cells_that_differ_in_their_placement_are_different_tests_of_reframe(runs, capsysbinary):
    root = runs.parent / "others"
    cells = [Cell("network.barrier", {}, Placement(ppn=ppn), "fake") for ppn in (2, 4)]
    run = create_run(
        root, plan=make_plan(cells), system_name="a:b c", system={}, toolchains={}, command=[]
    )
    stream = make_stream("0000-a", [make_record(cell, 1, [1e-6]) for cell in cells])
    (run.raw / "0000-a.jsonl").write_bytes(stream)
    report = json.loads(exported(capsysbinary, runs=root, format_="reframe"))
    cases = report["runs"][0]["testcases"]
    assert len({case["name"] for case in cases}) == 2
    assert all(key.count(":") == 2 for case in cases for key in case["perfvalues"])


def test_results_of_ramble(runs, capsysbinary):
    document = json.loads(exported(capsysbinary, runs=runs, format_="ramble"))
    by_name = {each["application_name"]: each for each in document["experiments"]}
    barrier = by_name["network.barrier"]
    assert barrier["RAMBLE_STATUS"] == "SUCCESS"
    assert by_name["compute.dgemm"]["RAMBLE_STATUS"] == "FAILED"
    assert by_name["compute.dgemm"]["CONTEXTS"] == []
    (context,) = barrier["CONTEXTS"]
    foms = {fom["name"]: (fom["value"], fom["units"]) for fom in context["foms"]}
    assert foms["time"] == (1.3e-6, "s")
    assert foms["time (launches)"] == (7, "")
    assert foms["time (low)"][0] <= 1.3e-6 <= foms["time (high)"][0]
    assert barrier["RAMBLE_VARIABLES"]["n_ranks"] == "8"
    assert len({each["name"] for each in document["experiments"]}) == 3


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_samples(form, runs, tmp_path, capsysbinary):
    out = tmp_path / f"samples.{form}"
    export(runs=runs, samples=True, format_=form, out=out)
    if form == "csv":
        table = pl.read_csv(out, infer_schema_length=None)
    elif form == "json":
        document = json.loads(out.read_text())
        assert (document["schema"], document["kind"]) == (EXPORT_SCHEMA, "samples")
        assert document["samples"][-1]["parameters"]["op"] == STREAM.parameters["op"]
        table = pl.DataFrame(
            [{**row, "parameters": ""} for row in document["samples"]], infer_schema_length=None
        )
    else:
        table = pl.read_parquet(out)
        assert dict(table.schema) == sample_schema()
    assert table.columns == list(sample_schema())
    assert table.height == 2 * 7 * 3
    values = table.filter(pl.col("kernel") == "network.barrier")["value"]
    assert sorted(set(values)) == list(SECONDS.values())
    assert set(table["system"]) == {"box"}


def test_imported_numbers_are_labelled(tmp_path, capsysbinary):
    source = tmp_path / "osu.out"
    source.write_text(output("osu-7.out"))
    run = import_files([str(source)], tmp_path / "runs", system="fritz", command=["assay"])
    rows = csv_rows(exported(capsysbinary, str(run.path)))
    assert {row["imported"] for row in rows} == {"true"}
    assert {row["code"] for row in rows} == {row["kernel"] for row in rows}
    assert {row["toolchain"] for row in rows} == {"imported"}
    assert {row["stop"] for row in rows if row["metric"]} == {"imported"}
    assert {row["nodes"] for row in rows} == {""}
    assert {row["system"] for row in rows} == {"fritz"}
    text = exported(capsysbinary, str(run.path), format_="openmetrics")
    labels = [dict(each[0]) for family in parse(text).values() for each in family.samples]
    assert {label["imported"] for label in labels} == {"true"}
    samples = csv_rows(exported(capsysbinary, str(run.path), samples=True))
    assert {row["imported"] for row in samples} == {"true"}


def test_a_run_that_is_named_twice_is_exported_once(runs, capsysbinary):
    (run,) = runs.iterdir()
    once = exported(capsysbinary, run.name, runs=runs)
    assert exported(capsysbinary, run.name, str(run), runs=runs) == once


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"format_": "parquet"}, "needs a file"),
        ({"format_": "openmetrics", "samples": True}, "Samples can't be exported"),
    ],
)
def test_impossible_combinations_are_one_sentence(options, message, runs):
    with pytest.raises(AssayError, match=message):
        export(runs=runs, **options)


def test_unknown_and_damaged_runs_are_one_sentence(runs):
    with pytest.raises(AssayError, match="There is no run 'nowhere'"):
        export("nowhere", runs=runs)
    (run,) = runs.iterdir()
    (run / "manifest.json").write_text("{")
    with pytest.raises(AssayError, match="not what assay wrote"):
        export(runs=runs)


def test_every_field_is_documented() -> None:
    """docs/export.md has a row for each field of both tables, and no other."""
    page = (ROOT / "docs" / "export.md").read_text("utf-8")
    for heading, fields in (
        ("## Results", ResultRow.__struct_fields__),
        ("## Samples", tuple(sample_schema())),
    ):
        section = page.partition(f"\n{heading}\n")[2].partition("\n## ")[0]
        rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
        named = [name.strip(" `") for row in rows for name in row.split(",")]
        assert named == list(fields), heading


def test_intervals_and_numbers_are_finite_json(runs, capsysbinary):
    for row in json.loads(exported(capsysbinary, runs=runs, format_="json"))["results"]:
        for name, value in row.items():
            assert not isinstance(value, float) or math.isfinite(value), name
