"""Kernels of devices: by OpenCL where it is installed, by a CUDA and a HIP on the processor."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from assay.kernels import find_kernel
from assay.kernels.gpu.stream import STREAM_WORK
from assay.model.placement import Value
from assay.records.schema import MeasurementRecord
from devices import build_fake_cuda, cuda_in, needs_opencl
from kernel_runs import (
    Counted,
    CountedArray,
    Counter,
    assert_verified,
    faulty,
    measure,
)

pytestmark = [pytest.mark.slow]

STREAM = find_kernel("gpu.stream")
TRANSFER = find_kernel("gpu.transfer")
# The smallest sizes at which each kernel does all that it does.
ORDERS: tuple[tuple[str, dict[str, Value]], ...] = (
    *(("gpu.stream", {"op": op, "elements": 5001}) for op in STREAM_WORK),
    ("gpu.stream", {"op": "triad", "elements": 5001, "type": "float"}),
    ("gpu.stream", {"op": "dot", "elements": 5001, "type": "float"}),
    *(
        ("gpu.transfer", {"direction": way, "memory": memory, "bytes": 4104})
        for way in ("to device", "to host", "both")
        for memory in ("pinned", "pageable")
    ),
    ("gpu.launch", {"mode": "single"}),
    ("gpu.launch", {"mode": "row"}),
    ("gpu.latency", {"bytes": 12_800}),
)
# OpenCL has no graphs.
GRAPH = ("gpu.launch", {"mode": "graph"})
DRIVERS = ("cuda", "hip")
FAULTS = (
    ("gpu.stream", {"op": "triad", "elements": 5001}, "value"),
    ("gpu.stream", {"op": "dot", "elements": 5001}, "value"),
    ("gpu.stream", {"op": "copy", "elements": 5001, "type": "float"}, "nan"),
    ("gpu.stream", {"op": "sum", "elements": 5001}, "skip"),
    ("gpu.transfer", {"direction": "to device", "bytes": 4104}, "value"),
    ("gpu.transfer", {"direction": "to host", "bytes": 4104}, "value"),
    ("gpu.launch", {}, "skip"),
    ("gpu.latency", {"bytes": 12_800}, "cut"),
    ("gpu.latency", {"bytes": 12_800}, "skip"),
)


@pytest.mark.parametrize("operation", STREAM_WORK)
def test_work_is_what_the_plain_loop_does(operation: str) -> None:
    counter = Counter()
    x, y, z = (CountedArray(counter, 10) for _ in range(3))
    scalar = Counted(counter, 3.0)
    added = Counted(counter, 0.0)
    for i in range(10):
        if operation == "copy":
            z[i] = x[i]
        elif operation == "scale":
            z[i] = scalar * x[i]
        elif operation == "sum":
            z[i] = x[i] + y[i]
        elif operation == "triad":
            z[i] = x[i] + scalar * y[i]
        else:
            added = added + x[i] * y[i]
    work = STREAM.work({"op": operation, "elements": 10, "type": "float"}, 3, 1)
    assert work == {"bytes": 3 * 4 * (counter.reads + counter.writes), "flops": 3 * counter.flops}


def test_both_directions_move_twice_the_bytes() -> None:
    one = {"direction": "to host", "bytes": 64}
    assert TRANSFER.work(one, 2, 1) == {"bytes": 128.0}
    assert TRANSFER.work({**one, "direction": "both"}, 2, 1) == {"bytes": 256.0}


@pytest.fixture(scope="module")
def cuda(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_fake_cuda(tmp_path_factory.mktemp("cuda"))


@pytest.fixture(params=[pytest.param("opencl", marks=needs_opencl), *DRIVERS])
def backend(
    request: pytest.FixtureRequest, cuda: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    with cuda_in(cuda, monkeypatch):
        yield request.param


def run(backend: str, *orders: tuple[str, Mapping[str, Value]], **more) -> list[MeasurementRecord]:
    named = [(kernel, {**given, "backend": backend}) for kernel, given in orders]
    return measure(faulty(), *named, **more)


@pytest.mark.sanitizable
def test_results_are_verified_and_both_clocks_are_kept(backend: str) -> None:
    for record in run(backend, *ORDERS, *([GRAPH] if backend in DRIVERS else [])):
        assert_verified(record)
        series = {each.metric: each.values for each in record.series}
        assert record.parameters["backend"] == backend and record.parameters["device"] == 0
        assert record.facts["device_name"] and record.facts["device_kind"] in ("cpu", "gpu")
        assert len(series["device_time"]) == len(series["time"])
        assert all(value > 0 for value in series["device_time"])


@pytest.mark.sanitizable
def test_planted_faults_are_found(backend: str) -> None:
    orders = [(kernel, {**given, "fault": fault}) for kernel, given, fault in FAULTS]
    if backend in DRIVERS:
        orders.append((GRAPH[0], {**GRAPH[1], "fault": "skip"}))
    for record in run(backend, *orders):
        assert record.status == "ok", record.error
        assert record.verified is False, (record.kernel, record.parameters)


def failure(*order: object, ranks: int = 1) -> str:
    kernel, given = order
    [record] = measure(faulty(), (str(kernel), given), ranks=ranks)  # type: ignore[arg-type]
    assert record.status == "failed"
    return record.error or ""


SMALL = ("gpu.stream", {"elements": 1024, "backend": "cuda"})


@pytest.mark.parametrize(
    ("fault", "backend", "text"),
    [
        ("old", "cuda", "CUDA: the driver finds no device"),
        ("old", "hip", "HIP: the driver finds no device"),
        ("memory", "cuda", "allocating 8192 B failed: CUDA says CUDA_ERROR_OUT_OF_MEMORY (2)"),
        ("memory", "hip", "allocating 8192 B failed: HIP says hipErrorOutOfMemory (2)"),
        ("lost:3", "cuda",
         "launching a kernel failed: CUDA says CUDA_ERROR_ECC_UNCORRECTABLE (214)"),
        ("lost:3", "hip", "launching a kernel failed: HIP says hipErrorECCNotCorrectable (214)"),
        ("text", "cuda",
         'can\'t be compiled for Fake device 0: NVRTC says NVRTC_ERROR_COMPILATION: '
         'kernel.cu(3): error: identifier "x" is undefined'),
        ("text", "hip", "can't be compiled for Fake device 0: HIPRTC says HIPRTC_ERROR_COMPILA"),
    ],
)  # fmt: skip
def test_a_fault_of_the_driver_is_one_sentence(
    cuda: Path, monkeypatch: pytest.MonkeyPatch, fault: str, backend: str, text: str
) -> None:
    with cuda_in(cuda, monkeypatch, fault):
        said = failure(SMALL[0], {**SMALL[1], "backend": backend})
    assert text in said and "\n" not in said


def test_facts_name_the_driver_and_the_device(cuda: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with cuda_in(cuda, monkeypatch):
        by_cuda, by_hip = (
            measure(faulty(), ("gpu.launch", {"backend": name}))[0].facts for name in DRIVERS
        )
    same = {"device_name": "Fake device 0", "device_kind": "gpu", "device_address": "0000:3B:00.0"}
    same |= {"device_units": 4, "device_clock": 1.98e9, "device_cache": 1 << 20}
    assert by_cuda.items() >= same.items() and by_hip.items() >= same.items()
    assert (by_cuda["device_driver"], by_cuda["device_library"]) == ("12.4", "NVRTC 12.4")
    assert by_cuda["device_architecture"] == "9.0"
    assert (by_hip["device_driver"], by_hip["device_library"]) == ("6.4.43484", "HIPRTC 6.4")
    assert by_hip["device_vendor"] == "AMD"


@needs_opencl
def test_opencl_refuses_graphs() -> None:
    said = failure("gpu.launch", {"mode": "graph", "backend": "opencl"})
    assert said == ("OpenCL has no graphs of launches; use another mode, or backend=cuda or hip")


def test_a_driver_without_graphs_measures_all_else(
    cuda: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = build_fake_cuda(tmp_path, without=["cuGraphInstantiateWithFlags"])
    with cuda_in(old, monkeypatch):
        row, graph = measure(
            faulty(),
            ("gpu.launch", {"mode": "row", "backend": "cuda"}),
            ("gpu.launch", {"mode": "graph", "backend": "cuda"}),
        )
    assert_verified(row)
    assert graph.error == "CUDA: the driver has no graphs of launches; install a newer one"


def test_ranks_of_a_node_use_its_devices_in_turn(
    cuda: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with cuda_in(cuda, monkeypatch, "devices:2"):
        [record] = measure(faulty(), SMALL, ranks=2)
        assert_verified(record)
        assert "this node has 2 devices of cuda for 3 ranks" in failure(*SMALL, ranks=3)
        named = {**SMALL[1], "device": 2}
        said = failure("gpu.stream", named)
    assert said == "there is no device 2 of cuda; there are 0: Fake device 0, 1: Fake device 1"


def test_without_libraries_each_backend_says_what_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("libcuda.so.1", "libamdhip64.so.7", "libOpenCL.so.1", "libOpenCL.so"):
        (tmp_path / name).write_text("not a library")
    with cuda_in(tmp_path, monkeypatch):
        said = failure("gpu.stream", {"elements": 1000})
    assert "CUDA: libcuda.so.1 is missing; NVIDIA's driver brings it" in said
    assert "HIP: libamdhip64.so is missing; AMD's ROCm brings it" in said
    assert "OpenCL: libOpenCL.so.1 is missing" in said
    assert "file too short" in said or "invalid ELF header" in said


def test_a_library_that_is_too_old_names_what_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cuda: Path
) -> None:
    subprocess.run(
        ["c++", "-shared", "-fPIC", "-x", "c++", "-", "-o", str(tmp_path / "libcuda.so.1")],
        input='extern "C" int cuInit(unsigned) { return 0; }',
        text=True,
        check=True,
    )
    (tmp_path / "libnvrtc.so.12").symlink_to(cuda / "libcuda.so.1")
    with cuda_in(tmp_path, monkeypatch):
        said = failure(*SMALL)
    assert said == ("libcuda.so.1 is too old: it lacks cuDriverGetVersion; install a newer version")


@needs_opencl
def test_sizes_are_chosen_and_bounded() -> None:
    [record] = measure(faulty(), ("gpu.stream", {"elements": 0, "backend": "opencl"}))
    assert_verified(record)
    elements = record.parameters["elements"]
    assert isinstance(elements, int) and elements * 8 >= 1 << 26
    said = failure("gpu.stream", {"elements": 1 << 39, "backend": "opencl"})
    assert "elements can be at most" in said
