"""gpu.peer: copies between devices, by a CUDA and an OpenCL that run on the processor."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.kernels import find_kernel
from assay.model.placement import Placement, Value
from assay.records.schema import MeasurementRecord
from devices import build_fake_cuda, cuda_in, needs_opencl
from kernel_runs import assert_verified, faulty, measure

pytestmark = [pytest.mark.slow]

PEER = find_kernel("gpu.peer")
# Two pieces of the host's memory and a part of a third.
BYTES = (8 << 20) + 4104


@pytest.fixture(scope="module")
def cuda(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_fake_cuda(tmp_path_factory.mktemp("cuda"))


@pytest.fixture(params=[pytest.param("opencl", marks=needs_opencl), "cuda"])
def backend(
    request: pytest.FixtureRequest, cuda: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """A backend with three devices; those of OpenCL are one processor, three times."""
    monkeypatch.setenv("POCL_DEVICES", "pthread pthread pthread")
    with cuda_in(cuda, monkeypatch, "devices:3"):
        yield request.param


def run(backend: str, *given: dict[str, Value]) -> list[MeasurementRecord]:
    orders = [("gpu.peer", {"bytes": BYTES, "backend": backend, **each}) for each in given]
    return measure(faulty(), *orders)


def pairs_of(record: MeasurementRecord, metric: str = "pair") -> list[tuple[int, int]]:
    return [(s.rank, s.peer) for s in record.series if s.metric == metric]  # type: ignore[misc]


def test_each_pair_is_measured_in_each_direction_and_verified(backend: str) -> None:
    one, both, named = run(backend, {}, {"direction": "both"}, {"device": 1, "path": "host"})
    expected = {
        one.measurement: [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)],
        both.measurement: [(0, 1), (0, 2), (1, 2)],
        named.measurement: [(0, 1), (1, 0), (1, 2), (2, 1)],
    }
    for record in (one, both, named):
        assert_verified(record)
        wanted = expected[record.measurement]
        assert pairs_of(record) == pairs_of(record, "pair_latency") == wanted
        series = {each.metric: each.values for each in record.series if each.rank is None}
        for size in ("", "_latency"):
            typical, slowest = series["median_pair" + size], series["slowest_pair" + size]
            assert len(typical) == len(slowest) == len(series["time"])
            assert all(0 < a <= b for a, b in zip(typical, slowest, strict=True))
        names = " ".join(f"{a}-{b}" for a, b in wanted)
        direct = backend == "cuda" and record is not named
        assert record.facts["direct_pairs"] == (names if direct else "")
        assert record.facts["host_pairs"] == ("" if direct else names)
        assert record.facts["members"] == 3
    assert (one.parameters["device"], named.parameters["device"]) == (-1, 1)


def test_damaged_and_missing_words_are_found(backend: str) -> None:
    cases: list[dict[str, Value]] = [
        {"bytes": 4104, "fault": fault, "direction": direction, "path": path}
        for fault in ("word", "skip")
        for direction in ("one", "both")
        for path in ("auto", "host")
    ]
    for case, record in zip(cases, run(backend, *cases), strict=True):
        assert (record.status, record.verified) == ("ok", False), (case, record.error)


def failure(given: dict[str, Value], ranks: int = 1) -> str:
    [record] = measure(faulty(), ("gpu.peer", {"bytes": 64, **given}), ranks=ranks)
    assert record.status == "failed"
    return record.error or ""


def test_what_cannot_be_measured_is_one_sentence(
    cuda: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with cuda_in(cuda, monkeypatch):
        assert failure({"backend": "cuda"}) == (
            "gpu.peer needs at least 2 devices; this node has one: Fake device 0"
        )
    with cuda_in(cuda, monkeypatch, "devices:2,apart"):
        assert failure({"backend": "cuda", "path": "direct"}) == (
            "device 0 (Fake device 0) can't reach the memory of device 1; "
            "use path=auto or path=host"
        )
        assert "gpu.peer needs one rank" in failure({"backend": "cuda"}, ranks=2)
        [record] = run("cuda", {})
        assert_verified(record)
        assert record.facts["host_pairs"] == "0-1 1-0"
    with cuda_in(cuda, monkeypatch, "devices:2,memory"):
        assert "CUDA_ERROR_OUT_OF_MEMORY" in failure({"backend": "cuda"})


def test_a_plan_knows_work_and_memory_and_refuses_parts_of_words() -> None:
    given = {"bytes": 64, "direction": "one"}
    assert PEER.work(given, 1, 1) == {"bytes": 64.0}
    assert PEER.work({**given, "direction": "both"}, 1, 1) == {"bytes": 128.0}
    assert PEER.memory is not None and PEER.memory({**given, "bytes": 1 << 30}, 1, 1) > 2 << 30
    assert PEER.check is not None and PEER.check(given, Placement(1, 1, 1)) is None
    assert "whole words" in (PEER.check({**given, "bytes": 12}, Placement(1, 1, 1)) or "")
