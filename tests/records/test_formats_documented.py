"""Every stored field is documented in docs/formats/, with its unit."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from assay.launch.fake.scenario import Behaviour, Failure, NoiseModel, Scenario, Warmup
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.model.replication import Replication
from assay.records import schema
from assay.records.directory import Seal
from assay.records.jobs import JobAccounting, JobEnd, JobEvent
from assay.records.model import (
    ImportedSource,
    ImportedTool,
    LaunchRecord,
    Manifest,
    SkippedPart,
)
from assay.records.reading import read_run
from assay.records.request import JobShape, RunRequest
from assay.records.sessions import SessionEvent
from assay.records.store import SkippedRuns
from assay.records.summary import RunSummary
from assay.records.tables import measurement_table, sample_columns
from assay.stats.changes.changes import SuspectedChange
from assay.stats.core.model import CellSummary, DeviceEnergy, MetricSummary
from assay.subjects.history.model import (
    CellHistory,
    History,
    HistoryDay,
    HistoryEvent,
    HistoryPoints,
    HistorySegment,
)
from assay.subjects.history.snapshots import SystemDifference
from assay.system.survey import AdapterFact, HostSurvey
from assay.watch import model as watch_model
from assay.watch.causes import ChangeCause, ChangeCauses
from assay.watch.sampler import COUNTERS, GAUGES, WAIT
from records_builder import make_cell, make_plan, make_record, make_run, make_stream

ROOT = Path(__file__).parents[2]
TEXT = "\n".join(page.read_text() for page in sorted((ROOT / "docs" / "formats").glob("*.md")))
WORDS = set(re.findall(r"`([\w.]+)`", TEXT)) | set(re.findall(r"^(\w+) = ", TEXT, re.MULTILINE))

STRUCTS = [
    thing
    for thing in vars(schema).values()
    if isinstance(thing, type) and issubclass(thing, msgspec.Struct) and thing is not msgspec.Struct
]
STRUCTS += [
    Seal,
    RunSummary,
    LaunchRecord,
    Manifest,
    ImportedSource,
    ImportedTool,
    SkippedPart,
    Cell,
    Placement,
    Replication,
    CellSummary,
    DeviceEnergy,
    MetricSummary,
]
STRUCTS += [
    thing
    for thing in vars(watch_model).values()
    if isinstance(thing, type) and issubclass(thing, msgspec.Struct) and thing is not msgspec.Struct
]
STRUCTS += [RunRequest, JobShape, JobEvent, JobEnd, JobAccounting, SessionEvent]
STRUCTS += [Scenario, Behaviour, NoiseModel, Warmup, Failure]
STRUCTS += [ChangeCause, ChangeCauses, HostSurvey, AdapterFact]
STRUCTS += [
    History,
    CellHistory,
    HistoryEvent,
    HistorySegment,
    HistoryPoints,
    HistoryDay,
    SystemDifference,
    SkippedRuns,
    SuspectedChange,
]


@pytest.mark.parametrize("struct", STRUCTS, ids=lambda struct: struct.__name__)
def test_every_field_is_documented(struct: type) -> None:
    fields = {each.encode_name for each in msgspec.inspect.type_info(struct).fields}  # type: ignore[union-attr]
    assert fields - WORDS == set()


def test_every_covariate_is_documented() -> None:
    source = (ROOT / "native" / "harness" / "covariates.cpp").read_text()
    names = re.findall(r'\{"(\w+)", "[^"]+", Combine::', source)
    assert len(names) > 10
    assert set(names) <= WORDS


def test_every_covariate_of_watch_is_documented() -> None:
    assert {*COUNTERS, *GAUGES, WAIT} <= WORDS


def test_every_column_is_documented(tmp_path: Path) -> None:
    cell = make_cell()
    run = make_run(tmp_path, make_plan([cell]))
    record = msgspec.structs.replace(make_record(cell, 0, [1.0]), covariates={"steal_seconds": 0.0})
    (run.raw / "0000-a.jsonl").write_bytes(make_stream("0000-a", [record]))
    data = read_run(run.path)
    columns = set(measurement_table(data).columns) | set(sample_columns())
    assert {c for c in columns if not c.startswith("covariate.")} <= WORDS


def test_schema_versions_are_the_documented_ones() -> None:
    assert (schema.JOB_SCHEMA, schema.STREAM_SCHEMA) == (1, 1)
    assert "| `schema` | | 1 |" in TEXT
