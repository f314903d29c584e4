"""Runs with varied placements, for several tests."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import msgspec

from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.model.plan import Plan, Search
from assay.model.replication import Replication
from assay.records.model import RunData
from report_builder import make_measurement, make_run

# Six launches, so that there are intervals; one percent between slowest and fastest.
SPREAD = (1.0, 1.004, 0.998, 1.002, 0.996, 1.001)


def cell(kernel: str, nodes: int = 1, ppn: int = 1, threads: int = 1, **placement: str) -> Cell:
    return Cell(kernel, {"class": "S"}, Placement(nodes, ppn, threads, **placement), "embedded")


def run_of(
    cells: Sequence[Cell],
    time: Callable[[Cell], float],
    searched: Sequence[Cell] = (),
    untried: Sequence[Cell] = (),
    **changes: object,
) -> RunData:
    """A finished run of the cells; ``searched``: cells that only the search requested."""
    measurements = [
        make_measurement(one, [time(one) * factor], replicate)
        for one in cells
        if one not in untried
        for replicate, factor in enumerate(SPREAD)
    ]
    run = make_run([], measurements=measurements, launches=[])
    plan = Plan(
        name="placement",
        title="Placement",
        cells=tuple(cells),
        replication=Replication(),
        seed=1,
        search=Search(tuple(one.id for one in cells), tuple(one.id for one in searched))
        if searched
        else None,
    )
    manifest = msgspec.structs.replace(run.manifest, plan=plan)
    return dataclasses.replace(run, manifest=manifest, **changes)


PLAIN = [cell("npb.cg", 1, ppn) for ppn in (1, 2, 4)]


THREADED = [cell("npb.cg", 1, ppn, 4 // ppn) for ppn in (1, 2)]


SPREAD_OUT = [cell("npb.cg", 1, 2, 1, binding="spread")]


def cg(one: Cell) -> float:
    """Best with 2 ranks × 2 threads: 0.1 s; 4 ranks take 0.2 s, one takes 0.4 s."""
    place = one.placement
    times = {(1, 1): 0.4, (2, 1): 0.25, (4, 1): 0.2, (1, 4): 0.3, (2, 2): 0.1}
    return times[place.ppn, place.threads] * (0.9 if place.binding == "spread" else 1.0)
