"""Successive runs of a machine with planted times: as a folder, and as sides of a comparison."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np

from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.records.creation import create_run
from assay.records.directory import RunDirectory
from assay.records.files import write_atomically
from assay.records.reading import read_run
from assay.records.summary import summarise_run
from assay.records.tables import TABLES_SCHEMA, write_tables
from assay.stats.changes.courses import CellCourse, courses_of
from assay.stats.repeats.repeats import Repeats
from assay.subjects.compare.findings import find
from assay.subjects.compare.model import CompareFindings
from assay.subjects.compare.other_runs import OtherRun, OtherRuns, machine_of
from assay.subjects.compare.sides import Side
from records_builder import make_launch, make_plan, make_record, make_stream
from report_builder import SYSTEM
from variation_builder import run_of

BEGIN, DAY = 1.75e9, 86400.0
# Seconds from launch to launch.
SPACING = 60.0


def planted_cells(count: int) -> list[Cell]:
    """Cells of one kernel."""
    return [Cell("network.barrier", {}, Placement(ppn=2 + k), "fake") for k in range(count)]


def run_name(number: int) -> str:
    return f"{number:04d}-box-nightly"


def planted_times(
    rng: np.random.Generator,
    shape: tuple[int, int, int],
    *,
    between: float = 0.0,
    within: float = 0.01,
) -> np.ndarray:
    """Times (s) by run, cell and launch, whose logarithms scatter normally: ``between`` runs, and
    ``within`` them.
    """
    runs, cells, _ = shape
    states = between * rng.standard_normal((runs, cells, 1))
    return 1e-3 * np.exp(states + within * rng.standard_normal(shape))


def file_runs(root: Path, times: np.ndarray) -> list[RunDirectory]:
    """A sealed run per night, each with its streams and tables."""
    cells = planted_cells(times.shape[1])
    return [_filed(root, number, cells, of_run) for number, of_run in enumerate(times)]


def _filed(root: Path, number: int, cells: list[Cell], times: np.ndarray) -> RunDirectory:
    run = create_run(
        root,
        plan=msgspec.structs.replace(make_plan(cells), name="nightly"),
        system_name="box",
        system={**SYSTEM.to_dict(), "name": "box"},
        toolchains={"fake": {}},
        command=["assay", "run"],
        name=run_name(number),
    )
    utc = BEGIN + DAY * number
    manifest = msgspec.structs.replace(run.manifest(), utc=utc)
    write_atomically(run.path / "manifest.json", msgspec.json.encode(manifest))
    for launch in range(times.shape[1]):
        name = run.new_launch()
        records = [
            make_record(cell, launch + 1, [float(of_cell[launch])] * 3)
            for cell, of_cell in zip(cells, times, strict=True)
        ]
        begun = utc + SPACING * launch
        (run.raw / f"{name}.jsonl").write_bytes(make_stream(name, records, utc=begun))
        run.append_launch(make_launch(name, utc=begun))
    data = read_run(run.path)
    write_tables(data)
    run.seal(summarise_run(data, launches=times.shape[1], tables=TABLES_SCHEMA))
    return run


def planted_courses(times: np.ndarray) -> dict[str, CellCourse]:
    """The cells over all runs, by id."""
    runs, _, launches = times.shape
    utc = BEGIN + DAY * np.arange(runs)[:, None] + SPACING * np.arange(launches)[None, :]
    return courses_of(
        Repeats(
            cell=cell,
            metric="time",
            unit="s",
            better="less",
            values=times[:, place].ravel(),
            utc=utc.ravel(),
            run=tuple(run_name(run) for run in range(runs) for _ in range(launches)),
            launch=tuple(map(str, range(runs * launches))),
            hosts=("box",) * (runs * launches),
        )
        for place, cell in enumerate(planted_cells(times.shape[1]))
    )


def compare_planted(times: np.ndarray, one: int, other: int) -> CompareFindings:
    """Two of these runs compared, as with all of them in one folder."""
    cells = planted_cells(times.shape[1])
    sides = [planted_side(times, number) for number in (one, other)]
    machine = machine_of(sides[0])
    others = [
        OtherRun(
            BEGIN + DAY * number,
            {cell.id: of_run[place] for place, cell in enumerate(cells)},
            run_name(number),
        )
        for number, of_run in enumerate(times)
        if number not in (one, other)
    ]
    return find(sides, others=OtherRuns({machine: others}, {machine: planted_courses(times)}))


def planted_side(times: np.ndarray, number: int) -> Side:
    """One of these runs."""
    begun = BEGIN + DAY * number
    planted = list(zip(planted_cells(times.shape[1]), times[number], strict=True))
    run = run_of(planted, every=SPACING, began=begun, name=run_name(number))
    manifest = msgspec.structs.replace(run.manifest, utc=begun)
    return Side(run_name(number), replace(run, manifest=manifest))
