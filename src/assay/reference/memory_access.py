"""Published slowdowns when all processors of a node use its memory at the same time."""

from __future__ import annotations

from dataclasses import dataclass

from assay.reference.papers.loading import figures_of


@dataclass(frozen=True)
class SharedMemoryRatio:
    """Time with two processes on a node over time with one: minimum and maximum over strides."""

    machine: str
    low: float
    high: float

    def __str__(self) -> str:
        span = f"{self.low:g}" if self.low == self.high else f"{self.low:g} to {self.high:g}"
        return f"{self.machine} {span}"


# Xeon: dual 2.8 GHz; Opteron: dual 1.4 GHz. For random reads on the Opteron, the printed times give
# the inverse of the printed ratio; the figure has a note.
SOURCE = "Luecke, Li & Cuma, 4.2"


def _ratios(test: str) -> tuple[SharedMemoryRatio, ...]:
    figures = figures_of("luecke-2005")
    found = [figures[f"{name}.{test}.ratio"] for name in ("hpc-class", "delicatearch")]
    return tuple(
        SharedMemoryRatio(machine, figure.si, figure.si_upper or figure.si)
        for machine, figure in zip(("Xeon", "Opteron"), found, strict=True)
    )


STRIDED_RATIOS: dict[str, tuple[SharedMemoryRatio, ...]] = {
    **dict.fromkeys(("read", "write"), _ratios("strided")),
    **dict.fromkeys(("copy", "scale", "sum", "triad"), _ratios("stream")),
}
RANDOM_RATIOS: dict[str, tuple[SharedMemoryRatio, ...]] = {
    mode: _ratios(f"random.{mode}") for mode in ("read", "write")
}
