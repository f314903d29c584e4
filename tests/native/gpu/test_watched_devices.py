"""The state of a device while it is measured: a CUDA and an NVML that run on the processor."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.records.schema import MeasurementRecord
from devices import build_fake_cuda, cuda_in
from fake_devices import build_library
from kernel_runs import faulty, measure

pytestmark = [pytest.mark.slow]

ORDER = ("gpu.stream", {"op": "triad", "elements": 5001, "backend": "cuda"})
NAMES = {
    "device_clock", "device_memory_clock", "device_power", "device_temperature",
    "device_throttled", "device_ecc_uncorrected", "device_xid", "device_energy",
    "device_energy_error",
}  # fmt: skip


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_library("fake_nvml", build_fake_cuda(tmp_path_factory.mktemp("cuda")))


def watched(
    folder: Path, monkeypatch: pytest.MonkeyPatch, fault: str = "", ranks: int = 1
) -> MeasurementRecord:
    with cuda_in(folder, monkeypatch, f"devices:{ranks}"):
        monkeypatch.setenv("FAKE_NVML", fault)
        [record] = measure(faulty(), ORDER, ranks=ranks)
    assert record.status == "ok", record.error
    return record


def test_a_healthy_device(libraries: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = watched(libraries, monkeypatch)
    found = record.covariates
    assert found.keys() >= NAMES
    assert found["device_clock"] == 1.98e9 and found["device_memory_clock"] == 2.619e9
    assert found["device_power"] == 250.0 and found["device_temperature"] == 45.0
    assert found["device_throttled"] == found["device_ecc_uncorrected"] == found["device_xid"] == 0
    assert record.facts["device_energy_source"] == "counter"
    assert int(record.facts["device_readings"]) >= 2
    assert not record.facts.keys() & {"device_throttle_reasons", "device_xids"}
    # The device counts 250 J a second, in thousandths of a joule.
    least = 250.0 * (found["sampling_seconds"] or 0.0)
    assert least - 0.002 <= (found["device_energy"] or 0.0) <= 250.0 * record.wall + 0.002
    assert found["device_energy_error"] == pytest.approx(25.0)


def test_power_is_integrated_without_a_counter(
    libraries: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = watched(libraries, monkeypatch, "counter")
    found = record.covariates
    assert record.facts["device_energy_source"] == "power"
    least = 250.0 * (found["sampling_seconds"] or 0.0)
    assert least <= (found["device_energy"] or 0.0) <= 250.0 * record.wall
    assert found["device_energy_error"] == pytest.approx(25.0)  # the power is constant


def test_throttling_has_its_reasons(libraries: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = watched(libraries, monkeypatch, "throttle")
    assert record.covariates["device_throttled"] == 1.0
    assert record.covariates["device_clock"] == 9.9e8
    assert record.covariates["device_temperature"] == 91.0
    reasons = "power limit, temperature (hardware)"
    assert record.facts["device_throttle_reasons"] == reasons


def test_errors_are_counted(libraries: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = watched(libraries, monkeypatch, "ecc")
    assert (record.covariates["device_ecc_uncorrected"] or 0) >= 1
    assert record.covariates["device_xid"] == 0


def test_errors_of_the_driver_are_counted_and_named(
    libraries: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = watched(libraries, monkeypatch, "xid")
    # The first event is one of the time before, which isn't counted.
    assert record.covariates["device_xid"] == 1
    assert record.facts["device_xids"] == "31"


def test_two_ranks_watch_their_own_devices(
    libraries: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = watched(libraries, monkeypatch, "throttle", ranks=2)
    assert record.covariates["device_power"] == 500.0
    assert record.covariates["device_clock"] == 9.9e8  # of the slower one
    assert record.covariates["device_energy_error"] == pytest.approx(50.0)


def test_a_driver_that_hangs_leaves_values_unknown(
    libraries: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = watched(libraries, monkeypatch, "hang")
    assert record.verified
    assert all(record.covariates[name] is None for name in NAMES)


def test_an_old_or_missing_library_leaves_values_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = build_fake_cuda(tmp_path)
    record = watched(folder, monkeypatch)
    assert record.verified and all(record.covariates[name] is None for name in NAMES)
    record = watched(build_library("fake_nvml", folder, old=True), monkeypatch)
    assert record.covariates["device_power"] == 250.0
    assert record.facts["device_energy_source"] == "power"
