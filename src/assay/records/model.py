"""A run as the rest of the program sees it, whatever its files look like."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from assay.config import NO_PRICES, Prices
from assay.model.cell import Cell
from assay.model.plan import Plan
from assay.records.schema import ClockRecord, MeasurementRecord, RankRecord

MANIFEST_SCHEMA = 1


class LaunchRecord(msgspec.Struct, frozen=True):
    """One line of ``launches.jsonl``: a launch that ended, however it did, as assay saw it.

    ``lost``: hosts that no longer answered, the outcome then being "lost": no cell's fault.
    ``session``: of the run's, from 0. ``signal``: the number of the signal that ended it, if it is
    known; 0 where the launcher lost one of its own processes. ``left``: of a launch that ended
    badly, the measurements that it had still to make.
    """

    launch: str
    toolchain: str
    command: list[str]
    utc: float
    wall: float
    exit: int | None
    outcome: Literal["complete", "crash", "timeout", "interrupted", "lost"]
    error: str | None = None
    blamed: str | None = None
    stderr: str = ""
    lost: tuple[str, ...] = ()
    session: int = 0
    signal: int | None = None
    left: tuple[str, ...] = ()


class SkippedPart(msgspec.Struct, frozen=True):
    """A part of a file that was not imported: its line, and a sentence on why."""

    line: int
    what: str


class ImportedTool(msgspec.Struct, frozen=True):
    """What was imported of one tool from one file.

    ``version``: null where the tool names none. ``codes``: the programs that it timed, which are
    kernels of the plan. ``results``: of a cell each; ``failed``: how many of them the tool itself
    calls wrong. ``numbers``: how many were read. ``first`` and ``last``: lines.
    """

    tool: str
    version: str | None
    codes: list[str]
    results: int
    failed: int
    numbers: int
    first: int
    last: int


class ImportedSource(msgspec.Struct, frozen=True):
    """A file that was imported.

    ``file``: its path, "-" for standard input. ``digest``: SHA-256 of ``bytes`` bytes, as stored.
    ``skipped``: parts that are unknown or damaged; ``unlisted``: how many more there are.
    """

    file: str
    digest: str
    bytes: int
    lines: int
    tools: list[ImportedTool]
    skipped: list[SkippedPart]
    unlisted: int = 0


class Manifest(msgspec.Struct, frozen=True):
    """``manifest.json``: what was asked, on what, with what. Written once, at the start.

    ``prices``: the site's, as they were then, so that a report made elsewhere says the same.
    ``fake``: the path of the scenario whose machine was measured; null of a real one, and of runs
    stored before this was.
    ``imported``: the files of a run that assay did not measure but read from other tools' output;
    empty for one that was measured. ``utc`` is then when it was read, and placements and
    replication of the plan say nothing.
    """

    schema: int
    run: str
    utc: float
    assay: str
    command: list[str]
    plan: Plan
    system: dict[str, object]
    toolchains: dict[str, dict[str, object]]
    prices: Prices = NO_PRICES
    fake: str | None = None
    imported: list[ImportedSource] = []


def system_name(manifest: Manifest) -> str:
    """What the system is called: what stands in the run's name between its time and its suite."""
    _, _, rest = manifest.run.partition("-")
    name, _, _ = rest.rpartition(f"-{manifest.plan.name}")
    facts = manifest.system.get("os")
    hostname = facts.get("hostname") if isinstance(facts, dict) else None
    return name or str(hostname or "") or manifest.run


@dataclass(frozen=True)
class Measurement:
    """One measurement of a cell, as read back. ``order``: the how-many-th of the run by time."""

    cell: Cell
    replicate: int
    launch: str
    utc: float
    record: MeasurementRecord
    clock: ClockRecord | None
    ranks: tuple[RankRecord, ...]


@dataclass(frozen=True)
class RunData:
    """A whole run in memory: the input of statistics, answers and report.

    ``damaged``: lines of streams that are no records, as ``raw/NAME.jsonl:LINE``.
    """

    path: Path | None
    manifest: Manifest
    measurements: tuple[Measurement, ...]
    launches: tuple[LaunchRecord, ...]
    complete: bool
    damaged: tuple[str, ...] = ()
