"""Jobs that a load leaves out, and what users and the machine see of a schedule."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class QueueLeftOut:
    """Jobs of the log that the model does not have: their ``number`` and the ``reason``."""

    #: Number of jobs.
    number: int
    #: Why the model leaves them out.
    reason: str


@dataclass(frozen=True)
class QueueMeasure:
    """What users and the machine see of a schedule."""

    #: Number of jobs that started.
    jobs: int
    #: Mean wait, s.
    wait: float
    #: Waits at the levels of ``UsageSpread``, s.
    wait_quantiles: list[float]
    #: Mean bounded slowdown.
    slowdown: float
    #: Median bounded slowdown.
    slowdown_median: float
    #: Processor time in use between the first and the last submission, over the machine's processor
    #: time.
    utilisation: float
    #: Number of jobs that reached their limit.
    killed: int
    #: Number of jobs that exceed the machine or a limit of a partition.
    refused: int
    #: Processor time (processors × s) of runs that failed nodes or limits ended.
    lost: float


@dataclass(frozen=True)
class QueueAgreement:
    """Modelled starts compared with the real ones."""

    #: Share of all pairs of jobs that start in the same order in the model as in reality.
    pairs: float
    #: The same share of the pairs that really started within a day of each other.
    near: float
    #: Median absolute difference between modelled and real starts, s.
    difference: float
    #: Modelled mean wait over the real one; None if no job waited.
    wait: float | None
