"""Names of cells: of kernel and parameters, and no longer than needed to tell cells apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.kernels import parameters_text
from assay.model.cell import Cell
from assay.questions.speed.benchmarks.findings import TITLES
from assay.units import counted

# Characters of a rank order that a label shows.
_ORDER_LENGTH = 16


def code_of(cell: Cell) -> str:
    """``EP`` for npb.ep, as publications name it; empty for other kernels."""
    return TITLES.get(cell.kernel, "")


def title_of(cell: Cell) -> str:
    """``LU class W``, ``memory.stream op=triad``: kernel and parameters."""
    words = parameters_text(cell)
    if cell.kernel in TITLES:
        return f"{TITLES[cell.kernel]} {words.replace('class=', 'class ')}".rstrip()
    return f"{cell.kernel} {words}".rstrip()


def labels_of(cells: Sequence[Cell]) -> Mapping[str, str]:
    """A label for each cell, by id: what distinguishes it from the others, and no more."""
    labels: dict[str, str] = {}
    for cell in cells:
        same = [other for other in cells if other.kernel == cell.kernel]
        title = title_of(cell)
        if cell.kernel in TITLES and len({title_of(other) for other in same}) == 1:
            title = TITLES[cell.kernel]
        alike = [other for other in same if other.parameters == cell.parameters]
        equal_nodes = len({other.placement.nodes for other in alike}) == 1
        words = [
            word
            for place, word in enumerate(_placement_words(cell, equal_nodes))
            if len({_placement_words(other, equal_nodes)[place] for other in alike}) > 1
        ]
        nodes = cell.placement.nodes
        sets = {other.placement.node_set for other in alike if other.placement.nodes == nodes}
        if len(sets) > 1:
            words.append(f"node set {cell.placement.node_set}")
        labels[cell.id] = " ".join([title, *words])
    return labels


def _placement_words(cell: Cell, equal_nodes: bool) -> tuple[str, ...]:
    """Each part of a cell's placement, and its toolchain, in a few words.

    ``equal_nodes``: all cells have the same number of nodes, so that ranks imply ranks per node.
    """
    placement = cell.placement
    cut = len(placement.order) > _ORDER_LENGTH
    order = f"{placement.order[:_ORDER_LENGTH]}…" if cut else placement.order
    return (
        f"on {counted(placement.nodes, 'node')}",
        f"on {counted(placement.ranks, 'rank')}" if equal_nodes else f"{placement.ppn} per node",
        f"with {counted(placement.threads, 'thread')}",
        f"in {order} order",
        f"{placement.binding} binding",
        f"SMT {placement.smt}",
        f"over {placement.adapter or 'any adapter'}",
        f"by {cell.toolchain}",
    )
