"""The order in which cells are measured: randomised blocks, one replicate of every cell each.

A block makes drift and disturbance hit all cells alike (Hoefler & Belli, SC15, rule 5 and section
4.1.1; Fisher's randomised blocks). Cells that share toolchain and placement share one launch.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection

import msgspec

from assay.model.cell import Cell
from assay.model.plan import Plan


def block_order(plan: Plan, replicate: int, pending: Collection[str]) -> list[list[Cell]]:
    """The pending cells (by id) of one replicate: launches in order, and the cells in each.

    Launches and the cells in them are shuffled. The place of each follows from the plan's seed, the
    replicate and its own content, and from nothing else: the rest of a block that was cut short
    is measured in the order that it would have had, on any machine and Python.
    """
    wanted = frozenset(pending)
    launches: dict[bytes, list[Cell]] = {}
    for cell in plan.cells:
        if cell.id in wanted:
            launches.setdefault(_launch_key(cell), []).append(cell)
    order = sorted(launches, key=lambda key: _place(plan.seed, replicate, key))
    return [
        sorted(launches[key], key=lambda cell: _place(plan.seed, replicate, cell.id.encode()))
        for key in order
    ]


# What a placement's key has always had.
_IN_KEYS = ("nodes", "ppn", "threads", "order", "binding", "adapter", "node_set")


def _launch_key(cell: Cell) -> bytes:
    """By what launches are distinguished and shuffled; a new field changes no earlier order."""
    return msgspec.json.encode((cell.toolchain, cell.placement.content(_IN_KEYS)))


def _place(seed: int, replicate: int, content: bytes) -> bytes:
    """A digest to sort by. Sorting by independent uniform keys is a uniform shuffle."""
    return hashlib.sha256(b"%d/%d/" % (seed, replicate) + content).digest()
