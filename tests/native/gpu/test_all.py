"""gpu.all: each device alone and all at once, by a CUDA that runs on the processor."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.kernels import find_kernel
from assay.model.placement import Placement, Value
from assay.records.schema import MeasurementRecord
from devices import build_fake_cublaslt, build_fake_cuda, cuda_in, needs_opencl
from kernel_runs import assert_verified, faulty, measure

pytestmark = [pytest.mark.slow]

KERNEL = find_kernel("gpu.all")
OPERATIONS = ("stream", "gemm", "to device", "to host")


@pytest.fixture(scope="module")
def cuda(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = build_fake_cuda(tmp_path_factory.mktemp("cuda"))
    build_fake_cublaslt(folder)
    return folder


def run(ranks: int, *given: dict[str, Value]) -> list[MeasurementRecord]:
    orders = [("gpu.all", {"bytes": 40008, "backend": "cuda", **each}) for each in given]
    return measure(faulty(), *orders, ranks=ranks)


def assert_compared(record: MeasurementRecord, ranks: int) -> None:
    assert_verified(record)
    series = {each.metric: each.values for each in record.series if each.rank is None}
    assert len(series["alone"]) == len(series["slowdown"]) == len(series["time"])
    assert all(value > 0 for name in ("alone", "slowdown") for value in series[name])
    for metric in ("rank_alone", "rank_together"):
        of_ranks = {s.rank: s.values for s in record.series if s.metric == metric}
        assert sorted(of_ranks) == [*range(ranks)]  # type: ignore[type-var]
        assert all(len(values) == 1 and values[0] > 0 for values in of_ranks.values())


def test_each_device_works_alone_and_beside_the_others(
    cuda: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with cuda_in(cuda, monkeypatch, "devices:3"):
        for ranks in (2, 3):
            for record in run(ranks, *({"op": op} for op in OPERATIONS)):
                assert_compared(record, ranks)
                assert record.facts["ranks_of_node"] == ranks


@needs_opencl
def test_opencl_devices_are_compared_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POCL_DEVICES", "pthread pthread")
    for record in run(2, *({"op": op, "backend": "opencl"} for op in OPERATIONS)):
        assert_compared(record, 2)


def test_wrong_results_are_found(cuda: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[dict[str, Value]] = [{"op": op, "fault": "value"} for op in OPERATIONS]
    with cuda_in(cuda, monkeypatch, "devices:2"):
        for case, record in zip(given, run(2, *given), strict=True):
            assert (record.status, record.verified) == ("ok", False), (case, record.error)


def test_a_lost_device_is_one_sentence_of_all_ranks(
    cuda: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with cuda_in(cuda, monkeypatch, "devices:2,lost:1,of:1"):
        [filling] = run(2, {})
    with cuda_in(cuda, monkeypatch, "devices:2"):
        sampling = run(2, {"fault": "alone"}, {"fault": "together"}, {})
    assert (filling.status, filling.error) == (
        "failed",
        "rank 1: launching a kernel failed: CUDA says CUDA_ERROR_ECC_UNCORRECTABLE (214)",
    )
    assert [each.error for each in sampling] == [*["rank 1: the device is lost"] * 2, None]


def test_one_rank_and_parts_of_words_are_refused(
    cuda: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with cuda_in(cuda, monkeypatch):
        [record] = run(1, {})
    assert record.error == "gpu.all needs at least 2 ranks"
    given = {"op": "stream", "bytes": 80}
    assert KERNEL.work(given, 3, 1) == {"bytes": 720.0, "whole": 1.0}
    assert KERNEL.work({**given, "op": "gemm"}, 3, 1) == {"bytes": 720.0, "whole": 1.0}
    assert KERNEL.work({**given, "op": "to host"}, 3, 1) == {"bytes": 240.0, "whole": 1.0}
    assert KERNEL.check is not None and KERNEL.check(given, Placement(1, 2, 1)) is None
    assert "whole words" in (KERNEL.check({**given, "bytes": 12}, Placement(1, 2, 1)) or "")
