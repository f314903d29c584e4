"""Groups of nodes with planted costs: as runs in memory, and as directories on disk."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.records.creation import create_requested, create_run
from assay.records.directory import RunDirectory
from assay.records.model import RunData
from assay.records.reading import read_run
from assay.records.request import REQUEST_SCHEMA, RunRequest
from assay.records.summary import summarise_run
from assay.records.tables import TABLES_SCHEMA, write_tables
from records_builder import make_launch, make_plan, make_record, make_stream

DAY = 86400.0
LATENCY = Cell("memory.latency", {"bytes": 1 << 26}, Placement(ppn=1), "fake")
STRIDED = Cell("memory.stream", {"op": "triad", "elements": 10**7}, Placement(ppn=2), "fake")
DGEMM = Cell("compute.dgemm", {"n": 1000}, Placement(ppn=1), "fake")
BARRIER = Cell("network.barrier", {}, Placement(ppn=2), "fake")
CELLS = (STRIDED, DGEMM, BARRIER)

# Seconds of a cell on a node in a launch.
Cost = Callable[[str, Cell, int], float]


def make_node(
    folder: Path,
    host: str,
    cost: Cost,
    *,
    cells: tuple[Cell, ...] = CELLS,
    launches: int = 6,
    covariates: Mapping[str, float] | None = None,
    name: str | None = None,
    utc: float = 1000.0,
    system: dict[str, object] | None = None,
    wrong: tuple[str, ...] = (),
    rank_medians: tuple[float, ...] = (),
) -> RunData:
    """A sealed run of one node, including its tables; ``wrong``: cells with failed verification.

    ``rank_medians``: of each measurement's two ranks, on CPU 0 and 1.
    """
    run = create_run(
        folder,
        plan=make_plan(cells, precision=0.5),
        system_name="box",
        system=system or {"hostname": host},
        toolchains={"fake": {}},
        command=["assay", "run"],
        name=name or host,
    )
    for launch in range(launches):
        records = [make_record(cell, launch, [cost(host, cell, launch)] * 5) for cell in cells]
        records = [
            msgspec.structs.replace(r, verified=r.measurement.partition("-")[0] not in wrong)
            for r in records
        ]
        if rank_medians:
            records = [msgspec.structs.replace(r, rank_medians=[*rank_medians]) for r in records]
        if covariates:
            readings = {"sampling_seconds": 1.0, **covariates}
            records = [msgspec.structs.replace(r, covariates=readings) for r in records]
        stream = f"{launch:04d}-a"
        (run.raw / f"{stream}.jsonl").write_bytes(make_stream(stream, records, host=host, utc=utc))
        run.append_launch(make_launch(stream, utc=utc))
    data = read_run(run.path)
    write_tables(data)
    run.seal(summarise_run(data, launches=launches, tables=TABLES_SCHEMA))
    return dataclasses.replace(data, complete=True)


def make_group(
    root: Path,
    hosts: list[str],
    cost: Cost,
    *,
    day: float = 0.0,
    cells: tuple[Cell, ...] = CELLS,
    launches: int = 3,
    node_groups: dict[str, dict[str, str]] | None = None,
) -> RunDirectory:
    """A complete group on disk, started ``day`` days after a fixed time in 2026."""
    request = RunRequest(
        schema=REQUEST_SCHEMA,
        run="",
        utc=1.78e9 + DAY * day,
        assay="0",
        tag="t",
        command=["assay", "run", "--per-node"],
        folder=str(root),
        plan="plan.toml",
        texts={},
        seed=1,
        members=len(hosts),
        node_groups=node_groups or {},
    )
    group = create_requested(root, f"group-{day:03g}", request)
    for number, host in enumerate(hosts):
        make_node(
            group.path / "members",
            host,
            cost,
            cells=cells,
            launches=launches,
            name=f"{number:05d}",
            utc=request.utc,
        )
    return group
