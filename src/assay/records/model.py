"""Types of a run in memory: manifest, launches, measurements."""

from __future__ import annotations

import re
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
    """One line of ``launches.jsonl``: a launch that has ended, with its outcome.

    ``blamed``: the measurement in progress when it ended early. ``lost``: hosts that no longer
    answered; the outcome is then "lost" and not attributed to a cell. ``session``: from 0.
    ``signal``: the number of the signal that ended it, if known; 0 if the launcher lost one of its
    own processes. ``left``: for a failed launch, the measurements that it had not made.
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
    """The numbers of one tool in one imported file.

    ``version``: null if the tool prints none. ``codes``: the programs that it timed, which are
    kernels of the plan. ``results``: number of results, each of one cell; ``failed``: how many of
    them the tool reports as wrong. ``numbers``: how many were read. ``first`` and ``last``: lines.
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
    ``skipped``: unknown or damaged parts; ``unlisted``: the number of further ones.
    """

    file: str
    digest: str
    bytes: int
    lines: int
    tools: list[ImportedTool]
    skipped: list[SkippedPart]
    unlisted: int = 0


class Manifest(msgspec.Struct, frozen=True):
    """``manifest.json``: plan, system, toolchains and command of a run. Written once, at the start.

    ``prices``: the site's at that time, so that reports don't depend on where they are made.
    ``fake``: the path of the scenario of a simulated machine; null for a real machine, and in runs
    of older versions. ``imported``: the files of an imported run; empty for a measured one. For an
    imported run ``utc`` is the time of the import, and placements and replication of the plan have
    no meaning.
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


def system_name(manifest: Manifest, group: str = "") -> str:
    """The name of a run's system.

    That given to an imported run, else the part of the run's name between time and suite, else (of
    a run with another name) the hostname, else the run's name. ``group``: the name of the group of
    runs that this is a member of; the members' own names are numbers.
    """
    stated = manifest.system.get("name")
    facts = manifest.system.get("os")
    hostname = facts.get("hostname") if isinstance(facts, dict) else None
    in_name = system_in_name(group or manifest.run, manifest.plan.name)
    return str(stated or in_name or hostname or manifest.run)


def system_in_name(run: str, suite: str) -> str:
    """The system in a run's name, ``TIME-SYSTEM-SUITE`` or with ``-NUMBER``; "" in other names.

    ``suite``: the plan's name, which the run's name has as it is or as ``name_part``. The system
    may have hyphens, as its replacement in anonymous output has.
    """
    suites = "|".join(map(re.escape, (suite, name_part(suite))))
    match = re.fullmatch(rf"\w+-(.+?)-(?:{suites})(?:-\d+)?", run)
    return match[1] if match else ""


def name_part(text: str) -> str:
    """A system or suite as a part of a run's name: special characters, also "-", become "_"."""
    return re.sub(r"[^A-Za-z0-9.]+", "_", text).strip("_.") or "unnamed"


@dataclass(frozen=True)
class Measurement:
    """One measurement of a cell, read from a stream. ``utc``: Unix time of its start, seconds."""

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

    ``damaged``: lines of streams that can't be decoded, as ``raw/NAME.jsonl:LINE``.
    """

    path: Path | None
    manifest: Manifest
    measurements: tuple[Measurement, ...]
    launches: tuple[LaunchRecord, ...]
    complete: bool
    damaged: tuple[str, ...] = ()
