"""Matrix products of devices: by our own kernel with OpenCL and on a CUDA that runs on the
processor, and by a cuBLASLt that multiplies there.
"""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import prepared_assay
from assay.kernels import find_kernel
from assay.kernels.device_libraries import library_folders
from assay.kernels.gpu.gemm import MULTIPLES, OWN_TYPES
from assay.model.placement import Placement, Value
from assay.records.schema import MeasurementRecord
from devices import (
    build_fake_cublaslt,
    build_fake_cuda,
    build_fake_hipblaslt,
    cuda_in,
    needs_opencl,
)
from kernel_runs import Counted, Counter, assert_verified, faulty, measure

pytestmark = [pytest.mark.slow]

GEMM = find_kernel("gpu.gemm")
TYPES = tuple(MULTIPLES)
#: Numbers of the factors' types in cudaDataType_t.
NUMBERS = {"fp64": 1, "fp32": 0, "tf32": 0, "fp16": 2, "bf16": 14, "fp8": 28, "int8": 3}
# One entry; less than a tile; a tile and a part of one.
OWN_SIZES = (1, 7, 130)


def test_work_is_what_the_plain_loop_does() -> None:
    counter = Counter()
    n = 6
    for _ in itertools.product(range(n), range(n)):
        total = Counted(counter, 0.0)
        for _ in range(n):
            total = total + Counted(counter, 2.0) * Counted(counter, 3.0)
    assert GEMM.work({"n": n, "type": "int8"}, 3, 1) == {"flops": 3.0 * counter.flops}


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = build_fake_cuda(tmp_path_factory.mktemp("cuda"))
    build_fake_cublaslt(folder)
    build_fake_hipblaslt(folder)
    return folder


@pytest.fixture
def cuda(libraries: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with cuda_in(libraries, monkeypatch):
        yield libraries


def run(*orders: Mapping[str, Value], **more) -> list[MeasurementRecord]:
    return measure(faulty(), *(("gpu.gemm", order) for order in orders), **more)


def failure(**order: Value) -> str:
    [record] = run({"n": 64, "backend": "cuda", **order})
    assert record.status == "failed", record
    said = record.error or ""
    assert "\n" not in said
    return said


def assert_measured(record: MeasurementRecord, library: str) -> None:
    assert_verified(record)
    series = {each.metric: each.values for each in record.series}
    assert len(series["device_time"]) == len(series["time"])
    assert all(value > 0 for value in series["device_time"])
    assert record.facts["library"] == library
    # Rounding shows: the check compares numbers, not zeros. A few terms may be exact.
    value = record.verification.value if record.verification else None
    inexact = record.parameters["type"] != "int8" and int(record.parameters["n"]) > 16
    assert value is not None and (0 < value <= 1 if inexact else value <= 1)


@needs_opencl
def test_own_products_are_verified_with_opencl() -> None:
    orders = [{"type": each, "n": n, "backend": "opencl"} for each in OWN_TYPES for n in OWN_SIZES]
    for record in run(*orders):
        assert_measured(record, "own")
        assert record.parameters["library"] == "own"


@pytest.mark.parametrize("backend", ["cuda", "hip"])
@pytest.mark.usefixtures("cuda")
def test_own_products_are_verified_with_text_for(backend: str) -> None:
    orders = [
        {"type": each, "n": n, "backend": backend, "library": "own"}
        for each in OWN_TYPES
        for n in OWN_SIZES
    ]
    for record in run(*orders):
        assert_measured(record, "own")


@pytest.mark.parametrize(
    ("backend", "library"), [("cuda", "cuBLASLt 12.9.2"), ("hip", "hipBLASLt 1.2.2")]
)
@pytest.mark.usefixtures("cuda")
def test_the_vendors_products_are_verified(backend: str, library: str) -> None:
    orders = [{"type": each, "n": n, "backend": backend} for each in TYPES for n in (16, 96)]
    for record in run(*orders):
        assert_measured(record, library)
        assert record.parameters["library"] == "vendor"


FAULTS = ("value", "skip", "factor", "nan")


@pytest.mark.parametrize(
    ("backend", "types"),
    [pytest.param("opencl", OWN_TYPES, marks=needs_opencl), ("cuda", TYPES), ("hip", TYPES)],
)
@pytest.mark.usefixtures("cuda")
def test_planted_faults_are_found_in_each_type(backend: str, types: tuple[str, ...]) -> None:
    orders = [
        {"type": each, "n": 64, "backend": backend, "fault": fault}
        for each in types
        for fault in FAULTS
    ]
    for record in run(*orders):
        assert record.status == "ok", record.error
        assert record.verified is False, record.parameters


def test_a_library_that_multiplies_wrongly_is_found(
    cuda: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_CUBLASLT", "wrong")
    for record in run(*({"type": each, "n": 64, "backend": "cuda"} for each in TYPES)):
        assert record.status == "ok" and record.verified is False, record.parameters


@pytest.mark.parametrize("lacking", TYPES)
def test_a_type_that_a_device_lacks_is_one_sentence(
    cuda: Path, monkeypatch: pytest.MonkeyPatch, lacking: str
) -> None:
    monkeypatch.setenv("FAKE_CUBLASLT", f"no:{NUMBERS[lacking]}")
    assert failure(type=lacking) == (
        f"cuBLASLt 12.9.2 has no product of {lacking} matrices with n=64 on Fake device 0: it says "
        "CUBLAS_STATUS_NOT_SUPPORTED (15); choose another type, or an n that is a multiple of 16"
    )


def test_hips_library_names_its_own_status(cuda: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_CUBLASLT", "no:14")
    said = failure(type="bf16", backend="hip")
    assert "hipBLASLt 1.2.2 has no product of bf16 matrices" in said
    assert "HIPBLAS_STATUS_NOT_SUPPORTED (7)" in said


@pytest.mark.usefixtures("cuda")
def test_a_size_that_the_library_lacks_is_one_sentence() -> None:
    assert "fp8 matrices with n=30 on Fake device 0" in failure(type="fp8", n=30)


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        ("start", "starting cuBLASLt failed: cuBLASLt says CUBLAS_STATUS_NOT_INITIALIZED (1)"),
        ("matmul:3", "a product of matrices failed: cuBLASLt says CUBLAS_STATUS_EXECUTION_FAILED "
                     "(13)"),
    ],
)  # fmt: skip
def test_a_fault_of_the_library_is_one_sentence(
    cuda: Path, monkeypatch: pytest.MonkeyPatch, fault: str, text: str
) -> None:
    monkeypatch.setenv("FAKE_CUBLASLT", fault)
    assert failure(type="fp16") == text


@pytest.fixture
def bare_cuda(libraries: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with driver and compiler, and no library of products."""
    for name in ("libcuda.so.1", "libnvrtc.so.12", "libamdhip64.so.6", "libhiprtc.so.6"):
        (tmp_path / name).symlink_to(libraries / name)
    with cuda_in(tmp_path, monkeypatch):
        yield tmp_path


@pytest.mark.usefixtures("bare_cuda")
def test_a_missing_library_names_what_brings_it() -> None:
    assert failure(type="fp64") == (
        "cuBLASLt: libcublasLt.so is missing; the CUDA toolkit brings it, or the wheel "
        "nvidia-cublas; library=own multiplies without it"
    )
    assert failure(type="fp64", backend="hip") == (
        "hipBLASLt: libhipblaslt.so is missing; ROCm's package hipblaslt brings it; library=own "
        "multiplies without it"
    )


def test_an_old_library_names_what_it_lacks(bare_cuda: Path) -> None:
    subprocess.run(
        ["c++", "-shared", "-fPIC", "-x", "c++", "-", "-o", str(bare_cuda / "libcublasLt.so.11")],
        input='extern "C" int cublasLtCreate(void**) { return 0; }',
        text=True,
        check=True,
    )
    assert failure(type="fp64") == (
        "libcublasLt.so.11 is too old: it lacks cublasLtDestroy; install a newer version"
    )


def test_libraries_of_wheels_are_found(
    bare_cuda: Path, libraries: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = tmp_path / "site-packages"
    for wheel in ("cublas", "cuda_nvrtc", "empty"):
        (packages / "nvidia" / wheel / "lib").mkdir(parents=True)
    cublas, nvrtc = (packages / "nvidia" / name / "lib" for name in ("cublas", "cuda_nvrtc"))
    shutil.copy(libraries / "libcublasLt.so.12", cublas)
    (bare_cuda / "libnvrtc.so.12").rename(nvrtc / "libnvrtc.so.12")
    assert library_folders(packages) == (cublas, nvrtc)
    monkeypatch.setenv("ASSAY_DEVICE_LIBRARIES", f"{cublas}:{nvrtc}")
    [record] = run({"type": "fp16", "n": 64, "backend": "cuda"})
    assert_measured(record, "cuBLASLt 12.9.2")


@pytest.mark.usefixtures("cuda")
def test_each_rank_multiplies_on_its_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_CUDA", "devices:2")
    [record] = run({"type": "bf16", "n": 64, "backend": "cuda"}, ranks=2)
    assert_measured(record, "cuBLASLt 12.9.2")


@pytest.mark.usefixtures("cuda")
def test_sizes_are_chosen_and_bounded() -> None:
    # 4 multiprocessors: 128 sqrt(32 x 4), in whole tiles.
    [record] = run({"type": "int8", "backend": "cuda"}, samples=(1, 1))
    assert_measured(record, "cuBLASLt 12.9.2")
    assert record.parameters["n"] == 1408
    said = failure(type="fp64", n=10_000)  # of 1 GiB
    assert said == "3 matrices with n=10000 don't fit into Fake device 0: n can be at most 6345"


def test_the_command_measures_and_names_what_multiplied(cuda: Path, tmp_path: Path) -> None:
    words = ["gpu.gemm", "type=fp8,int8", "n=64", "backend=cuda", "--launches", "1"]
    done = prepared_assay.run(
        [sys.executable, "-m", "assay", "measure", *words, "--samples", "2", "--json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    assert [each["parameters"]["type"] for each in answers] == ["fp8", "int8"]
    for each in answers:
        assert each["verified"] is True and each["parameters"]["library"] == "vendor"
        # 2 n^3 operations.
        product = each["metrics"]["rate"]["median"] * each["metrics"]["time"]["median"]
        assert product == pytest.approx(2 * 64**3)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"backend": "opencl", "type": "tf32"}, "own kernel has no product of tf32 matrices"),
        ({"library": "own", "type": "fp8"}, "own kernel has no product of fp8 matrices"),
        ({"library": "vendor", "backend": "opencl"}, "choose library=own"),
        ({"type": "fp8", "n": 40}, "if n is a multiple of 16, not with n=40"),
        ({"type": "int8", "n": 42}, "if n is a multiple of 4, not with n=42"),
        ({"type": "int8", "n": 42, "library": "own"}, None),
        ({"type": "fp8"}, None),
    ],
)
def test_orders_that_no_library_carries_out_are_refused(
    given: dict[str, Value], text: str | None
) -> None:
    assert GEMM.check is not None
    whole = {each.name: each.default for each in GEMM.parameters} | given
    said = GEMM.check(whole, Placement())
    assert said is None if text is None else said is not None and text in said
