"""What a load lacks, and what a schedule of it is like."""

from __future__ import annotations

from dataclasses import dataclass

Bounds = tuple[float, float]


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

    #: That started.
    jobs: int
    #: Mean, ``wait_quantiles``: at the levels of ``UsageSpread``, s.
    wait: float
    wait_quantiles: list[float]
    #: ``slowdown``, ``slowdown_median``: bounded, mean and median.
    slowdown: float
    slowdown_median: float
    #: Processor time in use between first and last submission ÷ the machine's.
    utilisation: float
    #: Jobs that reached their limit.
    killed: int
    #: That the machine or a limit of a partition doesn't admit.
    refused: int
    #: Processor × s of runs that failed nodes or limits ended.
    lost: float


@dataclass(frozen=True)
class QueueAgreement:
    """The replay beside the real starts."""

    #: Share of all pairs of jobs that start in the same order as they really did.
    pairs: float
    #: The same of pairs that were really started within a day of each other.
    near: float
    #: Median of the absolute difference between modelled and real start, s.
    difference: float
    #: Modelled ÷ real mean wait, None where nothing waited.
    wait: float | None
