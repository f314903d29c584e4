"""Devices of an imported run beside each other: cells that differ only in node and device."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from assay.kernels.naming import parameters_text
from assay.questions.common.tables import Column, Entry, Table
from assay.stats.core.model import CellSummary
from assay.subjects.nodes.by_node import by_node, gains
from assay.subjects.nodes.model import MeasuredNode
from assay.units import format_change

# Parameters that say which device a cell is about. Ranks of SuperBench drive a device each.
_PLACE = ("node", "device", "rank")


def device_table(cells: Sequence[CellSummary]) -> Table | None:
    """Each device or node against the median of all, over the cells that they have in common.

    None with fewer than two of them.
    """
    of: dict[str, list[CellSummary]] = {}
    hosts: dict[str, str | None] = {}
    for cell in cells:
        place = {
            name: cell.cell.parameters[name] for name in _PLACE if name in cell.cell.parameters
        }
        if not place or "peer" in cell.cell.parameters:
            continue
        name = ", ".join(f"{key} {value}" for key, value in place.items())
        rest = {n: v for n, v in cell.cell.parameters.items() if n not in place}
        plain = msgspec.structs.replace(cell.cell, parameters=rest)
        summary = msgspec.structs.replace(cell, cell=plain, id=plain.id)
        of.setdefault(name, []).append(summary)
        hosts[name] = str(place["node"]) if "node" in place else None
    nodes = [
        MeasuredNode(name, number, summaries, host=hosts[name])
        for number, (name, summaries) in enumerate(of.items())
    ]
    common = by_node(nodes)
    found = gains(common)
    # The placement of an imported cell is unknown.
    names = {each.label: f"{each.cell.kernel} {parameters_text(each.cell)}" for each in common}
    if len(found) < 2:
        return None
    return Table(
        id="imported-devices",
        title="Devices side by side",
        caption="Each device (or node) against the median of all, over the cells that at least two "
        "of them have; the slowest first. Single numbers have no uncertainty: a difference may be "
        "chance.",
        columns=[
            Column("device", "Device"),
            Column("cells", "Cells", numeric=True),
            Column("gain", "Median difference", numeric=True),
            Column("worst", "Worst cell"),
            Column("worst_gain", "there", numeric=True),
        ],
        rows=[
            [
                Entry(each.node),
                Entry(str(each.cells), each.cells),
                Entry(format_change(each.gain), each.gain),
                Entry(names[each.worst]),
                Entry(format_change(each.worst_gain), each.worst_gain),
            ]
            for each in found
        ],
    )
