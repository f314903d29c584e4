"""Findings of the scheduler's model: the load, its replay, other policies, and what-ifs."""

from __future__ import annotations

import msgspec

from assay.usage.queue.model import Bounds, QueueAgreement, QueueLeftOut, QueueMeasure


class QueueLoad(msgspec.Struct, frozen=True):
    """The load that is replayed, and the machine.

    ``source``: log, or the name of a synthetic model. ``jobs``: replayed; ``left_out``: of the log,
    and why. ``processors``, ``nodes``: of the machine. ``offered``: processor time of the jobs ÷ of
    the machine between first and last submission. ``span``: s between these. ``weeks``: whole ones.
    ``requests``: where the requested times come from, a sentence. ``notes``: what was assumed, each
    a sentence.
    """

    source: str
    jobs: int
    left_out: list[QueueLeftOut]
    processors: int
    nodes: int
    offered: float
    span: float
    weeks: int
    requests: str
    notes: list[str]


class QueuePolicy(msgspec.Struct, frozen=True):
    """A policy: its ``name``, what it is in ``words``, and its ``measure``.

    ``backfilled``: share of the jobs that were started before one that stood before them.
    ``longest_queue``: most jobs that waited at a time. ``chosen``: whether what-ifs are changes of
    this one.
    """

    name: str
    words: str
    measure: QueueMeasure
    backfilled: float
    longest_queue: int
    chosen: bool


class QueueWhatIf(msgspec.Struct, frozen=True):
    """A change of the load, the machine or the policy.

    ``text``: as requested. ``words``: what was changed. ``measure``: of the changed load.
    ``request``: relative change of the requested times, None where they don't change by a factor.
    ``wait``, ``slowdown``: relative changes of their means, ``utilisation``: absolute change; None
    where nothing waits. Each with the 95% interval over resampled weeks
    (``intervals.interval_of``), None where there is none: ``wait_ci95``, ``slowdown_ci95``,
    ``utilisation_ci95``. ``sentence``: the result.
    """

    text: str
    words: str
    measure: QueueMeasure
    request: float | None
    wait: float | None
    wait_ci95: Bounds | None
    slowdown: float | None
    slowdown_ci95: Bounds | None
    utilisation: float
    utilisation_ci95: Bounds | None
    sentence: str


class QueueFindings(msgspec.Struct, frozen=True):
    """What the model of a scheduler makes of a load.

    ``load``: what is replayed. ``model``: name of the chosen policy. ``replay``: its measure.
    ``real``: of the same jobs by the log's starts, None where the log has no waits; ``agreement``:
    of the replay with them. ``policies``: the chosen one and others on the same load. ``what_ifs``:
    in the order requested. ``resamples``: number of resampled loads, ``seed``: of all random
    numbers. ``unknown``: what the model doesn't know, each a sentence.
    """

    load: QueueLoad
    model: str
    replay: QueueMeasure
    real: QueueMeasure | None
    agreement: QueueAgreement | None
    policies: list[QueuePolicy]
    what_ifs: list[QueueWhatIf]
    resamples: int
    seed: int
    unknown: list[str]
