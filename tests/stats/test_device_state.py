"""What is said about the state of accelerators, and the energy of one operation."""

from __future__ import annotations

import pytest

from assay.records.model import Measurement
from assay.records.schema import MeasurementRecord
from assay.stats.cells.device_state import device_caveats, device_energy
from records_builder import make_cell


def record(source: str = "counter", **covariates: float) -> MeasurementRecord:
    return MeasurementRecord(
        "m", "gpu.stream", "ok", start=0.0, wall=4.0, parameters={},
        covariates=covariates, facts={"device_energy_source": source},
    )  # fmt: skip


def test_energy_is_power_times_the_time_of_an_operation() -> None:
    """300 W for 2 s are 600 J; an operation of 1 ms takes 0.3 J."""
    launches = [
        (record(device_energy=600.0 + more, device_energy_error=30.0, sampling_seconds=2.0), 1e-3)
        for more in (-2.0, 0.0, 2.0)
    ]
    found = device_energy(launches)
    assert found is not None
    assert (found.value, found.error) == (pytest.approx(0.3), pytest.approx(0.015))
    assert (found.source, found.launches, found.ci95) == ("counter", 3, None)
    integrated = record(
        "power", device_energy=600.0, device_energy_error=90.0, sampling_seconds=2.0
    )
    found = device_energy([*launches, (integrated, 1e-3)])
    assert found is not None and found.source == "power"


def test_energy_is_unknown_unless_each_launch_has_it() -> None:
    known = record(device_energy=600.0, device_energy_error=30.0, sampling_seconds=2.0)
    assert device_energy([]) is None
    assert device_energy([(known, 1e-3), (record(sampling_seconds=2.0), 1e-3)]) is None
    assert device_energy([(known, None)]) is None


def test_throttling_is_weighted_by_time() -> None:
    """Throttled all the time in 1 of 4 s."""
    found = [
        Measurement(make_cell("gpu.stream"), 0, str(place), 0.0, each, clock=None, ranks=())
        for place, each in enumerate(
            (
                record(device_throttled=1.0, sampling_seconds=1.0),
                record(device_throttled=0.0, sampling_seconds=3.0),
            )
        )
    ]
    (sentence,) = device_caveats(found)
    assert sentence.startswith("A device was throttled during 25% of the measurement")
    assert list(device_caveats(found[1:])) == []
