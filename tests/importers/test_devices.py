"""Importers of accelerator benchmarks: recorded outputs and the expected numbers.

The outputs are excerpts and facts of public ones: nccl-tests, nvbandwidth and gpu-burn of
superbenchmark's tests (MIT), rccl-tests of Oracle's guides, DCGM's tests (Apache 2.0), mixbench's
and clpeak's own results. Numbers that no public output holds, such as wrong elements, are put in.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest

import prepared_assay
from assay.importers.collectives import deduced
from importing_probe import OUTPUTS, Probe, Read, output, probe


def parameters(found: Probe, place: int = 0) -> dict[str, object]:
    return {name: value.value for name, value in found.results[place].parameters.items()}


# ---- nccl-tests, rccl-tests -------------------------------------------------------------------


def test_nccl_tests_with_errors_instead_of_wrong_elements(read: Read) -> None:
    found = read("nccl_tests-2.10.out")
    assert found.skipped == []
    code, cell = "nccl-tests.all_reduce", {"bytes": 1048576, "place": "out-of-place"}
    assert found.value(code, "time", **cell) == 74.78e-6
    assert found.value(code, "bandwidth.algorithm", **cell) == 14.02e9
    assert found.value(code, "bandwidth", **cell) == 24.54e9
    assert found.value(code, "time", bytes=1048576, place="in-place") == 76.17e-6
    assert found.value(code, "bandwidth.mean") == 68.4048e9
    # 0.00 GB/s is a bandwidth below the printed precision.
    assert found.values(code, "bandwidth", bytes=0) == []
    assert len(found.values(code, "time", bytes=0)) == 2
    # The operation follows from the bandwidths of 8 ranks; nothing was validated.
    assert {result.verified for result in found.results} == {None}
    assert parameters(found) == {
        "bytes": 0, "type": "float", "redop": "sum", "place": "out-of-place", "threads": 1,
        "gpus_per_thread": 8, "iterations": 20, "gpu": "A100-SXM4-40GB", "ranks": 8, "nodes": 1,
        "node": "localhost",
    }  # fmt: skip


def test_wrong_elements_are_a_failed_result(read: Read) -> None:
    found = read("nccl_tests-2.18.out")
    assert found.skipped == []
    verdicts = {
        (result.parameters["bytes"].value, result.parameters["place"].value): result
        for result in found.results
        if "place" in result.parameters
    }
    wrong = verdicts[4294967296, "out-of-place"]
    assert wrong.verified is False and wrong.check == "wrong elements"
    assert wrong.checked is not None and wrong.checked.value == 3
    assert verdicts[4294967296, "in-place"].verified is True
    assert found.results[-1].verified is False  # the mean over all sizes
    assert found.results[0].version == "2.18.3"
    assert found.value("nccl-tests.all_gather", "time", bytes=1073741824, place="in-place") == (
        pytest.approx(48712.0e-6, rel=1e-15)
    )


def test_wrong_elements_count_without_the_footer(tmp_path: Path) -> None:
    text = output("nccl_tests-2.18.out")
    found = probe(text[: text.index("# Out of bounds")], tmp_path / "output")
    assert sorted(result.verified is True for result in found.results) == [False, True, True, True]


def test_a_failed_footer_without_wrong_elements_fails_all(tmp_path: Path) -> None:
    text = output("nccl_tests-2.10.out").replace("values : 0 OK", "values : 2 FAILED")
    found = probe(text, tmp_path / "output")
    assert {result.verified for result in found.results} == {False}


def test_nccl_tests_of_nccl_1_in_milliseconds(read: Read) -> None:
    found = read("nccl_tests-nccl1.out")
    assert found.skipped == []
    cell = {"bytes": 10000000, "type": "char", "place": "out-of-place", "ranks": 2}
    assert found.value("nccl-tests.all_reduce", "time", **cell) == 1.628e-3
    assert found.value("nccl-tests.all_reduce", "bandwidth", **cell) == 6.14e9
    assert {result.verified for result in found.results} == {True}


@pytest.mark.parametrize("label", ["", "0: ", "[1,0]<stdout>:", "\x1b[32m"])
def test_rccl_tests_behind_rank_labels(label: str, tmp_path: Path) -> None:
    text = re.sub("^", label, output("nccl_tests-rccl.out"), flags=re.M)
    found = probe(text, tmp_path / "output")
    assert found.skipped == []
    assert {(r.tool, r.version) for r in found.results} == {("rccl-tests", "develop:a52452e")}
    cell = {"bytes": 17179869184, "place": "in-place", "library": "RCCL 2.27.7-develop:29e1567"}
    assert found.value("rccl-tests.all_reduce", "time", **cell) == 89917e-6
    assert found.value("rccl-tests.all_reduce", "bandwidth.mean") == 188.855e9
    assert parameters(found)["nodes"] == 2 and "node" not in parameters(found)


def test_an_operation_that_is_not_named_is_not_guessed(tmp_path: Path) -> None:
    text = output("nccl_tests-2.18.out").replace("all_gather_perf", "program")
    found = probe(text, tmp_path / "output")
    assert found.results == []
    assert found.skipped[0][1].startswith("The output does not say which operation")
    named = probe("alltoall_perf\n" + text, tmp_path / "output")
    assert named.skipped == []
    assert {result.code for result in named.results} == {"nccl-tests.alltoall"}


@pytest.mark.parametrize(
    ("ranks", "quotient", "reduces", "rooted", "operation"),
    [
        (8, 1.75, True, False, "all_reduce"),
        (8, 0.875, True, False, "reduce_scatter"),
        (2, 1.0, True, False, "all_reduce"),
        (8, 1.0, True, True, "reduce"),
        (8, 1.0, False, True, "broadcast"),
        (128, 0.992, False, True, ""),  # or a gather
        (8, 0.875, False, False, ""),  # all_gather or alltoall
        (8, 1.0, False, False, "sendrecv"),
        (0, 1.75, True, False, "all_reduce"),
        (0, 1.0, True, False, ""),
        (8, 0.5, True, False, ""),
    ],
)
def test_operations_follow_from_bandwidths_only_if_one_fits(
    ranks: int, quotient: float, reduces: bool, rooted: bool, operation: str
) -> None:
    assert deduced(quotient, ranks=ranks, reduces=reduces, rooted=rooted) == operation


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("49085.4   21.88", "4908.4   21.88"),  # a digit is lost
        ("   10.94       0  48712.0", "   10.94       048712.0"),  # two lines of ranks in one
        ("      -1  49085.4", "      -1[0]  49085.4"),
        ("21.88   10.94", "21,88   10,94"),  # a decimal comma
        ("1073741824     134217728     float", "1.073.741.824     134217728     float"),
    ],
)
def test_a_damaged_row_gives_no_number(old: str, new: str, tmp_path: Path) -> None:
    text = output("nccl_tests-2.18.out")
    assert old in text
    found = probe(text.replace(old, new), tmp_path / "output")
    assert found.values("nccl-tests.all_gather", "time", bytes=1073741824) == []
    assert len(found.values("nccl-tests.all_gather", "time")) == 2
    assert found.skipped or "1.073" in new


def test_columns_of_iterations_and_time_stamps(tmp_path: Path) -> None:
    names = "time algbw busbw #wrong i_min i_max i_p99 i_cv%"
    text = (
        "# Collective test starting: sendrecv_perf\n"
        f"# size count type redop root {names} {names} timestamp\n"
        "1048576 262144 float none -1 50.00 20.97 20.97 0 48.5 60.1 59.9 4.50 "
        "51.00 20.56 20.56 0 49.5 61.1 60.9 3.50 2025-10-28 12:00:00\n"
    )
    found = probe(text, tmp_path / "output")
    assert found.skipped == []
    cell = {"place": "out-of-place", "bytes": 1048576}
    assert found.value("nccl-tests.sendrecv", "time.min", **cell) == 48.5e-6
    assert found.value("nccl-tests.sendrecv", "time.p99", **cell) == 59.9e-6
    assert found.value("nccl-tests.sendrecv", "variation", **cell) == 0.045
    assert found.value("nccl-tests.sendrecv", "time.max", place="in-place") == 61.1e-6


def test_unknown_columns_are_named(tmp_path: Path) -> None:
    text = output("nccl_tests-2.10.out").replace("busbw  error", "xyzbw  error")
    found = probe(text, tmp_path / "output")
    assert found.results == []
    assert any("'xyzbw'" in what for _, what in found.skipped)


def test_json_of_nccl_tests(read: Read) -> None:
    found = read("nccl_tests_json-3.json")
    assert [what for _, what in found.skipped] == ["'nan' is not a number."]
    code = "nccl-tests.all_reduce"
    assert found.value(code, "time", bytes=8, place="out-of-place") == 12.345678e-6
    assert found.value(code, "bandwidth", bytes=8, place="in-place") == 0.000653e9
    assert found.value(code, "time.p99", bytes=16, place="out-of-place") == 13.5e-6
    assert [result.verified for result in found.results] == [True, False, None, None]
    assert parameters(found)["node"] == "a" and parameters(found)["ranks"] == 2


def test_json_of_rccl_tests(read: Read) -> None:
    found = read("nccl_tests_json-rccl.txt")
    assert found.skipped == []
    cell = {"place": "out-of-place", "ranks": 8, "bytes": 1048576}
    assert found.value("rccl-tests.reduce_scatter", "bandwidth", **cell) == 22.253315e9
    assert [result.verified for result in found.results] == [True, None]


# ---- nvbandwidth ------------------------------------------------------------------------------


def test_nvbandwidth(read: Read) -> None:
    found = read("nvbandwidth-0.6.out")
    assert len(found.skipped) == 1 and "do not add up to their sum" in found.skipped[0][1]
    code = "nvbandwidth.host_to_device_memcpy_ce"
    assert found.value(code, "bandwidth", device="2", row="0") == 412.11e9
    assert found.value(code, "bandwidth", device="2", row="1") == 312.11e9
    assert found.value(code, "bandwidth", of_matrix="sum") == 1985.60e9
    both = "nvbandwidth.device_to_device_bidirectional_memcpy_read_ce"
    pair = {"device": "0", "peer": "1", "node": "gpu-node7", "gpu": "NVIDIA H100 80GB HBM3"}
    assert found.value(both, "bandwidth", part="Read1", **pair) == 195.10e9
    assert found.value(both, "bandwidth", part="Total", **pair) == 390.35e9
    latency = "nvbandwidth.device_to_device_latency_sm"
    assert found.value(latency, "time", device="1", peer="0") == pytest.approx(825.83e-9)
    assert found.values(latency, "bandwidth") == []
    assert {result.version for result in found.results} == {"0.6", "0.9"}


def test_nvbandwidth_without_sums(read: Read) -> None:
    found = read("nvbandwidth-0.2.out")
    assert found.skipped == []
    code = "nvbandwidth.device_to_device_memcpy_read_ce"
    assert found.values(code, "bandwidth") == [276.07e9, 276.36e9]  # without the diagonal
    assert found.value("nvbandwidth.device_to_host_memcpy_ce", "bandwidth", device="1") == 26.10e9


def test_an_incomplete_matrix_is_left_out(tmp_path: Path) -> None:
    text = output("nvbandwidth-0.2.out").replace("1    276.36      0.00\n", "")
    found = probe(text, tmp_path / "output")
    assert [what for _, what in found.skipped] == [
        "nvbandwidth's device_to_device_memcpy_read_ce is incomplete."
    ]
    cut = output("nvbandwidth-0.6.out").partition("SUM host")[0]
    assert probe(cut, tmp_path / "output").results == []


def test_json_of_nvbandwidth(read: Read) -> None:
    found = read("nvbandwidth_json-0.7.json")
    assert "'Waived'" in found.skipped[0][1]
    code = "nvbandwidth.host_to_device_memcpy_ce"
    assert found.value(code, "bandwidth", device="0") == 12.3964e9
    assert found.value(code, "bandwidth", of_matrix="mean") == pytest.approx(12.39636129125e9)
    latency = "nvbandwidth.device_to_device_latency_sm"
    assert found.value(latency, "time", device="0", peer="1") == pytest.approx(826.42e-9)


def test_only_the_rows_that_the_sum_is_about_are_read(read: Read) -> None:
    """A test of both directions appends its matrices; the description is the last one's."""
    found = read("nvbandwidth_json-0.8.json")
    assert len(found.skipped) == 1 and "do not add up" in found.skipped[0][1]
    code = "nvbandwidth.device_to_device_bidirectional_memcpy_read_ce"
    cell = {"part": "Total", "node": "gpu-node7", "gpu": "NVIDIA H100 80GB HBM3"}
    assert found.value(code, "bandwidth", device="0", peer="1", **cell) == 390.4e9
    assert found.value(code, "bandwidth", device="1", peer="0", **cell) == 390.35e9
    assert len(found.results) == 3


# ---- DCGM -------------------------------------------------------------------------------------


def test_dcgm_of_version_1_7(read: Read) -> None:
    found = read("dcgm-2.json")
    assert found.skipped == [
        (17, "DCGM's test memory of GPU 0 did not run: ECC memory on this card is not currently "
             "active."),
    ]  # fmt: skip
    assert found.value("dcgm.nvml_library", "passed", device="0") == 1
    assert found.value("dcgm.memory", "allocated", device="1") == 16583361795
    # One result holds the sentences about both GPUs.
    assert found.value("dcgm.pcie", "bandwidth.gpu_to_host", device="0") == 13.08e9
    assert found.value("dcgm.pcie", "bandwidth.gpu_to_host", device="1") == 13.07e9
    assert found.values("dcgm.pcie", "bandwidth.bidirectional", device="1") == []
    assert found.value("dcgm.pcie", "time.gpu_to_host", device="1") == 3.269e-6
    assert {result.verified for result in found.results} == {True}
    assert parameters(found)["driver"] == "418.87.01"


def test_dcgm_of_version_4(read: Read) -> None:
    found = read("dcgm-4.json")
    assert len(found.skipped) == 1 and "warns: Max power" in found.skipped[0][1]
    software = found.results[0]
    assert software.verified is False
    assert software.error == "Persistence Mode: Persistence mode for GPU 0 is disabled."
    assert found.value("dcgm.software", "passed", device="0") == 0
    assert found.value("dcgm.targeted_power", "power.max", device="1") == 248.1
    # A warning is no verdict.
    assert found.values("dcgm.targeted_power", "passed", device="2") == []
    assert found.value("dcgm.targeted_power", "power", device="2") == 201.5
    assert found.value("dcgm.diagnostic", "rate", device="1") == 33463.84e9
    assert {result.version for result in found.results} == {"4.2.3"}


# ---- gpu-burn ---------------------------------------------------------------------------------


def test_gpu_burn_takes_each_rate_once(read: Read) -> None:
    found = read("gpu_burn.out")
    assert found.skipped == []
    assert found.values("gpu-burn", "rate", device="0") == [5786e9, 11396e9]
    assert found.values("gpu-burn", "rate", device="1") == [5606e9, 11373e9, 11333e9]
    assert [result.verified for result in found.results] == [True, True]
    assert parameters(found) == {"device": "0", "gpu": "Quadro RTX 8000", "type": "fp32"}


def test_gpu_burn_with_errors(read: Read) -> None:
    found = read("gpu_burn-faulty.out")
    (result,) = found.results
    assert result.verified is False
    assert result.checked is not None and result.checked.value == 30539726
    expected = {"device": "1", "type": "fp64", "tensor": "yes", "seconds": 500}
    assert expected.items() <= parameters(found).items()


def test_gpu_burn_without_verdicts_is_incomplete(tmp_path: Path) -> None:
    text = output("gpu_burn.out").partition("\tGPU 1: OK")[0]
    found = probe(text, tmp_path / "output")
    assert found.results == []
    assert [what for _, what in found.skipped] == [
        "The results of gpu-burn that begin here are incomplete."
    ]


def test_a_gpu_that_died_failed(tmp_path: Path) -> None:
    text = output("gpu_burn.out").replace(
        "10832 (11396 Gflop/s) - 5224 (11333 Gflop/s)   errors: 0 - 0",
        "10832 (11396 Gflop/s) - -1 (0 Gflop/s)   errors: 0 - 0  (DIED!)",
    )
    found = probe(text, tmp_path / "output")
    assert [result.verified for result in found.results] == [True, False]
    assert found.results[1].error == "The process of this GPU died."


# ---- mixbench, clpeak -------------------------------------------------------------------------


def test_mixbench_of_four_types(read: Read) -> None:
    found = read("mixbench-cuda.out")
    assert found.skipped == []
    cell = {"iterations": 24, "type": "fp16", "intensity": 24.5, "gpu": "GeForce RTX 2070"}
    assert found.value("mixbench", "rate", **cell) == 10346.40e9
    assert found.value("mixbench", "bandwidth", **cell) == 422.30e9
    assert found.value("mixbench", "time", **cell) == 0.32e-3
    integers = [r for r in found.results if r.parameters["type"].value == "int32"]
    assert {series.unit for r in integers for series in r.series} == {"op/s", "B/s", "s"}
    assert len(found.results) == 12
    assert found.results[0].version == "v0.03-2-gbccfd71"


def test_mixbench_of_three_types_and_damaged_ones(read: Read) -> None:
    found = read("mixbench-opencl.out")
    assert [what.partition(" of ")[2] for _, what in found.skipped] == [
        "fp64 in this row are not all above 0.",
        "fp32 in this row disagree.",
    ]
    assert len(found.results) == 7
    expected = {"implementation": "ocl/read-only", "driver": "352.63", "workgroup": "256"}
    assert expected.items() <= parameters(found).items()


def test_packed_numbers_are_a_type_of_their_own(tmp_path: Path) -> None:
    text = output("mixbench-opencl.out").replace("Double precision", "Packed Single Precision")
    found = probe(text, tmp_path / "output")
    cell = {"iterations": 4, "type": "packed fp32"}
    assert found.value("mixbench", "rate", **cell) == 73.95e9
    assert found.value("mixbench", "rate", iterations=4, type="fp32") == 259.91e9
    unknown = text.replace("Packed Single", "Quarter")
    assert probe(unknown, tmp_path / "output").results == []


def test_clpeak(read: Read) -> None:
    found = read("clpeak-1.1.log")
    assert found.skipped == []
    v100 = {"gpu": "Tesla V100-PCIE-32GB", "platform": "NVIDIA CUDA"}
    bandwidth = "clpeak.global_memory_bandwidth"
    assert found.value(bandwidth, "bandwidth", variant="float16", **v100) == 750.17e9
    assert found.value(bandwidth, "bandwidth", variant="float", gpu="Tesla T4") == 238.14e9
    assert found.value("clpeak.double_precision_compute", "rate", **v100) == 7075.81e9
    assert found.value("clpeak.kernel_launch_latency", "time", **v100) == 4.21e-6
    mapped = {"variant": "memcpy from mapped ptr"}
    assert found.value("clpeak.transfer_bandwidth", "bandwidth", **mapped) == 7.66e9


def test_clpeak_2(read: Read) -> None:
    found = read("clpeak-2.log")
    assert found.skipped == []
    code = "clpeak.fp16_mma_sync_m16n8k16_fp16"
    assert found.value(code, "rate", backend="CUDA") == 83.36e12
    assert found.value("clpeak.kernel_launch_latency", "time", variant="roundtrip") == 6.24e-6
    assert len(found.results) == 4  # without the unsupported one


def test_a_test_of_clpeak_has_only_its_own_rows(tmp_path: Path) -> None:
    text = output("clpeak-2.log")
    lower = text.replace("FP16 mma.sync", "simdgroup_matrix fp16")
    found = probe(lower, tmp_path / "output")
    assert found.value("clpeak.simdgroup_matrix_fp16_m16n8k16_fp16", "rate") == 83.36e12
    unknown = probe(text.replace("(TFLOPS)", "(GTEXELS)"), tmp_path / "output")
    assert unknown.values("clpeak.single_precision_compute", "rate") == [21100.20e9]
    assert len(unknown.results) == 3


def test_clpeak_needs_its_device(tmp_path: Path) -> None:
    text = output("clpeak-1.1.log").partition("Clock frequency : 1380 MHz")[2]
    found = probe(text, tmp_path / "output")
    assert {result.parameters["gpu"].value for result in found.results} == {"Tesla T4"}
    assert "device of this result of clpeak is not named" in found.skipped[0][1]


def test_a_line_with_a_platform_interrupts_no_other_tool(tmp_path: Path) -> None:
    text = output("stream-5.10.out").replace("Function ", "Platform: x86\nFunction ", 1)
    found = probe(text, tmp_path / "output")
    assert len(found.results) == 4


def test_clpeak_as_xml(read: Read) -> None:
    found = read("clpeak_xml-1.xml")
    assert found.skipped == []
    cell = {"variant": "float2", "gpu": "Tesla T4", "driver": "455.23.05"}
    assert found.value("clpeak.global_memory_bandwidth", "bandwidth", **cell) == 242.02e9
    assert found.value("clpeak.kernel_launch_latency", "time") == 4.21e-6
    found = read("clpeak_xml-2.xml")
    assert [what for _, what in found.skipped] == ["The unit 'GTEXELS' of clpeak is unknown."]
    assert found.value("clpeak.single_precision_compute", "rate") == 21117.0625e9
    assert found.value("clpeak.wmma_fp16xfp16_fp32_16x16x16", "rate") == 42.5577e12


# ---- SuperBench -------------------------------------------------------------------------------


def test_superbench_by_node_and_rank(read: Read) -> None:
    found = read("superbench-summary.jsonl")
    assert found.skipped == [(3, "SuperBench's mem-bw returned 1.")]
    first = {"node": "sb-validation-01"}
    launch = {"name": "event_time", **first}
    assert found.value("superbench.kernel-launch", "time", rank="1", **launch) == 0.00559e-3
    assert found.value("superbench.gemm-flops", "rate", rank="0", **first) == 18318.4e9
    assert found.value("superbench.nccl-bw", "bandwidth", group="default") == 89.51e9
    assert found.value("superbench.pytorch-gpt2-large", "time") == pytest.approx(0.1205)
    assert found.value("superbench.disk-benchmark", "time") == pytest.approx(84e-6)
    # The documentation states a unit that is not nvbandwidth's: the number keeps none.
    assert found.value("superbench.nvbandwidth", "value") == 826.42
    failed = [result for result in found.results if result.code == "superbench.mem-bw"]
    assert [(r.verified, r.error) for r in failed] == [(False, "The return code is 1.")]


def test_superbench_results_of_one_benchmark(read: Read) -> None:
    found = read("superbench-results.txt")
    assert found.values("superbench.kernel-launch", "time", name="event_time") == [
        pytest.approx(5.42e-6),
        pytest.approx(5.44e-6),
    ]


def test_superbench_summary(read: Read) -> None:
    found = read("superbench_summary.md")
    assert [what for _, what in found.skipped] == ["'nonsense' is not a statistic of SuperBench."]
    cell = {"name": "event_overhead", "statistic": "p90"}
    assert found.value("superbench.kernel-launch", "time", **cell) == pytest.approx(6e-6)
    assert found.value("superbench.nccl-bw", "bandwidth", rank="0") == 89.51e9


# ---- the command ------------------------------------------------------------------------------

FORMATS = {
    "nccl_tests-2.18.out": ("nccl-tests", 5, 2),
    "nccl_tests-rccl.out": ("rccl-tests", 5, 0),
    "nccl_tests_json-3.json": ("nccl-tests", 4, 1),
    "nvbandwidth-0.2.out": ("nvbandwidth", 4, 0),
    "nvbandwidth_json-0.7.json": ("nvbandwidth", 7, 0),
    "dcgm-4.json": ("DCGM", 4, 1),
    "gpu_burn-faulty.out": ("gpu-burn", 1, 1),
    "mixbench-cuda.out": ("mixbench", 12, 0),
    "clpeak-1.1.log": ("clpeak", 9, 0),
    "clpeak_xml-1.xml": ("clpeak", 4, 0),
    "superbench-summary.jsonl": ("SuperBench", 9, 1),
    "superbench_summary.md": ("SuperBench", 3, 0),
}


def test_the_command_imports_and_reports_each_format(tmp_path: Path) -> None:
    """All files at once: tools, results, failed ones, and the report by device."""
    files = [str(OUTPUTS / name) for name in FORMATS]
    done = prepared_assay.run(
        [sys.executable, "-m", "assay", "import", *files, "--runs", "runs", "--json"],
        cwd=tmp_path, capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    sources = json.loads(done.stdout)["sources"]
    found = {
        Path(source["file"]).name: [(t["tool"], t["results"], t["failed"]) for t in source["tools"]]
        for source in sources
    }
    assert {name: (t[0][0], sum(x[1] for x in t), sum(x[2] for x in t)) for name, t in found.items()
            } == FORMATS  # fmt: skip
    (run,) = (tmp_path / "runs").iterdir()
    report = prepared_assay.run(
        [sys.executable, "-m", "assay", "report", str(run), "--json"],
        cwd=tmp_path, capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    # A run with wrong elements has no bandwidth, but its failure.
    assert "wrong elements" in report.stdout
    cells = [each for each in json.loads(report.stdout)["cells"]
             if each["kernel"] == "nccl-tests.all_gather"]  # fmt: skip
    assert sorted(bool(each["metrics"]) for each in cells) == [False, False, True, True, True]


def test_the_report_lists_devices_by_their_difference_from_the_others(tmp_path: Path) -> None:
    """One of twelve ranks is planted 20% slower in both benchmarks."""
    lines = []
    for node in range(1, 7):
        found: dict[str, object] = {"node": f"compute-n{node}"}
        for rank in range(2):
            share = 0.8 if (node, rank) == (4, 1) else 1.0
            found[f"gemm-flops/fp64_flops:{rank}"] = 9000.0 * share
            found[f"kernel-launch/event_time:{rank}"] = 0.004 / share
        lines.append(json.dumps(found) + "\n")
    (tmp_path / "results-summary.jsonl").write_text("".join(lines))
    words = [sys.executable, "-m", "assay"]
    for more in (["import", "results-summary.jsonl", "--runs", "runs"], ["report", "--json"]):
        run = [str(path) for path in (tmp_path / "runs").glob("*")] if more[0] == "report" else []
        done = prepared_assay.run(
            [*words, *more, *run],
            cwd=tmp_path, capture_output=True, text=True, timeout=300, check=True,
        )  # fmt: skip
    (section,) = json.loads(done.stdout)["sections"]
    devices = {table["id"]: table for table in section["tables"]}["imported-devices"]
    rows = [[entry["text"] for entry in row] for row in devices["rows"]]
    assert rows[0][:2] == ["node compute-n4, rank 1", "2"]
    assert rows[0][3] == "superbench.kernel-launch name=event_time"
    # 20% less in the rate, 25% more time.
    assert devices["rows"][0][2]["value"] == pytest.approx(-0.225, abs=1e-9)
    prepared_assay.run(
        [*words, "report", "--anonymize", "--output", "shared.html", *run],
        cwd=tmp_path, capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    assert "compute-n4" in done.stdout
    assert "compute-n4" not in (tmp_path / "shared.html").read_text()
    assert len(rows) == 12
    assert {row[2] for row in rows[1:]} == {"0.0%"}
    shown = prepared_assay.run(
        [*words, "report", *run], env={**os.environ, "COLUMNS": "160"},
        cwd=tmp_path, capture_output=True, text=True, timeout=300, check=True,
    ).stdout  # fmt: skip
    _, _, table = shown.partition("Devices side by side")
    assert "node compute-n4, rank 1" in table
