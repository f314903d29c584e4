"""From files to a run: what is stored, listed and reported, and what is refused."""

from __future__ import annotations

import gzip
import io
import json
import tracemalloc
from pathlib import Path

import polars as pl
import pytest

from assay.cli.app import main
from assay.errors import AssayError
from assay.importers import importing
from assay.importers.importing import MOST_SKIPPED, import_files
from assay.importers.lines import LONGEST_LINE
from assay.records.directory import RunDirectory
from assay.records.listing import describe_run
from assay.records.reading import read_run
from assay.records.store import RunFilter, Store
from assay.records.summary import machine_identity
from assay.report import build_report, write_report
from assay.stats.cells.summarise import summarise_cells
from importing_probe import OUTPUTS, output, probe

HPL = str(OUTPUTS / "hpl-2.3.out")
STREAM = str(OUTPUTS / "stream-5.10.out")


def imported(tmp_path: Path, *files: str, system: str | None = None) -> RunDirectory:
    return import_files(files, tmp_path / "runs", system=system, command=["assay", "import"])


def test_a_run_says_what_it_was_imported_from(tmp_path: Path) -> None:
    run = imported(tmp_path, HPL, STREAM, system="fritz")
    assert run.name.endswith("-fritz-imported")
    hpl, stream = run.manifest().imported
    assert hpl.file == HPL
    assert (hpl.lines, hpl.bytes) == (51, Path(HPL).stat().st_size)
    (tool,) = hpl.tools
    assert (tool.tool, tool.version, tool.codes) == ("HPL", "2.3", ["hpl"])
    assert (tool.results, tool.failed, tool.numbers, tool.first, tool.last) == (2, 1, 4, 24, 34)
    assert [t.numbers for t in stream.tools] == [16]
    assert len(hpl.digest) == 64
    assert run.complete
    assert run.broken_seal() == []


def test_each_number_keeps_its_unit_its_line_and_its_text(tmp_path: Path) -> None:
    run = imported(tmp_path, HPL)
    first, second = read_run(run.path).measurements
    rate = first.record.series[1]
    assert (rate.metric, rate.unit, rate.values) == ("rate", "flop/s", [9.3596e10])
    assert (rate.lines, rate.printed) == ([24], ["9.3596e+01"])
    assert first.record.facts == {"tool": "HPL", "version": "2.3"}
    assert second.record.verified is False
    assert second.record.verification is not None
    assert second.record.verification.value == 7.31400012e04


def test_tables_omit_unknown_values(tmp_path: Path) -> None:
    run = imported(tmp_path, HPL)
    table = pl.read_parquet(run.path / "measurements.parquet")
    assert table["kernel"].to_list() == ["hpl", "hpl"]
    for column in ("nodes", "ppn", "threads", "order", "binding", "utc", "wall", "hosts"):
        assert table[column].null_count() == 2, column
    samples = pl.read_parquet(run.path / "samples.parquet")
    assert sorted(samples["value"].to_list()) == [55.02, 58.37, 9.3596e10, 9.9294e10]


def test_results_of_a_cell_in_several_files_are_counted(tmp_path: Path) -> None:
    for place, time in enumerate(("21.47", "21.50", "21.44")):
        text = output("npb-3.3-mpi.out").replace("21.47", time)
        (tmp_path / f"{place}.out").write_text(text)
    files = [str(tmp_path / f"{place}.out") for place in range(3)]
    (cell,) = summarise_cells(read_run(imported(tmp_path, *files).path))
    assert (cell.metrics["time"].n, cell.metrics["time"].median) == (3, 21.47)
    assert cell.metrics["time"].ci95 is None
    assert cell.metrics["time"].stop == "imported"
    assert cell.parameters["version"] == "3.3.1"


def test_a_failed_check_gives_no_number_in_the_report(tmp_path: Path) -> None:
    good, bad = summarise_cells(read_run(imported(tmp_path, HPL).path))
    assert (good.verified, bad.verified) == (True, False)
    assert bad.metrics == {}
    assert "scaled residual is 73140" in (bad.error or "")


def test_imported_runs_answer_no_questions(tmp_path: Path) -> None:
    run = imported(tmp_path, *(str(path) for path in sorted(OUTPUTS.iterdir())))
    data = read_run(run.path)
    report = build_report(data, summarise_cells(data))
    (section,) = report.sections
    assert section.id == "imported"
    assert "imported, n = 1 to 2" in section.verdict
    assert section.confidence is None
    assert "assay did not measure them" in section.caveats[0]
    written = write_report(report, tmp_path, ["html", "markdown", "json"])
    for path in written:
        text = path.read_text("utf-8")
        assert "hpl-2.3.out:24" in text
        assert "imported" in text


def test_the_listing_says_that_a_run_is_imported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = imported(tmp_path, HPL)
    for check in (False, True):
        found = describe_run(run, check=check)
        assert (found.state, found.imported, found.suite) == ("complete", True, "imported")
    with pytest.raises(SystemExit):
        main(["runs", "--runs", str(tmp_path / "runs"), "--json"])
    assert json.loads(capsys.readouterr().out)[0]["imported"] is True


def test_questions_over_many_runs_leave_imported_ones_out_and_say_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    imported(tmp_path, HPL)
    store = Store(tmp_path / "runs")
    assert store.measurements().collect().height == 0
    assert store.measurements(RunFilter(imported=True)).collect().height == 2
    assert store.passed_over().imported == 1
    assert list(store.of_machine(machine_identity({}))) == []
    (tmp_path / "runs" / next(iter(store.directories())).name / "seal.json").unlink()
    assert list(store.of_machine(machine_identity({}))) == []
    imported(tmp_path, HPL)
    with pytest.raises(SystemExit):
        main(["history", "--runs", str(tmp_path / "runs")])
    assert "1 imported" in capsys.readouterr().out


def test_an_imported_run_can_not_be_resumed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (imported(tmp_path, HPL).path / "seal.json").unlink()
    with pytest.raises(SystemExit) as done:
        main(["run", "--resume", "--runs", str(tmp_path / "runs")])
    assert done.value.code == 2
    assert "This run was imported" in capsys.readouterr().err


def test_the_command_reports_what_it_found_and_skipped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = output("hpl-2.3.out").replace("7.31400012e+04", "nonsense |x")
    (tmp_path / "job.out").write_text("module load gcc\n" + text)
    root = str(tmp_path / "runs")
    with pytest.raises(SystemExit) as done:
        main(["import", str(tmp_path / "job.out"), "--runs", root])
    assert done.value.code == 0
    said = capsys.readouterr().out
    assert "job.out: 52 lines" in said
    assert "HPL 2.3, lines 25 to 25: 2 numbers in 1 result" in said
    assert "skipped: line 41: This residual check of HPL is damaged; its row is left out." in said
    assert f"stored: 2 numbers of 1 cell in {root}" in said
    with pytest.raises(SystemExit):
        main(["import", HPL, "--runs", root, "--json"])
    found = json.loads(capsys.readouterr().out)
    assert (found["cells"], found["numbers"], found["failed"]) == (2, 4, 1)
    assert found["sources"][0]["skipped"] == []
    for name in ("", "--json"):
        with pytest.raises(SystemExit):
            main(["report", "--runs", root, "--format", "terminal", *filter(None, [name])])
        assert "hpl" in capsys.readouterr().out


def test_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Stdin:
        buffer = io.BytesIO(output("hpl-2.3.out").encode())

    monkeypatch.setattr("sys.stdin", Stdin)
    with pytest.raises(SystemExit) as done:
        main(["import", "-", "--runs", str(tmp_path / "runs")])
    assert done.value.code == 0
    (run,) = Store(tmp_path / "runs").directories()
    (source,) = run.manifest().imported
    assert (source.file, source.lines, len(source.tools)) == ("-", 51, 1)


def test_gzip_whole_and_cut(tmp_path: Path) -> None:
    packed = gzip.compress((output("hpl-2.3.out") * 50).encode(), mtime=0)
    whole = tmp_path / "whole"
    whole.write_bytes(packed)
    assert (
        sum(t.results for t in imported(tmp_path, str(whole)).manifest().imported[0].tools) == 100
    )
    cut = tmp_path / "cut"
    cut.write_bytes(packed[: len(packed) - 8])
    (source,) = imported(tmp_path, str(cut)).manifest().imported
    assert source.skipped[-1].what == "The compressed data end early or are damaged."
    assert source.tools[0].results == 100


def test_labels_noise_colours_and_carriage_returns(tmp_path: Path) -> None:
    lines = output("hpl-2.3.out").splitlines()
    text = "Loading gcc/12\r\n  0: \x1b[31mwarning\x1b[0m\r\n"
    for line in lines:
        text += f" 0: \x1b[1m{line}\x1b[0m\r\n11: noise 1.5\r\n[1,3]<stdout>:more\r\n"
    found = probe(text, tmp_path / "output")
    assert found.values("hpl", "time") == [58.37, 55.02]
    tagged = "".join(f"[1,0]<stdout>:{line}\n" for line in lines)
    assert probe(tagged, tmp_path / "output").values("hpl", "time") == [58.37, 55.02]


def test_outputs_of_labelled_ranks_do_not_mix(tmp_path: Path) -> None:
    osu, stream = output("osu-3.1.out").splitlines(), output("stream-5.10.out").splitlines()
    text = ""
    for place in range(max(len(osu), len(stream))):
        text += f"0: {osu[place]}\n" if place < len(osu) else ""
        text += f"1: {stream[place]}\n" if place < len(stream) else ""
    found = probe(text, tmp_path / "output")
    assert found.values("osu_bibw", "bi_bandwidth") == [1.27e6, 1867.40e6]
    assert found.value("stream", "rate", op="triad") == 105002.4e6


def test_digits_of_other_scripts_are_no_numbers(tmp_path: Path) -> None:
    text = output("hpl-2.3.out").replace("WR11C2R4       20160   128", "WR11C2R4       2016٣   128")
    found = probe(text, tmp_path / "output")
    assert found.values("hpl", "time") == [55.02]
    assert found.skipped[0] == (24, "This row of HPL's table is damaged.")


def test_several_tools_in_one_file(tmp_path: Path) -> None:
    names = ["osu-5.6.out", "fio-3.json", "npb-3.3-mpi.out", "phoronix.xml", "stream-5.10.out"]
    alone = [len(probe(output(name), tmp_path / "output").results) for name in names]
    text = "module load x\n".join(output(name) for name in names)
    assert len(probe(text, tmp_path / "output").results) == sum(alone)


def test_a_truncated_json_hides_nothing_after_it(tmp_path: Path) -> None:
    fio = output("fio-3.json")
    text = fio[: len(fio) // 2] + "\n" + output("osu-3.1.out") + fio
    found = probe(text, tmp_path / "output")
    assert found.values("osu_bibw", "bi_bandwidth") == [1.27e6, 1867.40e6]
    assert len([result for result in found.results if result.code == "fio"]) == 3
    assert found.skipped == [(2, "The JSON document that begins here is incomplete.")]


@pytest.mark.parametrize(
    ("end", "values", "skipped"),
    [
        # As many decimals as the line before: whole. Fewer, or none: cut.
        ("1048576                1867.40", 2, 0),
        ("1048576                1867.4", 1, 1),
        ("1048576                1867", 1, 1),
        ("1048576", 1, 1),
    ],
)
def test_a_last_line_without_an_end_may_be_cut(
    end: str, values: int, skipped: int, tmp_path: Path
) -> None:
    text = output("osu-3.1.out").replace("1048576                1867.40\n", end)
    found = probe(text, tmp_path / "output")
    assert len(found.values("osu_bibw", "bi_bandwidth")) == values
    assert len(found.skipped) == skipped


def test_of_a_value_given_twice_neither_is_used(tmp_path: Path) -> None:
    text = output("hyperfine.json").replace('"mean": 0.00125,', '"mean": 0.00125,\n"mean": 9.0,')
    whole, found = probe(output("hyperfine.json"), tmp_path / "a"), probe(text, tmp_path / "b")
    assert len(found.results) == len(whole.results) > 0
    assert "'mean' occurs twice with different values" in found.skipped[0][1]


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "No output of a known tool"),
        (b"\x7fELF\x00\x01" * 100, "No output of a known tool"),
        (b"hello\n", "No output of a known tool"),
        ("STREAM".encode("utf-16"), "No output of a known tool"),
        (b"\x1f\x8bnonsense", "compressed data"),
        (b'{"a": 1}\n', "not the output of a known tool"),
        (b" CG Benchmark Completed.\n Class = A\n", "CG are incomplete"),
    ],
)
def test_bad_input_is_one_sentence(content: bytes, what: str, tmp_path: Path) -> None:
    path = tmp_path / "bad"
    path.write_bytes(content)
    with pytest.raises(AssayError, match=what) as error:
        imported(tmp_path, str(path))
    assert "\n" not in str(error.value)
    assert error.value.fix
    assert list((tmp_path / "runs").iterdir()) == []


def test_files_that_cannot_be_read_exit_with_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for files in ([str(tmp_path / "nothing")], [str(tmp_path)], [HPL, HPL], [], ["--bogus", HPL]):
        with pytest.raises(SystemExit) as done:
            main(["import", *files, "--runs", str(tmp_path / "runs")])
        assert done.value.code == 2
        said = capsys.readouterr().err
        assert said.startswith("assay: ")
        assert "Traceback" not in said


@pytest.mark.parametrize("begin", ["# OSU MPI", " NAS Parallel Benchmarks", "a|", "IOR-3", "#"])
def test_lines_designed_to_be_slow_are_skipped(begin: str, tmp_path: Path) -> None:
    for filler in (" ", "v ", "|a", "9 ", "- "):
        text = output("osu-3.1.out") + begin + filler * 300_000 + "\n" + output("hpl-1.0a.out")
        found = probe(text, tmp_path / "output")
        assert len(found.results) == 4
        assert found.skipped == [(5, "This line is too long.")]


def test_more_results_than_memory_holds_are_refused_with_their_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log"
    path.write_text("# OSU MPI Latency Test v5.6\n# Size  Latency (us)\n" + "8  1.25\n" * 10)
    monkeypatch.setattr(importing, "MOST_RESULTS", 10)
    assert len(read_run(imported(tmp_path, str(path)).path).measurements) == 10
    monkeypatch.setattr(importing, "MOST_RESULTS", 9)
    with pytest.raises(AssayError, match="more than 9 results") as refused:
        imported(tmp_path, str(path))
    assert refused.value.where.startswith(str(path))
    assert len(list((tmp_path / "runs").iterdir())) == 1  # nothing is left of the refused one


def test_memory_does_not_grow_with_the_log(tmp_path: Path) -> None:
    path = tmp_path / "log"
    noise = b"step 12 of 400: residual 1.25e-03, rate 81.5 Mflop/s\n" * 1000
    with path.open("wb") as file:
        for _ in range(60):
            file.write(noise)
        file.write(output("hpl-2.3.out").encode())
        file.write(b"x" * (2 * LONGEST_LINE) + b"\n")
        file.write(b"WR11C2R4 broken\nWR11C2R4 1 broken\n" * (MOST_SKIPPED * 2))
    tracemalloc.start()
    run = imported(tmp_path, str(path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert path.stat().st_size > 5 << 20
    assert peak < 5 << 20
    (source,) = run.manifest().imported
    assert source.skipped[0].what == "This line is too long."
    assert (len(source.skipped), source.unlisted) == (MOST_SKIPPED, MOST_SKIPPED + 1)
