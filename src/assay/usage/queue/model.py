"""Jobs that a load leaves out, and what users and the machine see of a schedule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from assay.units import Interval


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


@dataclass(frozen=True)
class QueueMisfit:
    """Jobs with another factor between real and modelled waits than the other jobs."""

    #: What the jobs have in common: size, request, user or queue.
    kind: str
    #: The group: processors, requested time, or the name or number of a user or queue.
    name: str
    #: Number of jobs.
    jobs: int
    #: ``real``, ``modelled``: mean waits, s.
    real: float
    modelled: float
    #: Real over modelled mean wait, both raised by 60 s; ``ci95``: its 95% interval over weeks.
    factor: float
    ci95: Interval
    #: The factor of the other jobs.
    others: float
    #: "more" if the factor is larger than that of the other jobs, else "less".
    direction: Literal["more", "less"]


@dataclass(frozen=True)
class QueueFit:
    """How well the model reproduces the waits of the log."""

    #: Real over modelled mean wait, both raised by 60 s.
    mean: float
    #: ``weeks``, ``sizes``: typical factors, at least 1, between real and modelled mean waits of
    #: the same week, and of jobs of the same size (powers of two).
    weeks: float
    sizes: float
    #: The largest of these three factors, the mean's as a number of at least 1.
    factor: float
    #: Largest factor for which changes by the model are stated.
    limit: float
    #: Whether ``factor`` is at most ``limit``.
    reproduced: bool
    #: Groups of jobs with another factor than the other jobs, those with the most wait first.
    groups: list[QueueMisfit]
    #: Whether the log has enough weeks to compare groups.
    compared: bool
    #: The fewest weeks, from 1, that have half of the difference between real and modelled waits.
    half: list[int]
