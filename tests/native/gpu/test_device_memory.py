"""Messages from and to the memory of devices, by a CUDA whose devices have ordinary memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.kernels import find_kernel
from assay.kernels.collective import COLLECTIVES
from assay.kernels.network import MODES, ONE_SIDED
from assay.model.placement import Placement, Value
from devices import build_aware_mpi, build_fake_cuda, cuda_in, needs_opencl
from fake_devices import build_library
from kernel_runs import assert_verified, faulty, measure

pytestmark = [pytest.mark.slow]

PINGPONG, COLLECTIVE = "network.pingpong", "network.collective"
ON_DEVICE: dict[str, Value] = {"memory": "device", "backend": "cuda"}
TWO_SIDED = [mode for mode in MODES if mode not in ONE_SIDED]
Order = tuple[str, dict[str, Value]]


@pytest.fixture(scope="module")
def cuda(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_fake_cuda(tmp_path_factory.mktemp("cuda"))


@pytest.fixture(scope="module")
def aware(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_aware_mpi(tmp_path_factory.mktemp("aware"))


def test_messages_between_devices_arrive_whole(
    cuda: Path, aware: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders: list[Order] = [
        (PINGPONG, {**ON_DEVICE, "mode": mode, "bytes": size})
        for mode in (*TWO_SIDED, "partitioned")
        for size in (0, 4, 100_000)
    ]
    monkeypatch.setenv("LD_PRELOAD", str(aware))
    with cuda_in(cuda, monkeypatch, "devices:2"):
        for record in measure(faulty(), *orders, ranks=2):
            assert_verified(record)
            assert record.facts["device_name"] == "Fake device 0"
            assert record.facts["mpi_takes_devices"] == "MPIX_Query_cuda_support"
            assert (record.parameters["memory"], record.parameters["device"]) == ("device", 0)


@pytest.mark.parametrize("kernel", [PINGPONG, COLLECTIVE])
def test_the_state_of_the_devices_is_watched(
    aware: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kernel: str
) -> None:
    libraries = build_library("fake_nvml", build_fake_cuda(tmp_path))
    monkeypatch.setenv("LD_PRELOAD", str(aware))
    with cuda_in(libraries, monkeypatch, "devices:2"):
        monkeypatch.setenv("FAKE_NVML", "throttle")
        [record] = measure(faulty(), (kernel, {**ON_DEVICE, "bytes": 64}), ranks=2)
    assert_verified(record)
    assert record.covariates["device_power"] == 500.0  # of both devices
    assert record.covariates["device_clock"] == 9.9e8  # of the slower one
    assert record.covariates["device_throttled"] == 1.0
    assert record.facts["device_throttle_reasons"] == "power limit, temperature (hardware)"


def test_ranks_without_messages_need_no_device(
    cuda: Path, aware: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_PRELOAD", str(aware))
    with cuda_in(cuda, monkeypatch, "devices:2"):
        [record] = measure(faulty(), (PINGPONG, {**ON_DEVICE, "to": 1}), ranks=4)
    assert_verified(record)


def test_collectives_between_devices_are_exact(
    cuda: Path, aware: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = [op for op in COLLECTIVES if op != "barrier"]
    orders: list[Order] = [(COLLECTIVE, {**ON_DEVICE, "op": op, "bytes": 8008}) for op in named]
    orders += [(COLLECTIVE, {**ON_DEVICE, "call": "persistent", "bytes": 80})]
    monkeypatch.setenv("LD_PRELOAD", str(aware))
    with cuda_in(cuda, monkeypatch, "devices:3"):
        for record in measure(faulty(), *orders, ranks=3):
            assert_verified(record)
            assert record.facts["mpi_takes_devices"] == "MPIX_Query_cuda_support"


def test_damage_in_the_memory_of_a_device_is_found(
    cuda: Path, aware: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders: list[Order] = [
        (PINGPONG, {**ON_DEVICE, "bytes": 4104, "fault": fault}) for fault in ("byte", "short")
    ]
    orders += [
        (COLLECTIVE, {**ON_DEVICE, "bytes": 80, "fault": fault})
        for fault in ("byte", "guard", "idle")
    ]
    monkeypatch.setenv("LD_PRELOAD", str(aware))
    with cuda_in(cuda, monkeypatch, "devices:2"):
        for order, record in zip(orders, measure(faulty(), *orders, ranks=2), strict=True):
            assert (record.status, record.verified) == ("ok", False), (order, record.error)


def failure(kernel: str, given: dict[str, Value]) -> str:
    [record] = measure(faulty(), (kernel, given), ranks=2)
    assert record.status == "failed"
    return record.error or ""


@pytest.mark.parametrize("kernel", [PINGPONG, COLLECTIVE])
def test_an_mpi_that_takes_no_addresses_of_devices_is_refused(
    cuda: Path, monkeypatch: pytest.MonkeyPatch, kernel: str
) -> None:
    with cuda_in(cuda, monkeypatch, "devices:2"):
        said = failure(kernel, ON_DEVICE)
    assert said.startswith("memory = device: this MPI doesn't take memory of CUDA devices (")
    assert said.endswith("); use an MPI built for them, or memory = host")


@needs_opencl
def test_devices_without_addresses_are_refused() -> None:
    said = failure(PINGPONG, {"memory": "device", "backend": "opencl", "device": 0})
    assert said == (
        "memory = device: the backend 'opencl' gives no addresses that MPI could take; "
        "use memory = host"
    )


def test_buffers_of_the_host_ask_for_no_device() -> None:
    for record in measure(faulty(), (PINGPONG, {}), (COLLECTIVE, {}), ranks=2):
        assert_verified(record)
        assert "device_name" not in record.facts and "device" not in record.parameters


@pytest.mark.parametrize("kernel", [PINGPONG, COLLECTIVE])
def test_cells_stay_as_they_were_and_parameters_of_devices_need_one(kernel: str) -> None:
    known = find_kernel(kernel)
    for name in ("memory", "backend", "device"):
        parameter = known.parameter(name)
        assert parameter is not None and parameter.omitted
    usual: dict[str, Value] = {p.name: p.default for p in known.parameters if not p.omitted}
    two = Placement(1, 2, 1)
    assert known.check is not None
    assert known.check(usual, two) is None
    assert known.check({**usual, "memory": "device", "device": 1}, two) is None
    said = known.check({**usual, "device": 1}, two)
    assert said == "'device' belongs to memory = device: leave it out."
    without = {"mode": "put"} if kernel == PINGPONG else {"op": "barrier"}
    assert "leave memory = device out" in (
        known.check({**usual, **without, "memory": "device"}, two) or ""
    )
