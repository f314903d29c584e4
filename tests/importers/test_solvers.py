"""Importers of HPL, HPCC, HPCG and the NPB: recorded outputs and the expected numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from importing_probe import Read, output, probe


def test_hpl_2(read: Read) -> None:
    found = read("hpl-2.3.out")
    assert len(found.results) == 2
    good, bad = found.results
    assert {name: value.value for name, value in good.parameters.items()} == {
        "variant": "WR11C2R4",
        "n": 20160,
        "nb": 128,
        "p": 2,
        "q": 4,
    }
    assert found.value("hpl", "time", nb=128) == 58.37
    assert found.value("hpl", "rate", nb=128) == 9.3596e10
    assert found.value("hpl", "rate", nb=192) == 9.9294e10
    assert (good.verified, bad.verified) == (True, False)
    assert bad.checked is not None
    assert bad.checked.value == 7.31400012e04
    assert [series.unit for series in good.series] == ["s", "flop/s"]
    assert (good.tool, good.version, good.line) == ("HPL", "2.3", 24)
    assert found.skipped == []


def test_hpl_1_has_three_checks_of_which_all_must_pass(read: Read) -> None:
    found = read("hpl-1.0a.out")
    assert [result.verified for result in found.results] == [False, True]
    assert found.results[0].checked.value == 23.0063711
    assert found.value("hpl", "rate", n=1500, nb=60) == 2.012e9
    assert found.results[0].version == "1.0a"


def test_hpl_of_a_vendor_is_another_code(tmp_path: Path) -> None:
    vendor = "HPL-NVIDIA 23.3.0  -- NVIDIA accelerated HPL benchmark -- NVIDIA\n"
    text = vendor + output("hpl-2.3.out").replace("9.3596e+01", "9.3596e+01 ( 4.680e+01)")
    found = probe(text + output("hpl-1.0a.out"), tmp_path / "output")
    assert found.value("hpl-nvidia", "rate", nb=128) == 9.3596e10
    versions = [(result.code, result.version) for result in found.results]
    assert versions == [("hpl-nvidia", "23.3.0")] * 2 + [("hpl", "1.0a")] * 2


NPB = {
    # file: code, metric: value, parameters, verified, version
    "npb-3.3-mpi.out": (
        "nasa-npb.cg",
        {"time": 21.47, "rate": 2548.31e6, "rate.per_process": 637.08e6},
        {
            "class": "B",
            "size": "75000",
            "iterations": 75,
            "ranks": 4,
            "compiled_ranks": 4,
            "compiler": "mpif77",
            "flags": "-O3",
        },
        True,
        "3.3.1",
    ),
    "npb-3.4-omp.out": (
        "nasa-npb.bt",
        {"time": 41.12, "rate": 17076.40e6, "rate.per_thread": 2134.55e6},
        {
            "class": "B",
            "size": "102x102x102",
            "iterations": 200,
            "threads": 8,
            "available_threads": 8,
            "model": "OMP",
        },
        False,
        "3.4.2",
    ),
    "npb-3.4-ser.out": (
        "nasa-npb.ep",
        {"time": 19.63, "rate": 27.35e6},
        {"class": "A", "size": "536870912", "iterations": 0, "model": "SER"},
        True,
        "3.4.1",
    ),
    "npb-cpp.out": (
        "npb-cpp.is",
        {"time": 0.09, "rate": 932.07e6},
        {"class": "A", "size": "8388608", "threads": 12, "iterations": 10},
        True,
        "4.1",
    ),
    "npb-2.3-c.out": (
        "npb-c.mg",
        {"time": 3.90, "rate": 998.04e6},
        {"class": "A", "size": "256x256x256", "iterations": 4, "threads": 2},
        True,
        "2.3",
    ),
    "npb-mz.out": (
        "nasa-npb.sp-mz",
        {"time": 13.54, "rate": 5210.44e6, "rate.per_thread": 325.65e6},
        {
            "class": "A",
            "size": "128x128x16",
            "iterations": 400,
            "ranks": 2,
            "threads": 16,
            "model": "MPI",
        },
        True,
        "3.3.1",
    ),
    "npb-unknown.out": (
        "npb-unknown.lu",
        {"time": 1.75, "rate": 10323.67e6, "rate.per_process": 5161.84e6},
        {"class": "W", "size": "33x33x33", "iterations": 300, "ranks": 2, "compiled_ranks": 2},
        None,
        "3.3.1",
    ),
}


@pytest.mark.parametrize("name", NPB)
def test_npb(name: str, read: Read) -> None:
    code, metrics, parameters, verified, version = NPB[name]
    found = read(name)
    (result,) = found.results
    assert result.code == code
    assert {s.metric: pytest.approx(s.found[0].value, rel=1e-15) for s in result.series} == metrics
    assert {name: value.value for name, value in result.parameters.items()} == parameters
    assert (result.verified, result.version) == (verified, version)
    assert found.skipped == []


def test_a_truncated_block_of_npb_yields_nothing_and_is_named(tmp_path: Path) -> None:
    text = output("npb-3.3-mpi.out")
    whole = text[: text.index(" Operation type")]
    found = probe(whole, tmp_path / "output")
    assert found.results == []
    assert found.skipped == [(16, "The results of CG are incomplete.")]


def test_a_damaged_number_of_npb_yields_nothing_and_is_named(tmp_path: Path) -> None:
    text = output("npb-3.3-mpi.out").replace("2548.31", "25?8.31")
    found = probe(text, tmp_path / "output")
    assert found.results == []
    assert "'Mop/s total'" in found.skipped[0][1]


def test_two_runs_of_the_same_npb_are_two_results(tmp_path: Path) -> None:
    text = output("npb-3.3-mpi.out")
    found = probe(text + text.replace("21.47", "21.50"), tmp_path / "output")
    assert found.values("nasa-npb.cg", "time") == [21.47, 21.50]


HPCC = {
    ("hpcc.hpl", "rate"): 0.0261601e12,
    ("hpcc.hpl", "time"): 13.0512,
    ("hpcc.ptrans", "rate"): 1.40725e9,
    ("hpcc.mpi_random_access", "rate"): 0.0505408e9,
    ("hpcc.star_random_access", "rate"): 0.0343401e9,
    ("hpcc.star_stream_triad", "rate"): 4.49901e9,
    ("hpcc.single_stream_copy", "rate"): 11.0114e9,
    ("hpcc.single_dgemm", "rate"): 11.2034e9,
    ("hpcc.mpi_fft", "rate"): 4.21105e9,
    ("hpcc.single_fft", "rate"): 2.10102e9,
    ("hpcc.ping_pong", "time"): 0.45501e-6,
    ("hpcc.ping_pong", "bandwidth.max"): 9.31217e9,
    ("hpcc.natural_ring", "time"): 0.6913e-6,
    ("hpcc.random_ring", "bandwidth"): 2.30414e9,
}


def test_hpcc(read: Read) -> None:
    found = read("hpcc-1.5.out")
    assert found.skipped == []
    for (code, metric), value in HPCC.items():
        assert found.value(code, metric) == pytest.approx(value, rel=1e-14), code
    assert {result.version for result in found.results if result.code != "hpl"} == {"1.5.0"}
    assert all(result.verified for result in found.results)
    assert found.value("hpcc.hpl", "time", n=8000, nb=80, p=2, q=2, ranks=4) == 13.0512
    # HPL's own table within, and none of the tables that look like STREAM's.
    assert found.value("hpl", "rate", n=8000) == 2.616e10
    assert not any(result.code == "stream" for result in found.results)


def test_a_failed_hpcc_reports_it_for_every_test(tmp_path: Path) -> None:
    found = probe(output("hpcc-1.5.out").replace("Success=1", "Success=0"), tmp_path / "output")
    assert {result.verified for result in found.results if result.code != "hpl"} == {False}


def test_a_test_that_hpcc_left_out_has_no_result(tmp_path: Path) -> None:
    text = output("hpcc-1.5.out").replace("\nFFT_N=1048576", "\nFFT_N=-1")
    found = probe(text.replace("StarFFT_Gflops=1.40011", "StarFFT_Gflops=6.9e-301"), tmp_path / "o")
    codes = {result.code for result in found.results}
    assert "hpcc.star_fft" not in codes
    assert "hpcc.mpi_fft" in codes


def test_a_truncated_summary_of_hpcc_yields_nothing_and_is_named(tmp_path: Path) -> None:
    text = output("hpcc-1.5.out")
    found = probe(text[: text.index("End of Summary")], tmp_path / "output")
    assert {result.code for result in found.results} == {"hpl"}
    assert found.skipped == [(27, "HPCC's summary that begins here is incomplete.")]


def test_hpcg_3(read: Read) -> None:
    found = read("hpcg-3.1.txt")
    assert found.skipped == []
    (result,) = found.results
    cell = {"ranks": 8, "threads": 4, "nx": 208, "ny": 208, "nz": 208}
    assert found.value("hpcg-benchmark", "rate", **cell) == 13.1012e9
    assert found.value("hpcg-benchmark", "rate.spmv", **cell) == 14.0011e9
    assert found.value("hpcg-benchmark", "rate.raw", **cell) == 13.4405e9
    assert (result.verified, result.version) == (True, "3.1")


def test_hpcg_of_intel_names_the_benchmark_with_its_version_alone(tmp_path: Path) -> None:
    lines = output("hpcg-3.1.txt").splitlines(keepends=True)
    start = next(n for n, line in enumerate(lines) if line.strip() == "HPCG-Benchmark")
    lines[start] = "node01-2ranks-4threads\n"
    version = next(n for n, line in enumerate(lines) if line.startswith("version"))
    lines[version] = "version=HPCG-Benchmark_3.0\n"
    found = probe("".join(lines), tmp_path / "output")
    (result,) = found.results
    assert result.version == "3.0"
    assert found.value("hpcg-benchmark", "rate.spmv", ranks=8, threads=4, nx=208) == 14.0011e9
    assert found.value("hpcg-benchmark", "rate", nz=208) == 13.1012e9


def test_hpcg_3_of_intel_as_printed_and_as_yaml(read: Read, tmp_path: Path) -> None:
    """The rating stands before the result file and in it: one result, with the file's numbers."""
    found = read("hpcg-intel-3.0.out")
    assert found.skipped == []
    (result,) = found.results
    cell = {"ranks": 8, "threads": 1, "nx": 208, "ny": 208, "nz": 208, "npx": 2, "npz": 2}
    assert found.value("hpcg-benchmark", "rate", **cell) == 3.28908e9
    assert found.value("hpcg-benchmark", "rate.raw", **cell) == 3.32037e9
    assert found.value("hpcg-benchmark", "rate.mg", **cell) == 4.05446e9
    assert (result.verified, result.version) == (True, "3.0")
    # Without the file the printed rating is a result, of each run.
    line = output("hpcg-intel-3.0.out").splitlines(keepends=True)[0]
    found = probe(line + line.replace("3.28", "3.30"), tmp_path / "output")
    ratings = [result.series[0].found[0].value for result in found.results]
    assert ratings == [3.28908e9, 3.30908e9]


def test_hpcg_of_amd(read: Read) -> None:
    found = read("hpcg-rochpcg.out")
    assert found.skipped == []
    (result,) = found.results
    cell = {"nx": 2240, "ny": 1120, "nz": 560, "npx": 4, "npy": 4, "npz": 2}
    assert found.value("rochpcg", "rate", **cell) == 6904.9e9
    assert found.value("rochpcg", "rate.raw", **cell) == 6971.0e9
    assert found.value("rochpcg", "rate.spmv", **cell) == 5473.9e9
    assert (result.verified, result.tool) == (False, "rocHPCG")


def test_hpcg_2_with_an_invalid_result(read: Read) -> None:
    found = read("hpcg-2.4.yaml")
    assert found.value("hpcg-benchmark", "rate", ranks=2, nz=52) == 1.10221e9
    assert found.value("hpcg-benchmark", "rate.ddot") == 1.5e9
    assert [result.verified for result in found.results] == [False]


@pytest.mark.parametrize(
    ("header", "model"),
    [
        ("4.1 CUDA C++ version", "CUDA"),
        ("4.1 Serial C++ version", "SER"),
        ("4.1 Parallel C++ version with OpenMP", None),
    ],
)
def test_ports_of_the_npb_to_several_models_are_different_cells(
    tmp_path: Path, header: str, model: str | None
) -> None:
    text = output("npb-cpp.out")
    known = "4.1 Parallel C++ version with OpenMP"
    assert known in text
    found = probe(text.replace(known, header), tmp_path / "output")
    (result,) = found.results
    assert result.code == "npb-cpp.is"
    have = result.parameters.get("model")
    assert (have.value if have else None) == model


def test_npb_in_java(read: Read) -> None:
    found = read("npb-java.out")
    mg, cg = found.results
    assert (mg.tool, mg.version, mg.verified) == ("NASA's NPB in Java", "3.0", True)
    assert found.value("npb-java.mg", "time", size="64x64x64", iterations=40) == 0.412
    assert found.value("npb-java.mg", "rate", **{"class": "W"}) == 1618.875e6
    assert found.value("npb-java.cg", "rate", threads=4, size="14000") == 1197.5e6
    assert cg.verified is False
    assert "threads" not in mg.parameters
    what = "The results of IS are damaged: 'Time in seconds' has no valid value."
    assert found.skipped == [(41, what)]


def test_a_truncated_box_of_npb_in_java_yields_nothing(tmp_path: Path) -> None:
    text = output("npb-java.out")
    found = probe(text[: text.index("* Verification")], tmp_path / "output")
    assert found.results == []
    assert found.skipped == [(6, "The results of MG are incomplete.")]
