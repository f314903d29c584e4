"""What a load lacks, and what a schedule of it is like."""

from __future__ import annotations

import msgspec

Bounds = tuple[float, float]


class QueueLeftOut(msgspec.Struct, frozen=True):
    """Jobs of the log that the model does not have: their ``number`` and the ``reason``."""

    number: int
    reason: str


class QueueMeasure(msgspec.Struct, frozen=True):
    """What users and the machine see of a schedule.

    ``jobs``: that started. ``wait``: mean, ``wait_quantiles``: at the levels of ``UsageSpread``, s.
    ``slowdown``, ``slowdown_median``: bounded, mean and median. ``utilisation``: processor time in
    use between first and last submission ÷ the machine's. ``killed``: jobs that reached their
    limit. ``refused``: that the machine or a limit of a partition doesn't admit. ``lost``:
    processor × s of runs that failed nodes or limits ended.
    """

    jobs: int
    wait: float
    wait_quantiles: list[float]
    slowdown: float
    slowdown_median: float
    utilisation: float
    killed: int
    refused: int
    lost: float


class QueueAgreement(msgspec.Struct, frozen=True):
    """The replay beside the real starts.

    ``pairs``: share of all pairs of jobs that start in the same order as they really did.
    ``near``: the same of pairs that were really started within a day of each other. ``difference``:
    median of the absolute difference between modelled and real start, s. ``wait``: modelled ÷ real
    mean wait, None where nothing waited.
    """

    pairs: float
    near: float
    difference: float
    wait: float | None
