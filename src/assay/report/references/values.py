"""Describes a published figure: its value in readable units, processors, quantity and source."""

from __future__ import annotations

from assay.kernels.naming import kernel_code
from assay.reference.papers.model import Paper, PublishedFigure, printed_number
from assay.units import format_duration, format_quantity, format_size

# Printed units whose values are shown as durations; other times keep their digits in seconds.
_LONG_TIMES = ("day", "days", "hours")
_SCALED = ("s", "flop/s", "B/s", "Hz")


def shown_value(figure: PublishedFigure) -> str:
    """``about 27.5 MB/s per process``: the value in a fitting unit, with the printed digits."""
    text = _one(figure, figure.value, figure.si)
    if figure.upper and figure.si_upper is not None:
        upper = _one(figure, figure.upper, figure.si_upper)
        text = f"{_without_unit(text, upper)} to {upper}"
    qualified = f"{figure.bound} {text}" if figure.bound else text
    return f"{qualified} per {figure.per}" if figure.per else qualified


def printed_value(figure: PublishedFigure) -> str:
    """``220 Mbps``: number and unit as printed."""
    span = f"{figure.value} to {figure.upper}" if figure.upper else figure.value
    unit = figure.unit.lstrip("-")
    return f"{span}{unit}" if unit == "%" else f"{span} {unit}".rstrip()


def shown_processors(figure: PublishedFigure) -> str:
    """``240 (120 x 2)``: processes, and nodes x processes per node if printed."""
    if figure.processes is None:
        if figure.nodes is not None:
            return f"{figure.nodes:,} node" + ("s" if figure.nodes != 1 else "")
        return f"{figure.ppn} per node" if figure.ppn is not None else ""
    if figure.nodes is not None and figure.ppn is not None and figure.processes > 1:
        return f"{figure.processes:,} ({figure.nodes:,} × {figure.ppn})"
    return f"{figure.processes:,}"


def shown_quantity(figure: PublishedFigure) -> str:
    """The figure's quantity, kernel, size and conditions."""
    benchmark = kernel_code(figure.kernel)
    named = benchmark and benchmark not in figure.quantity.split()
    head = f"{benchmark}: {figure.quantity}" if named else figure.quantity
    return ", ".join(filter(None, (head, figure.size, figure.conditions)))


def shown_source(figure: PublishedFigure, paper: Paper) -> str:
    """``Edmundsson et al. (2004), 5.4``."""
    return f"{paper.short}, {figure.section}"


def _one(figure: PublishedFigure, printed: str, si: float) -> str:
    unit = figure.si_unit
    number = printed_number(printed)
    if unit == "1":
        return f"{number:f}%"
    if unit == "B":
        return format_size(si)
    if unit == "s" and figure.unit in _LONG_TIMES:
        return format_duration(si)
    if unit in _SCALED:
        return format_quantity(si, unit, digits=_digits(printed))
    if unit in ("USD", "SEK"):
        return f"{si:,.0f} {unit}"
    grouped = "" if figure.quantity.startswith("year") else ","
    return f"{number:{grouped}f} {unit}".rstrip()


def _digits(printed: str) -> int:
    """Number of significant digits of a printed number."""
    return max(len("".join(filter(str.isdigit, printed)).lstrip("0")), 1)


def _without_unit(low: str, high: str) -> str:
    """The lower end of a range, without its unit if the upper end has the same unit."""
    number, _, unit = low.partition(" ")
    if unit and high.endswith(f" {unit}"):
        return number
    return low.removesuffix("%") if high.endswith("%") else low
