"""Checks of a catalogue's figures against each other: impossible parts are refused."""

from __future__ import annotations

from assay.design.figures import PartFigure
from assay.design.parts import Catalogue, Node, Switch
from assay.errors import AssayError
from assay.units import format_quantity

# Clock rates, and so peaks, are known to within a few percent.
_ABOVE_PEAK = 1.05
# Benchmarks whose operations are floating-point operations, which the peak limits.
_FLOATING = ("npb.bt.", "npb.cg.", "npb.ft.", "npb.lu.", "npb.mg.", "npb.sp.")


def check_figures(catalogue: Catalogue) -> None:
    """Raises AssayError, with file and line, for a part that can't exist.

    A node's DGEMM and floating-point benchmarks must not exceed its peak. Nodes and switches must
    fit in a rack.
    """
    for node in catalogue.nodes.values():
        _check_rate(node, "DGEMM rate", node.dgemm)
        for name, rate in node.rates.items():
            if name.startswith(_FLOATING):
                _check_rate(node, f"rate of {name}", rate)
    units = catalogue.room.rack_units
    tall: list[Node | Switch] = [*catalogue.nodes.values(), *catalogue.switches.values()]
    for part in tall:
        if part.units > units:
            raise AssayError(
                f"'{part.name}' is {part.units:g} units high, but a rack has {units:g}.",
                where=part.price.where,
                fix="Correct units of the part, or rack_units of [room].",
            )


def _check_rate(node: Node, what: str, rate: PartFigure) -> None:
    if rate.value > _ABOVE_PEAK * node.peak.value:
        raise AssayError(
            f"The {what} of '{node.name}' is {rate.value / node.peak.value:.2g} times its peak "
            f"({format_quantity(rate.value, 'op/s')} of "
            f"{format_quantity(node.peak.value, 'flop/s')}).",
            where=rate.where,
            fix="Correct one of the two; both are rates of the whole node.",
        )
