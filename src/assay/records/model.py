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
    """One line of ``launches.jsonl``: a launch that has ended, with its outcome."""

    launch: str
    toolchain: str
    command: list[str]
    utc: float
    wall: float
    exit: int | None
    outcome: Literal["complete", "crash", "timeout", "interrupted", "lost"]
    error: str | None = None
    #: The measurement in progress when it ended early.
    blamed: str | None = None
    stderr: str = ""
    #: Hosts that stopped answering; the outcome is then "lost" and not attributed to a cell.
    lost: tuple[str, ...] = ()
    #: Number of the session, from 0.
    session: int = 0
    #: The number of the signal that ended it, if known; 0 if the launcher lost one of its own
    #: processes.
    signal: int | None = None
    #: For a failed launch, the measurements that it did not make.
    left: tuple[str, ...] = ()


class SkippedPart(msgspec.Struct, frozen=True):
    """A part of a file that was not imported: its line, and a sentence with the reason."""

    line: int
    what: str


class ImportedTool(msgspec.Struct, frozen=True):
    """The numbers of one tool in one imported file."""

    tool: str
    #: Version of the tool; null if the tool prints none.
    version: str | None
    #: Programs that the tool timed; they are kernels of the plan.
    codes: list[str]
    #: Number of results; each belongs to one cell.
    results: int
    #: Number of results that the tool reports as wrong.
    failed: int
    #: Number of values that were read.
    numbers: int
    #: ``first``, ``last``: line numbers of the first and last result.
    first: int
    last: int


class ImportedSource(msgspec.Struct, frozen=True):
    """A file that was imported."""

    #: Path of the file; "-" for standard input.
    file: str
    #: SHA-256 of ``bytes`` bytes, as stored.
    digest: str
    bytes: int
    lines: int
    tools: list[ImportedTool]
    #: Unknown or damaged parts that were skipped.
    skipped: list[SkippedPart]
    #: Number of further skipped parts, which are not listed.
    unlisted: int = 0


class Manifest(msgspec.Struct, frozen=True):
    """``manifest.json``: plan, system, toolchains and command of a run. Written once, at the
    start.
    """

    schema: int
    run: str
    utc: float
    assay: str
    command: list[str]
    plan: Plan
    system: dict[str, object]
    toolchains: dict[str, dict[str, object]]
    #: The site's values when the run started, so that reports don't depend on where they are made.
    prices: Prices = NO_PRICES
    #: The path of the scenario of a simulated machine; null for a real machine, and in runs of
    #: older versions.
    fake: str | None = None
    #: The files of an imported run; empty for a measured one. For an imported run ``utc`` is the
    #: time of the import, and placements and replication of the plan have no meaning.
    imported: list[ImportedSource] = []


def system_name(manifest: Manifest, group: str = "") -> str:
    """The name of a run's system.

    For an imported run it is the given name. Otherwise it is the part of the run's name between
    time and suite; for a run with another name, the hostname, or else the run's name. ``group``:
    the name of the group of runs that this is a member of; the members' names are numbers.
    """
    stated = manifest.system.get("name")
    facts = manifest.system.get("os")
    hostname = facts.get("hostname") if isinstance(facts, dict) else None
    in_name = system_in_name(group or manifest.run, manifest.plan.name)
    return str(stated or in_name or hostname or manifest.run)


def system_in_name(run: str, suite: str) -> str:
    """The system in a run's name, ``TIME-SYSTEM-SUITE`` or with ``-NUMBER``; "" in other names.

    ``suite``: the plan's name, which the run's name contains unchanged or as ``name_part``. The
    system may contain hyphens, like its replacement in anonymous output.
    """
    suites = "|".join(map(re.escape, (suite, name_part(suite))))
    match = re.fullmatch(rf"\w+-(.+?)-(?:{suites})(?:-\d+)?", run)
    return match[1] if match else ""


def name_part(text: str) -> str:
    """A system or suite as a part of a run's name: special characters, also "-", become "_"."""
    return re.sub(r"[^A-Za-z0-9.]+", "_", text).strip("_.") or "unnamed"


@dataclass(frozen=True)
class Measurement:
    """One measurement of a cell, read from a stream."""

    cell: Cell
    replicate: int
    launch: str
    #: Unix time of its start, seconds.
    utc: float
    record: MeasurementRecord
    clock: ClockRecord | None
    ranks: tuple[RankRecord, ...]


@dataclass(frozen=True)
class RunData:
    """A complete run in memory: the input of statistics, answers and report."""

    path: Path | None
    manifest: Manifest
    measurements: tuple[Measurement, ...]
    launches: tuple[LaunchRecord, ...]
    complete: bool
    #: Lines of streams that can't be decoded, as ``raw/NAME.jsonl:LINE``.
    damaged: tuple[str, ...] = ()
