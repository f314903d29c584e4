"""Parts that can't exist are refused with file and line."""

from __future__ import annotations

from assay.design.figures import PartFigure
from assay.design.parts.model import Accelerator, Catalogue, Node, StorageSystem, Switch
from assay.errors import AssayError
from assay.units import format_quantity

# Clock rates, and so peaks, are known to within a few percent.
_ABOVE_PEAK = 1.05
# Rates whose operations are floating-point operations of 64 bit, which the peak limits.
_FLOATING = ("npb.bt.", "npb.cg.", "npb.ft.", "npb.lu.", "npb.mg.", "npb.sp.", "fp64")


def check_figures(catalogue: Catalogue) -> None:
    """Raises AssayError, with file and line, for a part that can't exist.

    The DGEMM rate and floating-point benchmarks of a node or an accelerator must not exceed its
    peak. Nodes, switches and storage must fit in a rack.
    """
    every: tuple[Node | Accelerator, ...] = (
        *catalogue.nodes.values(),
        *catalogue.accelerators.values(),
    )
    for computing in every:
        _check_rate(computing, "DGEMM rate", computing.dgemm)
        for name, rate in computing.rates.items():
            if name.startswith(_FLOATING):
                _check_rate(computing, f"rate of {name}", rate)
    units = catalogue.room.rack_units
    tall: tuple[Node | Switch | StorageSystem, ...] = (
        *catalogue.nodes.values(),
        *catalogue.switches.values(),
        *catalogue.storage.values(),
    )
    for part in tall:
        if part.units > units:
            raise AssayError(
                f"'{part.name}' is {part.units:g} units high, but a rack has {units:g}.",
                where=part.price.where,
                fix="Correct units of the part, or rack_units of [room].",
            )


def _check_rate(part: Node | Accelerator, what: str, rate: PartFigure) -> None:
    if rate.value > _ABOVE_PEAK * part.peak.value:
        raise AssayError(
            f"The {what} of '{part.name}' is {rate.value / part.peak.value:.2g} times its peak "
            f"({format_quantity(rate.value, 'op/s')} of "
            f"{format_quantity(part.peak.value, 'flop/s')}).",
            where=rate.where,
            fix="Correct one of the two; both are rates of the whole part.",
        )
