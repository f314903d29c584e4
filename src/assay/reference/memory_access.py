"""What others found when all processors of a node used its memory at once."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SharedMemoryRatio:
    """Times with two processes on a node over times with one: lowest and highest of all strides."""

    machine: str
    low: float
    high: float

    def __str__(self) -> str:
        span = f"{self.low:g}" if self.low == self.high else f"{self.low:g} to {self.high:g}"
        return f"{self.machine} {span}"


# G. R. Luecke, Y. Li, M. Cuma: Using nodes in a cluster efficiently (2005), section 4.2. Xeon:
# dual 2.8 GHz; Opteron: dual 1.4 GHz. (For random reads on the Opteron it gives 1.06, from times
# of 6.36 ms and 6.02 ms, of which the quotient is 1.06 the other way round.)
SOURCE = "Luecke, Li & Cuma, 4.2"
_UNIFORM = (SharedMemoryRatio("Xeon", 1.8, 2.0), SharedMemoryRatio("Opteron", 1.0, 1.01))
_STREAMS = (SharedMemoryRatio("Xeon", 1.7, 2.0), SharedMemoryRatio("Opteron", 1.0, 1.04))
STRIDED_RATIOS: dict[str, tuple[SharedMemoryRatio, ...]] = {
    "read": _UNIFORM,
    "write": _UNIFORM,
    "copy": _STREAMS,
    "scale": _STREAMS,
    "sum": _STREAMS,
    "triad": _STREAMS,
}
RANDOM_RATIOS: dict[str, tuple[SharedMemoryRatio, ...]] = {
    "read": (SharedMemoryRatio("Xeon", 1.7, 1.7), SharedMemoryRatio("Opteron", 1.06, 1.06)),
    "write": (SharedMemoryRatio("Xeon", 1.74, 1.74), SharedMemoryRatio("Opteron", 1.03, 1.03)),
}
