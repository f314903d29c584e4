"""Importers of storage benchmarks: recorded outputs and the expected numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.importers.model import MOST_ROWS
from importing_probe import Read, output, probe


def test_fio_3(read: Read) -> None:
    found = read("fio-3.json")
    assert found.skipped == []
    assert len(found.results) == 3
    job = {"job": "randrw", "direction": "read", "bs": "4k", "iodepth": "32", "size": "1g"}
    assert found.value("fio", "bandwidth", **job) == 104857600
    assert found.value("fio", "rate", **job) == 25600.5
    assert found.value("fio", "time.completion", **job) == pytest.approx(611111.125e-9, rel=1e-15)
    assert found.value("fio", "time.completion.p50", **job) == 602112e-9
    assert found.value("fio", "time.completion.p99.9", **job) == 1204224e-9
    assert found.value("fio", "time.max", **job) == 9013000e-9
    assert found.values("fio", "time.submission") == []
    assert found.value("fio", "rate", job="randrw", direction="write") == 12800.25
    assert found.results[0].version == "3.33"
    broken = found.results[2]
    assert broken.error == "fio's job ended with error 5."
    # The line of each number, below a line that doesn't belong to the document.
    (series,) = [s for s in found.results[0].series if s.metric == "rate"]
    assert series.found[0].line == 25


def test_fio_2_counts_in_kib_and_microseconds(read: Read) -> None:
    found = read("fio-2.json")
    assert found.value("fio", "bandwidth", direction="read") == 204800 * 1024
    assert found.value("fio", "time.min") == 3e-6
    assert found.value("fio", "time") == 18.25e-6


def test_a_truncated_json_yields_nothing_and_is_named(tmp_path: Path) -> None:
    text = output("fio-3.json")
    found = probe(text[: len(text) // 2], tmp_path / "output")
    assert found.results == []
    assert found.skipped == [(2, "The JSON document that begins here is incomplete.")]


def test_ior_3(read: Read) -> None:
    found = read("ior-3.3.out")
    assert found.skipped == []
    write = {"op": "write", "api": "POSIX", "ranks": 8, "nodes": 2, "ranks_per_node": 4}
    write |= {"access": "file-per-process", "type": "independent"}
    write |= {"transfer_bytes": 2**20, "block_bytes": 16 * 2**20, "file_bytes": 128 * 2**20}
    assert found.values("ior", "bandwidth", **write) == [1207.31 * 2**20, 1198.02 * 2**20]
    assert found.values("ior", "rate", op="read") == [4377.1, 4350.7]
    assert found.values("ior", "time", op="read") == [0.031200, 0.031389]
    assert found.values("ior", "time.open", op="write") == [0.001021, 0.001100]
    assert found.values("ior", "time", op="remove") == [0.004120]
    assert len(found.results) == 3
    assert found.results[0].version == "3.3.0"


def test_a_summary_of_ior_counts_where_there_are_no_iterations(read: Read, tmp_path: Path) -> None:
    text = output("ior-3.3.out")
    alone = text[text.index("Summary of all tests:") :]
    found = probe(alone, tmp_path / "output")
    assert found.skipped == []
    cell = {"op": "write", "api": "POSIX", "ranks": 8, "ranks_per_node": 4, "iterations": 2}
    cell |= {"access": "file-per-process", "transfer_bytes": 2**20, "block_bytes": 2**24}
    assert found.value("ior", "bandwidth", **cell) == 1202.66 * 2**20
    assert found.value("ior", "bandwidth.max", **cell) == 1207.31 * 2**20
    assert found.value("ior", "bandwidth.stddev", **cell) == 4.64 * 2**20
    assert found.value("ior", "rate", **cell) == 1202.66
    assert found.value("ior", "time", **cell) == 0.10643
    # Version 3.0 has no operations per second, and no stonewall.
    old = (
        "IOR-3.0.1: MPI Coordinated Test of Parallel I/O\n\nSummary of all tests:\n"
        "Operation   Max(MiB)   Min(MiB)  Mean(MiB)     StdDev    Mean(s) Test# #Tasks tPN reps "
        "fPP reord reordoff reordrand seed segcnt blksiz xsize aggsize API RefNum\n"
        "read         812.25     795.50     803.88       8.38   12.50125 0 16 8 3 0 0 1 0 0 1 "
        "1048576 262144 16777216 MPIIO 0\n"
    )
    found = probe(old, tmp_path / "output")
    assert found.skipped == []
    cell = {"op": "read", "ranks": 16, "iterations": 3, "access": "single-shared-file"}
    assert found.value("ior", "bandwidth.min", **cell) == 795.50 * 2**20
    assert found.values("ior", "rate", **cell) == []
    assert found.results[0].version == "3.0.1"


def test_ior_2_with_wrong_data(read: Read) -> None:
    found = read("ior-2.10.out")
    assert found.values("ior", "bandwidth", ranks=16, transfer_bytes=65536) == [210.02 * 2**20]
    assert [result.verified for result in found.results] == [False]


def test_a_table_without_end_is_kept_in_bounded_memory(tmp_path: Path) -> None:
    lines = output("ior-3.3.out").splitlines(keepends=True)
    (row,) = (n for n, line in enumerate(lines) if line.startswith("write     1207"))
    found = probe("".join(lines[:row] + lines[row : row + 1] * (MOST_ROWS + 5)), tmp_path / "o")
    assert len(found.values("ior", "bandwidth")) == MOST_ROWS
    assert [line for line, _ in found.skipped] == [row + MOST_ROWS + n for n in range(1, 6)]


def test_ior_4_as_csv(read: Read) -> None:
    found = read("ior-4.0-csv.out")
    first = {"ranks": 8, "transfer_bytes": 2**20, "block_bytes": 2**24}
    assert found.values("ior", "bandwidth", op="write", **first) == [
        1207.3125 * 2**20,
        1198.02 * 2**20,
    ]
    assert found.values("ior", "time", op="read", **first) == [0.0312]
    assert found.values("ior", "time.latency", op="write", **first) == [0.0049, 0.0050]
    second = {"ranks": 16, "transfer_bytes": 4096}
    assert found.values("ior", "rate", op="write", **second) == [79000]
    assert found.values("ior", "rate", op="read", **second) == []
    assert found.skipped == [(6, "'nan' is not a number.")]
    assert {result.version for result in found.results} == {None}


def test_ior_4_as_json(read: Read) -> None:
    found = read("ior_json-4.0.json")
    cell = {"op": "write", "api": "POSIX", "ranks": 8, "nodes": 2, "ranks_per_node": 4}
    cell |= {"access": "single-shared-file", "type": "independent", "segments": 1}
    # The options print 2.50 MiB; the parameters state the exact size.
    cell |= {"transfer_bytes": 2**20, "block_bytes": 2621440, "file_bytes": 20 * 2**20}
    assert found.values("ior", "bandwidth", **cell) == [1207.3125 * 2**20, 1198.02 * 2**20]
    assert found.values("ior", "rate", **cell) == [1302.5, 1290.2]
    assert found.values("ior", "time.transfer", **cell) == [0.0983]
    assert found.values("ior", "bandwidth", op="read") == []
    assert found.value("ior", "rate", op="read") == 4377.1
    assert found.value("ior", "time", op="remove") == 0.0041
    assert found.skipped == [(54, "'inf' is not a number.")]
    assert {result.version for result in found.results} == {"4.0.0"}
    assert len(found.results) == 3


def test_mdtest_3(read: Read) -> None:
    found = read("mdtest-3.3.out")
    assert found.skipped == []
    assert found.value("mdtest", "rate", op="file_creation", ranks=8, nodes=2) == 11012.125
    assert found.value("mdtest", "rate.max", op="directory_stat", items=800) == 210034.001
    assert found.value("mdtest", "rate.stddev", op="tree_removal", iterations=3) == 4.25
    assert found.values("mdtest", "rate", op="file_read") == []
    assert len(found.results) == 8


def test_mdtest_4_per_rank_and_in_time(read: Read) -> None:
    found = read("mdtest-4.0.out")
    assert found.value("mdtest", "rate", op="file_creation") == 11034.480
    # The heading says ms/op, and the program prints the seconds of the phase.
    assert found.value("mdtest", "time.phase", op="file_creation") == 0.036


@pytest.mark.parametrize("heading", ["SUMMARY time:", "SUMMARY time (in ops/sec):"])
def test_mdtest_prints_the_time_of_a_phase_whatever_its_heading(
    heading: str, tmp_path: Path
) -> None:
    text = output("mdtest-3.3.out").replace("SUMMARY rate:", heading)
    found = probe(text, tmp_path / "output")
    assert found.skipped == []
    assert found.value("mdtest", "time.phase", op="file_creation") == 11012.125
    assert found.values("mdtest", "rate") == []


def test_mdtest_prints_only_the_mean_of_what_a_stonewall_cut_off(tmp_path: Path) -> None:
    text = output("mdtest-3.3.out").replace(
        "   Tree creation             :       1021.501",
        "   File create (stonewall)   :    NA             NA      11500.250             NA\n"
        "   Tree creation             :       1021.501",
    )
    found = probe(text, tmp_path / "output")
    assert found.skipped == []
    (cut,) = [r for r in found.results if r.parameters["op"].value == "file_create_stonewall"]
    assert [series.metric for series in cut.series] == ["rate"]
    assert found.value("mdtest", "rate", op="file_create_stonewall", ranks=8) == 11500.25
    assert len(found.results) == 9


def test_iozone(read: Read) -> None:
    found = read("iozone.out")
    whole = {"file_bytes": 2**30, "record_bytes": 2**20}
    for op, rate in (
        ("write", 1201345),
        ("random_read", 5102210),
        ("backward_read", 4802210),
        ("stride_read", 5000110),
        ("freread", 5200110),
    ):
        assert found.value("iozone", "bandwidth", op=op, **whole) == rate * 1024
    assert found.values("iozone", "bandwidth", record_bytes=2**21) == [
        1301345 * 1024,
        1502311 * 1024,
    ]
    throughput = {"processes": 4, "record_bytes": 65536, "file_bytes": 2**29}
    assert found.value("iozone", "bandwidth", op="initial_writers", **throughput) == 812345.5 * 1024
    assert found.value("iozone", "bandwidth", op="readers", **throughput) == 9123456.25 * 1024
    assert found.skipped == [(17, "The blank columns of this row can't be identified.")]
    assert {result.version for result in found.results} == {"3.489"}


def test_io500_of_the_extended_mode(read: Read) -> None:
    found = read("io500-isc26-extended.txt")
    assert found.skipped == []
    (result,) = found.results
    assert result.version == "io500-isc26_v2-26-g02091cf254d8"
    cell = {"mode": "extended", "valid": "no"}
    assert found.value("io500", "ior_easy_write", **cell) == 0.551118 * 2**30
    assert found.value("io500", "time.ior_hard_read", **cell) == 0.396
    assert found.value("io500", "mdtest_hard_delete", **cell) == 59476.801
    assert found.value("io500", "find_hard", **cell) == 10226.530
    assert found.value("io500", "ior_rnd4k_easy_read", **cell) == 1.308395 * 2**30
    assert found.value("io500", "bandwidth_score", **cell) == 0.470408 * 2**30
    assert found.value("io500", "metadata_score", **cell) == 60340.132
    assert found.value("io500", "score", **cell) == 5.327706
    assert found.value("io500", "extended.score", **cell) == 4.759796
    units = {series.metric: series.unit for series in result.series}
    assert (units["find"], units["ior_hard_write"], units["score"]) == ("op/s", "B/s", "points")


def test_io500_of_the_script_whose_gigabytes_are_gibibytes(read: Read) -> None:
    """It divided IOR's MiB/s by 1024, and called the result GB/s."""
    found = read("io500-2019-script.txt")
    assert found.skipped == []
    assert found.value("io500", "ior_easy_write", valid="no") == 8.581 * 2**30
    assert found.value("io500", "find") == 305930
    assert found.value("io500", "score") == 4.90749
    assert found.results[0].version is None


def test_io500_names_a_phase_that_did_not_run(read: Read) -> None:
    found = read("io500-isc22.txt")
    assert found.skipped == [(7, "The phase find was not measured.")]
    assert found.values("io500", "find") == []
    assert found.value("io500", "metadata_score", mode="standard") == 3.778


@pytest.mark.parametrize(
    ("true", "false", "words"),
    [
        ("TOTAL 4.90749", "TOTAL 4.90794", "does not follow from its phases"),
        ("0.237 GB/s", "0.273 GB/s", "does not follow from its phases"),
        ("20.608 kiops", "206.08 kiops", "does not follow from its phases"),
        ("TOTAL 4.90749", "TOTAL nan", "has no number"),
        ("8.581 GB/s", "**** GB/s", "The phase ior_easy_write has no number"),
        ("58.27 seconds", "58.27 sec", "damaged"),
    ],
)
def test_io500_scores_that_contradict_the_phases_are_skipped(
    true: str, false: str, words: str, tmp_path: Path
) -> None:
    found = probe(output("io500-2019-script.txt").replace(true, false), tmp_path / "output")
    assert [what for _, what in found.skipped if words in what], found.skipped
    if "phases" in words:
        assert found.values("io500", "score") == []


def test_two_summaries_of_io500_are_two_results(tmp_path: Path) -> None:
    text = output("io500-2019-script.txt")
    rows = "".join(line for line in text.splitlines(keepends=True) if "RESULT" in line)
    found = probe(rows + rows.replace("8.581", "9.581"), tmp_path / "output")
    assert found.values("io500", "ior_easy_write") == [8.581 * 2**30, 9.581 * 2**30]
    assert len(found.results) == 2
