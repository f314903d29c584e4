"""The limits of accelerators: bandwidth of the memory, peak rates per type, links, power.

The table ``accelerators.toml`` states a source for every entry.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

_TABLE = Path(__file__).with_name("accelerators.toml")
# Bytes per second of one lane in one direction, by generation: transfers per second times the share
# of bits that 128b/130b encoding leaves (PCI Express Base Specification 3.0 to 5.0, 4.2.2). Headers
# of packets, whose share depends on their size, are not subtracted.
_LANE = {3: 8e9 * 128 / 130 / 8, 4: 16e9 * 128 / 130 / 8, 5: 32e9 * 128 / 130 / 8}
# A driver keeps some of the memory, and vendors count in powers of ten or two.
_MEMORY_BAND = (0.85, 1.12)
#: Types of matrix products, from the widest.
ARITHMETIC_TYPES = ("fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8")
# Types whose operations in vector units have the clock of vector operations. FP64 matrix
# operations have it, too (NVIDIA H100 Tensor Core GPU Architecture, table 2).
_VECTOR_CLOCK = ("fp64", "fp32", "fp64_vector", "fp32_vector")


@dataclass(frozen=True)
class AcceleratorModel:
    """One model, as its vendor describes it."""

    name: str
    matches: str
    #: Stated bandwidth of the memory, B/s.
    bandwidth: float
    #: Stated sizes of the memory, B.
    memory: tuple[float, ...]
    #: Document that states the numbers.
    source: str
    #: Compute units; None if they aren't published.
    units: int | None = None
    #: The same as OpenCL counts them, if it counts others.
    reported_units: int | None = None
    #: Greatest clock of vector operations, Hz.
    clock: float | None = None
    #: Greatest clock of matrix operations, Hz; None if it is the same.
    matrix_clock: float | None = None
    #: Width of the memory's bus, bits.
    bus: int | None = None
    #: Bits per second of each line of the bus.
    data_rate: float | None = None
    #: Generation and lanes of the PCIe link to the host.
    pcie: tuple[int, int] | None = None
    #: Another link to the host, B/s in one direction.
    host_link: float | None = None
    host_link_name: str = ""
    #: Links between devices, B/s, both directions together.
    link: float | None = None
    link_name: str = ""
    #: Power limit, W.
    power: float | None = None
    architecture: str = ""
    #: Operations per clock and unit, dense, by type.
    ops: Mapping[str, float] = field(default_factory=dict)
    #: Stated peaks, op/s, dense, by type.
    stated: Mapping[str, float] = field(default_factory=dict)

    def greatest_clock(self, kind: str) -> float | None:
        """The greatest clock at which operations of a type run, Hz; None if unknown."""
        if kind in _VECTOR_CLOCK or self.matrix_clock is None:
            return self.clock
        return self.matrix_clock

    def peak(self, kind: str, clock: float | None = None) -> float | None:
        """The peak of a type in op/s, at a measured ``clock`` in Hz or the greatest one.

        Units x clock x operations per clock where these are published. A stated peak is returned
        unchanged if they are not, since its clock is unknown. None if neither is published.
        """
        at = clock or self.greatest_clock(kind)
        if self.units and at and kind in self.ops:
            return self.units * at * self.ops[kind]
        return self.stated.get(kind)

    def scales(self, kind: str) -> bool:
        """Whether the peak of a type depends on the clock."""
        return bool(self.units and self.greatest_clock(kind) and kind in self.ops)

    def whole(self, units: int | None) -> bool:
        """Whether a device with this number of units is the whole model, and not a part of it."""
        return units is None or self.units is None or units in (self.units, self.reported_units)


@cache
def accelerators() -> tuple[AcceleratorModel, ...]:
    """All entries, in the order in which they are tried."""
    import tomllib

    entries = tomllib.loads(_TABLE.read_text(encoding="utf-8"))["entry"]
    return tuple(_entry(table) for table in entries)


def _entry(table: Mapping[str, Any]) -> AcceleratorModel:
    pairs = ("pcie", "memory")
    given: dict[str, Any] = {k: tuple(v) if k in pairs else v for k, v in table.items()}
    return AcceleratorModel(**given)


def identify(
    name: str, units: int | None = None, memory: float | None = None
) -> AcceleratorModel | None:
    """The model of a device; None if the table lacks it, or if the device is a part of one.

    ``name`` as CUDA, HIP, OpenCL or NVML reports it, ``units``: its compute units, ``memory``: its
    memory in bytes. OpenCL on AMD's devices reports the instruction set (``gfx90a:sramecc+``);
    units and memory then decide.
    """
    for entry in accelerators():
        if re.fullmatch(entry.matches, name.strip()):
            return entry if entry.whole(units) else None
    architecture = name.strip().partition(":")[0]
    found = [
        entry
        for entry in accelerators()
        if entry.architecture
        and entry.architecture == architecture
        and units == entry.units
        and _as_large(memory, entry)
    ]
    return found[0] if len(found) == 1 else None


def _as_large(memory: float | None, entry: AcceleratorModel) -> bool:
    low, high = _MEMORY_BAND
    return memory is not None and any(low * size <= memory <= high * size for size in entry.memory)


def pcie_bandwidth(generation: int, lanes: int) -> float | None:
    """Bytes per second of a PCIe link in one direction; None for an unknown generation.

    Transfers per second and encoding; headers of packets are included.
    """
    lane = _LANE.get(generation)
    return None if lane is None else lane * lanes
