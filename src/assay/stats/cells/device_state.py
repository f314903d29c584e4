"""The state of accelerators while a cell was measured: caveats, and the energy of one execution."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from assay.records.model import Measurement
from assay.records.schema import MeasurementRecord
from assay.stats.core.intervals import median_interval
from assay.stats.core.model import DeviceEnergy
from assay.units import counted


def device_caveats(measurements: Sequence[Measurement]) -> Iterator[str]:
    """Devices that were throttled or had errors, and ranks far from their device."""
    spans = [
        (share, m.record.covariates.get("sampling_seconds") or m.record.wall)
        for m in measurements
        if (share := m.record.covariates.get("device_throttled")) is not None
    ]
    seconds = sum(span for _, span in spans)
    throttled = sum(share * span for share, span in spans) / seconds if seconds > 0.0 else 0.0
    if throttled > 0.0:
        why = _texts(measurements, "device_throttle_reasons")
        yield (
            f"A device was throttled during {100 * throttled:.3g}% of the measurement"
            f"{f' ({why})' if why else ''}: it ran below its clock."
        )
    errors = _sum(measurements, "device_ecc_uncorrected")
    if errors > 0:
        yield (
            f"Don't trust this cell: {counted(round(errors), 'uncorrected error')} of device "
            "memory happened during the measurement."
        )
    xids = _sum(measurements, "device_xid")
    if xids > 0:
        numbers = _texts(measurements, "device_xids")
        yield (
            f"Don't trust this cell: the driver reported {counted(round(xids), 'error')} of a "
            f"device during the measurement{f' (XID {numbers})' if numbers else ''}."
        )
    far = _texts(measurements, "far_from_device")
    if far:
        noun = "The CPUs of ranks" if "," in far else "The CPUs of rank"
        yield (
            f"{noun} {far} aren't near the device that they use: transfers pass through another "
            "NUMA node. binding = near-device avoids this."
        )


def _sum(measurements: Sequence[Measurement], covariate: str) -> float:
    """A counted covariate over all launches; 0 if unknown."""
    return sum(m.record.covariates.get(covariate) or 0.0 for m in measurements)


def _texts(measurements: Sequence[Measurement], fact: str) -> str:
    """The parts of a fact over all launches, each once, in their order."""
    parts = [
        part
        for m in measurements
        if isinstance(text := m.record.facts.get(fact), str)
        for part in text.split(", ")
    ]
    return ", ".join(dict.fromkeys(parts))


def device_energy(
    launches: Sequence[tuple[MeasurementRecord, float | None]],
) -> DeviceEnergy | None:
    """The energy of one operation, from records with the time of one operation (s).

    The devices' energy during sampling is divided by the span of sampling and multiplied by that
    time, as for processors. None unless all launches recorded it.
    """
    values: list[float] = []
    errors: list[float] = []
    for record, seconds in launches:
        energy = record.covariates.get("device_energy")
        error = record.covariates.get("device_energy_error")
        span = record.covariates.get("sampling_seconds")
        if energy is None or error is None or not span or seconds is None:
            return None
        values.append(energy / span * seconds)
        errors.append(error / span * seconds)
    if not values:
        return None
    counted_all = all(
        record.facts.get("device_energy_source") == "counter" for record, _ in launches
    )
    return DeviceEnergy(
        value=float(np.median(values)),
        ci95=median_interval(values),
        error=float(np.median(errors)),
        source="counter" if counted_all else "power",
        launches=len(values),
    )
