"""The order in which cells are measured: randomised blocks, one replicate of every cell each.

Blocks spread drift and disturbances evenly over all cells (Hoefler & Belli, SC15, rule 5 and
section 4.1.1; Fisher's randomised blocks). Cells with equal toolchain, placement and
level of thread support share a launch.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection

import msgspec

from assay.kernels import needs_thread_multiple
from assay.model.cell import Cell
from assay.model.plan import Plan


def block_order(plan: Plan, replicate: int, pending: Collection[str]) -> list[list[Cell]]:
    """The pending cells (by id) of one replicate: launches in order, and the cells in each.

    Launches and the cells in them are shuffled. The position of each depends only on the plan's
    seed, the replicate and its own content, so that the rest of an interrupted block is measured in
    its original order, on any machine and Python.
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


# Fields of a placement that are always part of a launch's key.
_IN_KEYS = ("nodes", "ppn", "threads", "order", "binding", "adapter", "node_set")


def _launch_key(cell: Cell) -> bytes:
    """The key of a launch. Adding a field to ``Placement`` does not change existing orders.

    The level of thread support is chosen for a whole launch, and a higher one slows messages.
    """
    key = msgspec.json.encode((cell.toolchain, cell.placement.content(_IN_KEYS)))
    multiple = needs_thread_multiple(cell.kernel, cell.placement.threads)
    return key + b"MPI_THREAD_MULTIPLE" if multiple else key


def _place(seed: int, replicate: int, content: bytes) -> bytes:
    """A digest to sort by. Sorting by independent uniform keys is a uniform shuffle."""
    return hashlib.sha256(b"%d/%d/" % (seed, replicate) + content).digest()
