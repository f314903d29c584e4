"""Findings of the scheduler's model: the load, its replay, other policies, and what-ifs."""

from __future__ import annotations

from dataclasses import dataclass

from assay.usage.queue.model import Bounds, QueueAgreement, QueueLeftOut, QueueMeasure


@dataclass(frozen=True)
class QueueLoad:
    """The load that is replayed, and the machine."""

    #: Log, or the name of a synthetic model.
    source: str
    #: Replayed.
    jobs: int
    #: Of the log, and why.
    left_out: list[QueueLeftOut]
    #: ``processors``, ``nodes``: of the machine.
    processors: int
    nodes: int
    #: Processor time of the jobs ÷ of the machine between first and last submission.
    offered: float
    #: s between these.
    span: float
    #: Whole ones.
    weeks: int
    #: Where the requested times come from, a sentence.
    requests: str
    #: What was assumed, each a sentence.
    notes: list[str]


@dataclass(frozen=True)
class QueuePolicy:
    """A policy: its ``name``, what it is in ``words``, and its ``measure``."""

    #: Name of the policy.
    name: str
    #: A description in words.
    words: str
    #: What the queue does under the policy.
    measure: QueueMeasure
    #: Share of the jobs that were started before one that stood before them.
    backfilled: float
    #: Most jobs that waited at a time.
    longest_queue: int
    #: Whether what-ifs are changes of this one.
    chosen: bool


@dataclass(frozen=True)
class QueueWhatIf:
    """A change of the load, the machine or the policy."""

    #: As requested.
    text: str
    #: What was changed.
    words: str
    #: Of the changed load.
    measure: QueueMeasure
    #: Relative change of the requested times, None where they don't change by a factor.
    request: float | None
    #: ``wait``, ``slowdown``: relative changes of their means, ``utilisation``: absolute change;
    #: None where nothing waits. Each with the 95% interval over resampled weeks
    #: (``intervals.interval_of``), None where there is none: ``wait_ci95``, ``slowdown_ci95``,
    #: ``utilisation_ci95``.
    wait: float | None
    #: 95% interval of ``wait`` over resampled weeks; None where there is none.
    wait_ci95: Bounds | None
    slowdown: float | None
    #: 95% interval of ``slowdown`` over resampled weeks; None where there is none.
    slowdown_ci95: Bounds | None
    utilisation: float
    #: 95% interval of ``utilisation`` over resampled weeks; None where there is none.
    utilisation_ci95: Bounds | None
    #: The result.
    sentence: str


@dataclass(frozen=True)
class QueueFindings:
    """What the model of a scheduler makes of a load."""

    #: What is replayed.
    load: QueueLoad
    #: Name of the chosen policy.
    model: str
    #: Its measure.
    replay: QueueMeasure
    #: Of the same jobs by the log's starts, None where the log has no waits.
    real: QueueMeasure | None
    #: Of the replay with them.
    agreement: QueueAgreement | None
    #: The chosen one and others on the same load.
    policies: list[QueuePolicy]
    #: In the order requested.
    what_ifs: list[QueueWhatIf]
    #: Number of resampled loads, ``seed``: of all random numbers.
    resamples: int
    seed: int
    #: What the model doesn't know, each a sentence.
    unknown: list[str]
