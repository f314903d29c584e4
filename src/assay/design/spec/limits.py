"""Limits and requirements of a specification."""

from __future__ import annotations

import math

from assay.design.costs.ownership import Ownership
from assay.design.spec.model import DesignLimits, LaterLot, Requirements
from assay.design.spec.written import WrittenLater, WrittenLimits, WrittenRequirements
from assay.toml import TomlDocument
from assay.units import parse_quantity

MOST_NODES = 100_000


def read_limits(document: TomlDocument, table: object) -> DesignLimits:
    """``[limits]``. Raises AssayError, with file, line and fix."""
    written = document.read(["limits"], table, WrittenLimits)
    least, most = written.nodes
    if not 1 <= least <= most <= MOST_NODES:
        raise document.error(
            ["limits", "nodes"],
            f"Nodes can't be from {least} to {most}.",
            "Write the minimum and maximum number of nodes, such as [2, 512], at most "
            f"{MOST_NODES}.",
        )

    def limit(name: str, unit: str, missing: float) -> float:
        return _bound(document, ("limits", name), getattr(written, name), unit, missing)

    return DesignLimits(
        budget=limit("budget", "", math.inf),
        total_cost=limit("total_cost", "", math.inf),
        power=limit("power", "W", math.inf),
        floor=limit("floor", "", math.inf),
        racks=limit("racks", "", math.inf),
        memory_per_rank=limit("memory_per_rank", "B", 0.0),
        memory=limit("memory", "B", 0.0),
        accelerator_memory=limit("accelerator_memory", "B", 0.0),
        least=least,
        most=most,
    )


def read_requirements(document: TomlDocument, table: object) -> Requirements:
    """``[require]``. Raises AssayError, with file, line and fix."""
    written = document.read(["require"], table, WrittenRequirements)

    def least(name: str, unit: str) -> float:
        return _bound(document, ("require", name), getattr(written, name), unit, 0.0)

    return Requirements(
        capacity=least("capacity", "B"),
        bandwidth=least("bandwidth", "B/s"),
        inodes=least("inodes", ""),
        scratch=least("scratch", "B"),
        scratch_bandwidth=least("scratch_bandwidth", "B/s"),
    )


def read_later(
    document: TomlDocument, table: object, limits: DesignLimits, costs: Ownership | None
) -> LaterLot | None:
    """``[later]``; None if there is no second lot. Raises AssayError, with file, line and fix."""
    if table is None:
        return None
    written = document.read(["later"], table, WrittenLater)
    if not math.isfinite(limits.budget):
        raise document.error(
            ["later"], "There is no budget to divide between two lots.", "Add [limits] budget."
        )
    years = written.years if written.years is not None else costs.years if costs else None
    if years is None:
        raise document.error(
            ["later"],
            "The years after which both lots go are missing.",
            "Add years = 5, or [costs] with years.",
        )
    if not 0.0 < written.after < years <= 30.0:
        raise document.error(
            ["later", "after"],
            f"The second lot can't come after {written.after:g} of {years:g} years.",
            "Write a number above 0 and below the number of years, which is at most 30.",
        )
    factors = {}
    for name in ("prices", "rates"):
        text = getattr(written, name)
        change = float(parse_quantity(text, "1", where=document.where(["later", name])))
        if not -1.0 < change <= 10.0:
            raise document.error(
                ["later", name], f"'{name}' can't be {text}.", 'Write a change, such as "-15%".'
            )
        factors[name] = 1.0 + change
    return LaterLot(
        after=written.after,
        prices=factors["prices"],
        rates=factors["rates"],
        years=years,
    )


def _bound(
    document: TomlDocument,
    path: tuple[str, str],
    value: str | float | None,
    unit: str,
    missing: float,
) -> float:
    """A quantity above 0; ``missing`` if it is not stated."""
    if value is None:
        return missing
    name = path[1]
    shown = value if isinstance(value, str) else f"{value:g}"
    if unit and not (isinstance(value, str) and value.strip()[-1:].isalpha()):
        raise document.error(
            path, f"'{name}' has no unit: {value}.", f'Write "{shown} {unit}", if that is it.'
        )
    number = float(parse_quantity(value, unit, where=document.where(path)))
    if not 0.0 < number < math.inf:
        raise document.error(path, f"'{name}' can't be {value}.", "Write a number > 0.")
    return number
