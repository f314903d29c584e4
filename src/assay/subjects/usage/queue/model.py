"""Findings of the scheduler's model: the load, its replay, other policies, and what-ifs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from assay.units import Interval
from assay.usage.queue.model import QueueAgreement, QueueFit, QueueLeftOut, QueueMeasure

WhatIfConfidence = Literal["high", "medium", "low"]


@dataclass(frozen=True)
class QueueLoad:
    """The load that is replayed, and the machine."""

    #: Source of the load: log, or the name of a synthetic model.
    source: str
    #: Number of replayed jobs.
    jobs: int
    #: Jobs of the log that were left out, and the reasons.
    left_out: list[QueueLeftOut]
    #: ``processors``, ``nodes``: size of the machine.
    processors: int
    nodes: int
    #: Offered load: processor time of the jobs ÷ processor time of the machine between the first
    #: and the last submission.
    offered: float
    #: Time between the first and the last submission, s.
    span: float
    #: Number of whole weeks.
    weeks: int
    #: Source of the requested times, as a sentence.
    requests: str
    #: Assumptions, one sentence each.
    notes: list[str]
    #: Share of the jobs that the log lacks, by absent job ids; 0 if unknown.
    absent: float = 0.0


@dataclass(frozen=True)
class QueuePolicy:
    """A scheduling policy and its measured queue."""

    #: Name of the policy.
    name: str
    #: Description of the policy in words.
    words: str
    #: The measured queue under the policy.
    measure: QueueMeasure
    #: Share of the jobs that started before a job that was ahead of them in the queue.
    backfilled: float
    #: Maximum number of jobs that waited at the same time.
    longest_queue: int
    #: Whether this is the chosen policy, which what-ifs change.
    chosen: bool
    #: Factor between the real waits and those with this policy (``QueueFit.factor``); None if the
    #: log has no waits.
    fit: float | None = None


@dataclass(frozen=True)
class QueueWhatIf:
    """A change of the load, the machine or the policy."""

    #: The change as requested.
    text: str
    #: The change in words.
    words: str
    #: The offered load after the change.
    measure: QueueMeasure
    #: Relative change of the requested times; None if they don't change by a factor.
    request: float | None
    #: ``wait``, ``slowdown``: relative changes of the mean wait and the mean slowdown in the model;
    #: ``utilisation``: absolute change. None if no job waits.
    wait: float | None
    #: 95% interval of ``wait`` over weeks of the same kind, extended by the factor between
    #: modelled and real waits (``intervals.relative_interval``); None if there is none.
    wait_ci95: Interval | None
    slowdown: float | None
    #: 95% interval of ``slowdown``, as of ``wait``; None if there is none.
    slowdown_ci95: Interval | None
    utilisation: float
    #: 95% interval of ``utilisation`` over resampled weeks; None if there is none.
    utilisation_ci95: Interval | None
    #: The result as a sentence; empty if the model doesn't reproduce the real waits.
    sentence: str
    #: Confidence that the interval holds the change of the real scheduler: high, medium or low.
    #: None if no change is stated, since the model doesn't reproduce the real waits.
    confidence: WhatIfConfidence | None = None
    #: Reasons for the confidence, or why no change is stated.
    confidence_why: str = ""


@dataclass(frozen=True)
class QueueFindings:
    """Results of the scheduler's model for a load."""

    #: The replayed load.
    load: QueueLoad
    #: Name of the chosen policy.
    model: str
    #: The measured queue of the replay.
    replay: QueueMeasure
    #: The measured queue of the same jobs with the log's starts; None if the log has no waits.
    real: QueueMeasure | None
    #: Agreement of the replay with the log's starts.
    agreement: QueueAgreement | None
    #: How well the replay reproduces the real waits; None if the log has no waits.
    fit: QueueFit | None
    #: The chosen policy and other policies on the same load.
    policies: list[QueuePolicy]
    #: The what-ifs, in the requested order.
    what_ifs: list[QueueWhatIf]
    #: Number of resampled loads. ``seed``: seed of all random numbers.
    resamples: int
    seed: int
    #: What the model doesn't know, one sentence each.
    unknown: list[str]
