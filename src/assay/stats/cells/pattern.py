"""Patterns that select cells, as in ``[[expect]]`` and in contracts: "npb.* class=A nodes=2"."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase

from assay.errors import AssayError
from assay.model.cell import Cell
from assay.stats.core.model import CellSummary
from assay.units import parse_quantity


def selects(pattern: str, cell: CellSummary) -> bool:
    """Whether a pattern selects a cell: a kernel, in which ``*``, ``?`` and ``[…]`` match other
    characters, and words that the cell's parameters and placement must match.
    """
    return selects_cell(pattern, cell.cell, cell.parameters)


def selects_cell(pattern: str, cell: Cell, resolved: Mapping[str, object] | None = None) -> bool:
    """``selects`` for a cell that has perhaps not been measured.

    ``resolved``: its parameters as the kernel resolved them.
    """
    kernel, *words = pattern.split()
    placement = cell.placement
    known: dict[str, object] = {
        **{name: getattr(placement, name) for name in placement.__struct_fields__},
        "ranks": placement.ranks,
        "toolchain": cell.toolchain,
        **cell.parameters,
        **(resolved or {}),
    }
    return fnmatchcase(cell.kernel, kernel) and all(
        name in known and _equal(known[name], value)
        for name, _, value in (word.partition("=") for word in words)
    )


def _equal(known: object, written: str) -> bool:
    """Whether a parameter has the value as written: "64KiB" is 65536."""
    if fnmatchcase(str(known), written):
        return True
    if not isinstance(known, int | float):
        return False
    try:
        return bool(parse_quantity(written) == known)
    except AssayError:
        return False
