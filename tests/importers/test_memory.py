"""Importers of memory benchmarks: recorded outputs and the expected numbers."""

from __future__ import annotations

from pathlib import Path

from importing_probe import Read, output, probe


def test_stream_in_c(read: Read) -> None:
    found = read("stream-5.10.out")
    assert found.skipped == []
    assert len(found.results) == 4
    assert all(result.verified is True for result in found.results)
    assert {result.version for result in found.results} == {"5.10"}
    for op, rate in (("copy", 95512.3), ("scale", 94071.8), ("add", 104321.0), ("triad", 105002.4)):
        assert found.value("stream", "rate", op=op) == rate * 1e6
    triad = {name: value.value for name, value in found.results[3].parameters.items()}
    assert triad == {
        "op": "triad",
        "element_bytes": 8,
        "elements": 80000000,
        "offset": 0,
        "times": 10,
        "threads": 16,
        "requested_threads": 16,
    }
    assert found.value("stream", "time", op="triad") == 0.018401
    assert found.value("stream", "time.min", op="triad") == 0.018285
    assert found.value("stream", "time.max", op="triad") == 0.018699


def test_stream_in_fortran_with_a_wrong_result(read: Read) -> None:
    found = read("stream-fortran.out")
    assert found.skipped == []
    assert [result.verified for result in found.results] == [False] * 4
    assert found.value("stream", "rate", op="add", elements=2000000, threads=4) == 7384.6167e6
    assert (
        found.value("stream", "time.max", op="add", element_bytes=8, offset=0, times=10) == 0.0067
    )
    assert found.results[0].version == "5.6"


def test_a_missing_validation_counts_as_none(tmp_path: Path) -> None:
    text = output("stream-5.10.out")
    found = probe(text[: text.index("Solution")], tmp_path / "output")
    assert [result.verified for result in found.results] == [None] * 4


def test_babelstream(read: Read) -> None:
    found = read("babelstream-4.0.out")
    assert found.skipped == []
    for op, rate in (("copy", 104512.775), ("mul", 102331.001), ("dot", 131002.514)):
        assert found.value("babelstream", "rate", op=op) == rate * 1e6
    assert found.value("babelstream", "time.min", op="triad") == 0.00711
    assert found.value("babelstream", "time", op="triad") == 0.00729
    have = {name: value.value for name, value in found.results[0].parameters.items()}
    assert have == {
        "op": "copy",
        "implementation": "OpenMP",
        "precision": "double",
        "times": 100,
        "array_bytes": 268.4e6,
    }
    assert found.results[0].version == "4.0"


def test_babelstream_as_csv_in_powers_of_two(read: Read) -> None:
    found = read("babelstream-csv.out")
    assert found.value("babelstream", "rate", op="copy", elements=33554432) == 99670.5 * 2**20
    assert found.value("babelstream", "time.max", op="triad", element_bytes=8, times=100) == 0.0081


def test_babelstream_5_as_csv_with_its_phases(read: Read) -> None:
    found = read("babelstream-5.0-csv.out")
    assert found.values("babelstream", "rate") == [105217.6e6, 131002.5e6]
    assert found.value("babelstream", "time.min", op="dot", elements=67108864) == 0.0040982
    assert len(found.results) == 2


def test_babelstream_of_one_kernel_prints_the_time_of_all_repetitions(read: Read) -> None:
    found = read("babelstream-triad.out")
    assert found.skipped == []
    cell = {"op": "triad", "timed": "all repetitions", "times": 200, "elements": 33554432}
    assert found.value("babelstream", "rate", **cell) == 858.993e9
    assert found.value("babelstream", "time.all", **cell) == 0.1875
    assert len(found.results) == 1
    found = read("babelstream-triad-csv.out")
    cell = {"op": "triad", "timed": "all repetitions", "times": 100, "element_bytes": 4}
    assert found.value("babelstream", "rate", **cell) == 640.25 * 2**30
    assert found.value("babelstream", "time.all", **cell) == 0.05859


def test_babelstream_with_a_wrong_result(tmp_path: Path) -> None:
    text = output("babelstream-4.0.out") + "Validation failed on a[]. Average error 0.1\n"
    found = probe(text, tmp_path / "output")
    assert {result.verified for result in found.results} == {False}


def test_a_repeated_csv_table_of_babelstream_is_another_run(tmp_path: Path) -> None:
    text = output("babelstream-csv.out")
    failed = "Validation failed on a[]. Average error 0.1\n"
    found = probe(text + text + failed + text, tmp_path / "output")
    one = len(probe(text, tmp_path / "output").results)
    assert len(found.results) == 3 * one
    # The sentence may be of the second run or of the third: neither is trusted.
    verdicts = [result.verified for result in found.results]
    assert verdicts == [None] * one + [False] * (2 * one)


def test_babelstream_takes_only_a_whole_number_of_times(tmp_path: Path) -> None:
    text = output("babelstream-4.0.out").replace("kernels 100 times", "kernels 2.100 times")
    found = probe(text, tmp_path / "output")
    assert {"times" in result.parameters for result in found.results} == {False}
    assert found.value("babelstream", "rate", op="triad") == 113217.899e6


def test_likwid_bench(read: Read) -> None:
    found = read("likwid_bench.out")
    assert found.skipped == []
    cell = {"test": "triad_avx", "groups": 1, "threads": 4, "bytes": 500000000}
    assert found.value("likwid-bench", "bandwidth", **cell) == 23167.50e6
    assert found.value("likwid-bench", "flops", **cell) == 1447.25e6
    assert found.value("likwid-bench", "time", **cell) == 1.381250
