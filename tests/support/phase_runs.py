"""Runs with phases, for several tests."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import msgspec

from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.model.plan import Plan, Search
from assay.model.replication import Replication
from assay.records.model import Measurement, RunData
from assay.records.schema import SampleSeries
from report_builder import make_measurement, make_run

SPREAD = (1.0, 1.004, 0.998, 1.002, 0.996, 1.001)


Phases = Mapping[str, float]


def measured_phases(cell: Cell, phases: Phases, replicate: int, noise: float) -> Measurement:
    """A launch with phases; its time is their sum plus 1%."""
    whole = sum(value for name, value in phases.items() if not name.endswith("_compute"))
    measurement = make_measurement(cell, [1.01 * whole * noise], replicate)
    own = noise * SPREAD[(replicate + 2) % len(SPREAD)]
    more = [
        SampleSeries(name, "s", None, None, [], [value * own]) for name, value in phases.items()
    ]
    record = msgspec.structs.replace(measurement.record, series=[*measurement.record.series, *more])
    return dataclasses.replace(measurement, record=record)


def stream(ppn: int, bandwidth: float, replicate: int) -> Measurement:
    cell = Cell("memory.stream", {"op": "triad", "elements": 10**6}, Placement(1, ppn), "embedded")
    return make_measurement(cell, [24e6 * ppn / bandwidth * SPREAD[replicate]], replicate)


def run_of(
    works: Sequence[tuple[Cell, Phases]],
    streams: Mapping[int, float] = {},
    other: Sequence[Measurement] = (),
) -> RunData:
    cells = [cell for cell, _ in works]
    measurements = [
        measured_phases(cell, phases, replicate, noise)
        for cell, phases in works
        for replicate, noise in enumerate(SPREAD)
    ]
    measurements += [
        stream(ppn, bandwidth, replicate)
        for ppn, bandwidth in streams.items()
        for replicate in range(len(SPREAD))
    ]
    measurements += other
    run = make_run([], measurements=measurements, launches=[])
    plan = Plan(
        name="placement", title="Placement", cells=tuple(cells), replication=Replication(),
        seed=1, search=Search(tuple(one.id for one in cells), ()),
    )  # fmt: skip
    return dataclasses.replace(run, manifest=msgspec.structs.replace(run.manifest, plan=plan))
