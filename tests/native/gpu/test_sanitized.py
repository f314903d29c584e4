"""Every kernel of devices under the sanitizers, by each backend.

Kernels and fakes share a process, so that accesses beyond a buffer of a device are found, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from assay.kernels.gpu import KERNELS
from assay.kernels.gpu.stream import STREAM_WORK
from assay.model.placement import Value
from devices import (
    build_fake_cublaslt,
    build_fake_cuda,
    build_fake_hipblaslt,
    build_fake_nccl,
    cuda_in,
    needs_opencl,
)
from kernel_runs import assert_verified, measure, sanitized

pytestmark = [pytest.mark.slow, pytest.mark.sanitized]

Order = tuple[str, Mapping[str, Value]]
# Kernels of one rank, by every backend.
ALONE: tuple[Order, ...] = (
    *(("gpu.stream", {"op": op, "elements": 5001}) for op in STREAM_WORK),
    ("gpu.stream", {"op": "triad", "elements": 5001, "type": "float"}),
    ("gpu.transfer", {"direction": "both", "memory": "pinned", "bytes": 4104}),
    ("gpu.transfer", {"direction": "to host", "memory": "pageable", "bytes": 4104}),
    ("gpu.launch", {"mode": "single"}),
    ("gpu.latency", {"bytes": 12_800}),
    ("gpu.gemm", {"type": "fp64", "n": 33, "library": "own"}),
    ("gpu.gemm", {"type": "int8", "n": 36, "library": "own"}),
)
# What OpenCL lacks.
OF_DRIVERS: tuple[Order, ...] = (
    ("gpu.launch", {"mode": "graph"}),
    ("gpu.gemm", {"type": "bf16", "n": 32, "library": "vendor"}),
    ("gpu.peer", {"bytes": 4104, "path": "host", "direction": "both"}),
    ("gpu.peer", {"bytes": 4104, "path": "direct"}),
)
TOGETHER: tuple[Order, ...] = (
    ("gpu.collective", {"op": "allreduce", "bytes": 4104, "backend": "cuda"}),
    ("gpu.collective", {"op": "alltoall", "bytes": 4104, "backend": "cuda"}),
    *(
        ("gpu.all", {"op": op, "bytes": 40_008, "backend": "cuda"})
        for op in ("stream", "gemm", "to device", "to host")
    ),
)


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = build_fake_nccl(build_fake_cuda(tmp_path_factory.mktemp("cuda")))
    build_fake_cublaslt(folder)
    build_fake_hipblaslt(folder)
    return folder


def test_each_kernel_is_tried() -> None:
    assert {name for name, _ in (*ALONE, *OF_DRIVERS, *TOGETHER)} == {k.name for k in KERNELS}


@pytest.mark.parametrize("backend", [pytest.param("opencl", marks=needs_opencl), "cuda", "hip"])
def test_kernels_of_one_rank(
    backend: str, libraries: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders = ALONE if backend == "opencl" else (*ALONE, *OF_DRIVERS)
    with cuda_in(libraries, monkeypatch, "devices:2"):
        named = [(kernel, {**given, "backend": backend}) for kernel, given in orders]
        for record in measure(sanitized(), *named):
            assert_verified(record)


def test_kernels_of_two_ranks(libraries: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with cuda_in(libraries, monkeypatch, "devices:2"):
        for record in measure(sanitized(), *TOGETHER, ranks=2):
            assert_verified(record)
