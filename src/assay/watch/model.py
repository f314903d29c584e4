"""What assay watch writes: the lines of its log, and the summary that ``--json`` prints.

docs/formats/heartbeats.md ("What assay watch writes") has each field.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from assay.watch.causes import ChangeCauses

SCHEMA = 1


class NormalRange(msgspec.Struct, frozen=True):
    """Seconds: the 1%, 50% and 99% quantiles of ``n`` steps."""

    n: int
    low: float
    median: float
    high: float


class WatchStart(msgspec.Struct, frozen=True, tag_field="record", tag="start"):
    """The first line: what is followed, and how."""

    schema: int
    assay: str
    command: list[str]
    host: str
    pid: int
    utc: float
    pattern: str | None
    folder: str | None


class StepLine(msgspec.Struct, frozen=True, tag_field="record", tag="step"):
    """``count`` steps up to ``step`` that took ``seconds`` each."""

    source: str
    step: int
    time: float
    seconds: float
    count: int
    number: int | None = None
    of: int | None = None


class SampleLine(msgspec.Struct, frozen=True, tag_field="record", tag="sample"):
    """Covariates between the last such line and this one, a second."""

    time: float
    covariates: dict[str, float]


class ChangeLine(msgspec.Struct, frozen=True, tag_field="record", tag="change"):
    """The steps changed: see ``stats.online.Change``. ``id`` counts these lines from 1."""

    id: int
    source: str
    kind: str
    alarm: bool
    step: int
    since: int
    time: float
    began: float
    seconds: float
    ratio: float
    normal: NormalRange
    spread: float | None
    slope: float | None
    sentence: str
    until: int | None = None
    why: ChangeCauses | None = None


class CauseLine(msgspec.Struct, frozen=True, tag_field="record", tag="cause"):
    """Why, as far as the covariates tell; of the change with that ``id``."""

    id: int
    time: float
    why: ChangeCauses


class HangLine(msgspec.Struct, frozen=True, tag_field="record", tag="hang"):
    """No step came for so long. ``over``: it went on, after ``waited`` seconds in all."""

    source: str
    step: int
    time: float
    waited: float
    over: bool
    sentence: str


class StepSummary(msgspec.Struct, frozen=True):
    """All steps of a source, in seconds. Null where there are too few of them.

    ``grouped``: how many steps a value is the mean of, where steps are too short for one each.
    """

    source: str
    steps: int
    grouped: int
    warmup: int
    median: float | None
    min: float | None
    max: float | None
    mean: float | None
    cov: float | None
    p95: float | None
    p99: float | None
    normal: NormalRange | None
    outliers: int
    largest: float | None
    every: int | None
    walltime_steps: int | None
    walltime: float | None


class Cost(msgspec.Struct, frozen=True):
    """CPU seconds that watching took (this process, the relay), and their share of one CPU."""

    cpu_seconds: float
    share: float


class WatchEnd(msgspec.Struct, frozen=True, tag_field="record", tag="end"):
    """The last line, and what ``--json`` prints."""

    schema: int
    command: list[str]
    host: str
    utc: float
    wall: float
    exit: int
    signal: int | None
    outcome: Literal["ok", "alarm", "nothing seen"]
    sources: list[StepSummary]
    changes: list[ChangeLine]
    hangs: list[HangLine]
    cost: Cost
    notes: list[str]

    @property
    def alarms(self) -> int:
        """How many changes for the worse and hangs there were."""
        return sum(change.alarm for change in self.changes) + sum(not h.over for h in self.hangs)
