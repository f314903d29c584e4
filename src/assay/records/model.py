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


class Manifest(msgspec.Struct, frozen=True):
    """``manifest.json``: what was asked, on what, with what. Written once, at the start.

    ``prices``: the site's, as they were then, so that a report made elsewhere says the same.
    ``fake``: the path of the scenario whose machine was measured; null of a real one, and of runs
    stored before this was.
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
