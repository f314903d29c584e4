"""Sentences on a plan's parameters that searches settle during the run."""

from __future__ import annotations

from collections.abc import Iterable

from assay.kernels import known_kernel, left_open
from assay.model.cell import Cell
from assay.units import counted


def searched(cells: Iterable[Cell]) -> list[str]:
    """A sentence for each kernel with open parameters: settled by a search, or by the kernel."""
    cells = list(cells)
    searches = {(c.kernel, c.toolchain, c.placement) for c in cells}
    sentences: dict[str, None] = {}
    for cell in cells:
        kernel = known_kernel(cell.kernel)
        names = left_open(cell)
        if kernel is None or kernel.settled_by is None or not names:
            continue
        what = ", ".join(names[:-1]) + " and " + names[-1] if len(names) > 1 else names[0]
        if (kernel.settled_by, cell.toolchain, cell.placement) in searches:
            sentences.setdefault(f"{cell.kernel}: {what} by {kernel.settled_by}.")
        else:
            ranks = cell.placement.ranks
            sentences.setdefault(
                f"{cell.kernel} on {counted(ranks, 'rank')}: {what} chosen by the kernel, "
                f"since there is no {kernel.settled_by} at that placement."
            )
    return list(sentences)
