"""gpu.collective: operations between devices, by an NCCL that moves data between processes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from assay.kernels import find_kernel
from assay.kernels.gpu.collective import BUS
from assay.model.placement import Placement, Value
from assay.records.schema import MeasurementRecord
from devices import build_fake_cuda, build_fake_nccl, cuda_in, needs_opencl
from kernel_runs import assert_verified, faulty, measure

pytestmark = [pytest.mark.slow]

KERNEL = find_kernel("gpu.collective")
# Not a multiple of the library's pieces, nor of what a rank's caches hold.
ELEMENTS = 12 * 1003


@pytest.fixture(scope="module")
def cuda(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_fake_nccl(build_fake_cuda(tmp_path_factory.mktemp("cuda")))


def run(ranks: int, *given: dict[str, Value]) -> list[MeasurementRecord]:
    usual: dict[str, Value] = {"bytes": 4 * ELEMENTS, "backend": "cuda"}
    return measure(
        faulty(), *(("gpu.collective", {**usual, **each}) for each in given), ranks=ranks
    )


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_each_operation_is_exact(cuda: Path, monkeypatch: pytest.MonkeyPatch, ranks: int) -> None:
    given: list[dict[str, Value]] = [{"op": op} for op in BUS]
    given += [{"op": op, "type": "double", "bytes": 8 * ELEMENTS} for op in BUS]
    with cuda_in(cuda, monkeypatch, f"devices:{ranks}"):
        for record in run(ranks, *given):
            assert_verified(record)
            series = {each.metric: each.values for each in record.series}
            assert len(series["device_time"]) == len(series["time"])
            assert all(value > 0 for value in series["device_time"])
            assert record.facts["library"] == "NCCL 2.21.5"


def test_devices_of_hip_use_rccl(cuda: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with cuda_in(cuda, monkeypatch, "devices:2"):
        for record in run(2, *({"op": op, "backend": "hip"} for op in BUS)):
            assert_verified(record)
            assert record.facts["library"] == "RCCL 2.21.5"


def test_damaged_elements_and_missing_operations_are_found(
    cuda: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[dict[str, Value]] = [
        {"op": op, "fault": f} for op in BUS for f in ("value", "skip")
    ]
    with cuda_in(cuda, monkeypatch, "devices:2"):
        for case, record in zip(given, run(2, *given), strict=True):
            assert (record.status, record.verified) == ("ok", False), (case, record.error)
        monkeypatch.setenv("FAKE_NCCL", "wrong")
        reduced = run(2, {"op": "allreduce"}, {"op": "reduce_scatter"})
    assert [record.verified for record in reduced] == [False, False]


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("refuse:1:1", "rank 1: an allreduce failed: NCCL says unhandled cuda error"),
        ("refuse:1:3", "rank 1: an allreduce failed: NCCL says unhandled cuda error"),
        ("fail:0:3", "rank 0: an operation between devices failed: NCCL says remote process "
                     "exited or there was a network error"),
        ("lose:2:3", "rank 2: waiting for the device failed: its driver says error 214"),
        ("absent:2", "rank 2: joining the devices of all ranks failed: NCCL says unhandled "
                     "system error"),
    ],
)  # fmt: skip
def test_the_failure_of_one_rank_ends_the_operation_of_all(
    cuda: Path, monkeypatch: pytest.MonkeyPatch, fault: str, said: str
) -> None:
    monkeypatch.setenv("FAKE_NCCL", fault)
    with cuda_in(cuda, monkeypatch, "devices:3"):
        [record] = run(3, {"op": "allreduce"})
    assert (record.status, record.error) == ("failed", said)


def failure(given: dict[str, Value], ranks: int = 2) -> str:
    [record] = measure(faulty(), ("gpu.collective", given), ranks=ranks)
    assert record.status == "failed"
    return record.error or ""


def test_a_missing_or_old_library_is_one_sentence(
    cuda: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("libcuda.so.1", "libnvrtc.so.12"):
        (tmp_path / name).symlink_to(cuda / name)
    with cuda_in(tmp_path, monkeypatch, "devices:2"):
        assert failure({"backend": "cuda"}).startswith("NCCL: libnccl.so.2 is missing; ")
        subprocess.run(
            ["c++", "-shared", "-fPIC", "-x", "c++", "-", "-o", str(tmp_path / "libnccl.so.2")],
            input="".join(
                f'extern "C" int nccl{name}() {{ return 0; }}'
                for name in (
                    *("GetVersion", "GetUniqueId", "GetErrorString", "CommInitRank"),
                    *("CommDestroy", "CommAbort", "CommGetAsyncError", "AllReduce", "AllGather"),
                    *("ReduceScatter", "GroupStart", "GroupEnd"),
                )
            ),
            text=True,
            check=True,
        )
        said = failure({"backend": "cuda"})
    assert said == "libnccl.so.2 is too old: it lacks ncclSend; install a newer version"


@needs_opencl
def test_opencl_has_no_collectives() -> None:
    said = failure({"backend": "opencl", "device": 0})
    assert said == (
        "collectives between devices need NCCL (CUDA) or RCCL (HIP); the backend 'opencl' has none"
    )


def test_sizes_are_chosen_and_checked(cuda: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with cuda_in(cuda, monkeypatch, "devices:3"):
        said = failure({"bytes": 64, "backend": "cuda"}, ranks=3)
    assert said == "parameter 'bytes' must be a multiple of 12: an element for each rank"
    given = {"op": "allreduce", "bytes": 64, "type": "float"}
    assert KERNEL.check is not None and KERNEL.check(given, Placement(1, 2, 1)) is None
    assert "use a multiple of 12" in (KERNEL.check(given, Placement(1, 3, 1)) or "")
    chosen = KERNEL.work({**given, "bytes": 0}, 3, 1)["bytes"]
    assert chosen % 12 == 0 and (1 << 26) - 12 < chosen <= 1 << 26


def test_bandwidths_are_those_of_the_published_definition() -> None:
    given = {"bytes": 800, "type": "float"}
    assert KERNEL.work({**given, "op": "allreduce"}, 4, 1) == {"bytes": 800, "bus_bytes": 1200}
    for op in ("allgather", "reduce_scatter", "alltoall"):
        assert KERNEL.work({**given, "op": op}, 4, 1) == {"bytes": 800, "bus_bytes": 600}
