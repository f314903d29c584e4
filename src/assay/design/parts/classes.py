"""Rates of a class of the NPB from another class of the same kernel."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping

from assay.design.figures import UNCERTAINTY, PartFigure
from assay.design.parts.model import Node

# Classes by size. Smaller ones fit into caches, so their rates say little about others.
_CLASSES = "ABCDEF"
# Standard deviation of the logarithm of the ratio of the rates of neighbouring classes: an
# assumption.
_PER_CLASS = math.log1p(UNCERTAINTY["assumed"]) / 1.959963984540054


def with_borrowed_rates(nodes: Mapping[str, Node], workloads: Iterable[str]) -> dict[str, Node]:
    """The nodes, with missing rates of NPB's classes from the nearest class of the same kernel.

    Operations per second vary little between classes that don't fit into caches. A borrowed rate
    is assumed, and its uncertainty grows with the distance of the classes.
    """
    wanted = [name.split(".") for name in workloads if name.startswith("npb.")]
    found = dict(nodes)
    for _, kernel, problem in wanted:
        for name, node in found.items():
            figure = _borrowed(node, kernel, problem)
            if figure is not None:
                rates = {**node.rates, f"npb.{kernel}.{problem}": figure}
                found[name] = dataclasses.replace(node, rates=rates)
    return found


def borrowed_from(figure: PartFigure) -> str:
    """The workload whose rate was borrowed; "" if the rate is the workload's own."""
    return figure.source.removeprefix(_SOURCE) if figure.source.startswith(_SOURCE) else ""


_SOURCE = "rate of "


def _borrowed(node: Node, kernel: str, problem: str) -> PartFigure | None:
    """The rate of the nearest class, of two the larger; None if there is none or none is needed."""
    if f"npb.{kernel}.{problem}" in node.rates or problem not in _CLASSES:
        return None
    known = [one for one in _CLASSES if f"npb.{kernel}.{one}" in node.rates]
    if not known:
        return None
    place = _CLASSES.index(problem)
    nearest = min(known, key=lambda one: (abs(_CLASSES.index(one) - place), -_CLASSES.index(one)))
    other = f"npb.{kernel}.{nearest}"
    figure = node.rates[other]
    steps = abs(_CLASSES.index(nearest) - place)
    return dataclasses.replace(
        figure,
        spread=math.hypot(figure.spread, steps * _PER_CLASS),
        kind="assumed",
        source=f"{_SOURCE}{other}",
    )
