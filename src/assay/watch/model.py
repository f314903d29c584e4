"""Output of ``assay watch``: the lines of its log, and the summary that ``--json`` prints.

docs/formats/heartbeats.md ("What assay watch writes") describes each field.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from assay.watch.causes import ChangeCauses

SCHEMA = 1
Outcome = Literal["ok", "alarm", "nothing seen", "too few steps"]


class NormalRange(msgspec.Struct, frozen=True):
    """Seconds: the 1%, 50% and 99% quantiles of ``n`` steps."""

    n: int
    low: float
    median: float
    high: float


class WatchStart(msgspec.Struct, frozen=True, tag_field="record", tag="start"):
    """The first line: the program that is followed, and how."""

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
    """Covariates between the previous line of this kind and this one, counters per second."""

    time: float
    covariates: dict[str, float]


class ChangeLine(msgspec.Struct, frozen=True, tag_field="record", tag="change"):
    """The steps changed: see ``stats.changes.step_change.StepChange``. ``id`` counts from 1."""

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
    """The causes of the change with that ``id``, as far as covariates show them."""

    id: int
    time: float
    why: ChangeCauses


class HangLine(msgspec.Struct, frozen=True, tag_field="record", tag="hang"):
    """No step ended for ``waited`` seconds."""

    source: str
    step: int
    time: float
    waited: float
    #: Steps continue after this time.
    over: bool
    sentence: str


class StepSummary(msgspec.Struct, frozen=True):
    """All steps of a source, in seconds. Null if there are too few steps."""

    source: str
    steps: int
    #: Number of steps per value; above 1 the values are means of short steps.
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
    #: If there are too few steps for a normal range, the number of steps from which changes can be
    #: noticed; else null.
    needed: int | None = None
    #: Time without a step that raises an alarm, null if there is no such time.
    silence: float | None = None


class Cost(msgspec.Struct, frozen=True):
    """CPU seconds used by ``assay watch`` and its relay, and their share of one CPU."""

    cpu_seconds: float
    share: float


class WatchEnd(msgspec.Struct, frozen=True, tag_field="record", tag="end"):
    """The last line, which ``--json`` prints."""

    schema: int
    command: list[str]
    host: str
    utc: float
    wall: float
    exit: int
    signal: int | None
    outcome: Outcome
    sources: list[StepSummary]
    changes: list[ChangeLine]
    hangs: list[HangLine]
    cost: Cost
    notes: list[str]

    @property
    def blind(self) -> bool:
        """Whether no source had enough steps for a change to be noticed."""
        return all(source.needed is not None for source in self.sources)

    @property
    def alarms(self) -> int:
        """Number of changes for the worse and of hangs."""
        return sum(change.alarm for change in self.changes) + sum(not h.over for h in self.hangs)


def outcome_of(sources: Sequence[StepSummary], alarms: int) -> Outcome:
    """The outcome of a watch: ``ok`` only if a change of some source could have been noticed."""
    if alarms:
        return "alarm"
    if not sources:
        return "nothing seen"
    return "too few steps" if all(each.needed is not None for each in sources) else "ok"
