"""Small plans, runs and streams for tests, with values planted by the caller."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.model.plan import Plan
from assay.model.replication import Replication
from assay.records.creation import create_run
from assay.records.directory import RunDirectory
from assay.records.model import LaunchRecord
from assay.records.reading import measurement_id
from assay.records.schema import (
    STREAM_SCHEMA,
    ClockRecord,
    MeasurementBegin,
    MeasurementRecord,
    RankRecord,
    SampleSeries,
    StreamEnd,
    StreamRecord,
    StreamStart,
)


def make_cell(kernel: str = "network.barrier", ppn: int = 2, **parameters: int | str) -> Cell:
    return Cell(
        kernel=kernel, parameters=dict(parameters), placement=Placement(ppn=ppn), toolchain="fake"
    )


def make_plan(cells: Sequence[Cell], **replication: float) -> Plan:
    rule = msgspec.convert(replication, Replication)
    return Plan(name="test", title="Test", cells=tuple(cells), replication=rule, seed=1)


def make_run(root: Path, plan: Plan) -> RunDirectory:
    return create_run(
        root,
        plan=plan,
        system_name="box",
        system={"hostname": "box"},
        toolchains={"fake": {}},
        command=["assay", "run"],
    )


def make_record(cell: Cell, replicate: int, values: Sequence[float]) -> MeasurementRecord:
    return MeasurementRecord(
        measurement=measurement_id(cell, replicate),
        kernel=cell.kernel,
        status="ok",
        start=0.5,
        wall=sum(values),
        parameters=cell.parameters,
        verified=True,
        batch=1,
        warmup=0,
        stop="precision",
        half_width=0.005,
        series=[
            SampleSeries(
                metric="time",
                unit="s",
                rank=None,
                peer=None,
                starts=[0.1 * i for i in range(len(values))],
                values=list(values),
            )
        ],
    )


def make_stream(
    job: str,
    records: Iterable[MeasurementRecord],
    ranks: int = 2,
    host: str = "box",
    utc: float = 1000.0,
) -> bytes:
    records = list(records)
    lines: list[StreamRecord] = [
        StreamStart(
            schema=STREAM_SCHEMA,
            program="fake",
            version="0",
            job=job,
            ranks=ranks,
            utc=utc,
            clock=ClockRecord(source="CLOCK_MONOTONIC", overhead=2e-8, resolution=1e-9),
        )
    ]
    lines += [
        RankRecord(
            rank=rank,
            host=host,
            pid=100 + rank,
            local_rank=rank,
            cpus=[rank],
            numa=0,
            pinned=True,
            oversubscribed=False,
        )
        for rank in range(ranks)
    ]
    for record in records:
        lines += [MeasurementBegin(measurement=record.measurement, kernel=record.kernel), record]
    lines.append(StreamEnd(measurements=len(records), reason="complete"))
    return b"".join(msgspec.json.encode(line) + b"\n" for line in lines)


def make_launch(name: str, **changes: object) -> LaunchRecord:
    record = LaunchRecord(
        launch=name,
        toolchain="fake",
        command=["fake"],
        utc=1000.0,
        wall=1.0,
        exit=0,
        outcome="complete",
    )
    return msgspec.structs.replace(record, **changes)
