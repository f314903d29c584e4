"""The devices of a node, each compared with what is usual in its slot.

Devices are compared as cores are, by the slowest one. Slots may differ by themselves, such as in
the way to the host's memory, so that each device is first put on the terms of the median slot.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec

from assay.check.baseline.model import DeviceSlots
from assay.check.model import Reading


def levelled_round(found: Mapping[str, Reading], slots: DeviceSlots | None) -> dict[str, Reading]:
    """The readings, those of devices as if all slots were alike."""
    return {name: levelled(reading, slots) for name, reading in found.items()}


def levelled(reading: Reading, slots: DeviceSlots | None) -> Reading:
    """A reading of devices as if all slots were alike; another one as it is."""
    shifts = slots.shifts.get(reading.component, []) if slots is not None else []
    if len(shifts) != len(reading.values):
        return reading
    # Components of devices are rates: a cost is minus a logarithm.
    values = [value * math.exp(shift) for value, shift in zip(reading.values, shifts, strict=True)]
    return msgspec.structs.replace(reading, values=values)


def slot_shift(slots: DeviceSlots | None, component: str, device: int | None) -> float:
    """How much slower a device of this slot usually is, as a difference of costs."""
    shifts = slots.shifts.get(component, []) if slots is not None else []
    return shifts[device] if device is not None and device < len(shifts) else 0.0
