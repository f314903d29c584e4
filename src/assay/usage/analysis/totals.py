"""Sums and distributions over all chosen jobs of a log, collected chunk by chunk."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from assay.arrays import Bools, Floats
from assay.usage.analysis.distribution import Distribution
from assay.usage.analysis.efficiency import no_amounts
from assay.usage.analysis.prepared import JobChunk, PreparedJobs, ran_unseen
from assay.usage.jobs import State


@dataclass
class JobGroup:
    """Jobs with a common property: their number and their processor time (processors × s)."""

    jobs: int = 0
    use: float = 0.0
    #: ``of``, ``use_of``: number and processor time of the jobs that could have the property.
    of: int = 0
    use_of: float = 0.0

    def add(self, chunk: JobChunk, mine: Bools, of: Bools | None = None) -> None:
        """Add the jobs of one mask, out of the jobs of another."""
        self.jobs += int(mine.sum())
        self.use += float(chunk.use[mine].sum())
        if of is not None:
            self.of += int(of.sum())
            self.use_of += float(chunk.use[of].sum())


@dataclass
class Totals:
    """Totals of the chosen jobs: ``running`` and ``never_started``, distributions (times in s,
    ratios used ÷ requested), and ``use`` in processors × s.
    """

    jobs: int = 0
    running: int = 0
    never_started: int = 0
    use: float = 0.0
    wait: Distribution = field(default_factory=Distribution)
    slowdown: Distribution = field(default_factory=Distribution)
    run: Distribution = field(default_factory=Distribution)
    requested: Distribution = field(default_factory=Distribution)
    time_ratio: Distribution = field(default_factory=Distribution)
    memory_ratio: Distribution = field(default_factory=Distribution)
    #: CPU efficiencies of jobs.
    cpu_ratio: Distribution = field(default_factory=Distribution)
    #: Sums of what the jobs used and got (``efficiency.AMOUNTS``).
    amounts: Floats = field(default_factory=no_amounts)
    #: Whether any job that ended has a state.
    outcomes: bool = False
    #: Whether any job that ended had a time limit.
    limited: bool = False
    #: Number of jobs that ended, by state.
    timed_out: JobGroup = field(default_factory=JobGroup)
    #: Jobs that ran as long as requested.
    overran: JobGroup = field(default_factory=JobGroup)
    with_gpus: JobGroup = field(default_factory=JobGroup)
    in_arrays: JobGroup = field(default_factory=JobGroup)
    #: The most processors per node that any job had.
    per_node: int = 0
    #: Jobs with fewer processors than their nodes have. ``shared``: number of these jobs that
    #: shared a node; None if unknown for all.
    partly: JobGroup = field(default_factory=JobGroup)
    shared: JobGroup | None = None


def totals_of(data: PreparedJobs, shared: Bools | None) -> Totals:
    """The totals of the chosen jobs. ``shared``: which jobs shared a node; None if unknown."""
    totals = Totals(shared=None if shared is None else JobGroup())
    per_node = 0.0
    for chunk in data.chunks():
        _add(totals, chunk)
        known = _on_nodes(chunk)
        ratio = chunk.processors[known] / chunk.jobs.number("nodes")[known]
        per_node = max(per_node, float(ratio.max(initial=0.0)))
    totals.per_node = int(np.ceil(per_node))
    for chunk in data.chunks():
        known = _on_nodes(chunk)
        partly = known & (chunk.processors < chunk.jobs.number("nodes") * totals.per_node)
        totals.partly.add(chunk, partly, known)
        if shared is not None and totals.shared is not None:
            totals.shared.add(chunk, partly & shared[chunk.rows])
    return totals


def _on_nodes(chunk: JobChunk) -> Bools:
    known: Bools = chunk.counted & chunk.chosen & (chunk.jobs.number("nodes") > 0)
    return known


def _add(totals: Totals, chunk: JobChunk) -> None:
    chosen, jobs = chunk.chosen, chunk.jobs
    totals.jobs += int(chosen.sum())
    totals.running += int((chunk.running & chosen).sum())
    totals.never_started += int((np.isnan(chunk.start) & chosen & ~ran_unseen(jobs)).sum())
    totals.use += float(chunk.use[chosen].sum())
    requested = jobs.number("requested_time")
    for spread, values in (
        (totals.wait, chunk.wait),
        (totals.slowdown, chunk.slowdown),
        (totals.run, chunk.run),
        (totals.requested, requested),
    ):
        spread.add(values[chosen])
    ended = chosen & ~np.isnan(chunk.run)
    states = jobs.code("state")
    totals.outcomes |= bool(np.any(states[ended] != State.UNKNOWN))
    limited = ended & (requested > 0.0)
    totals.limited |= bool(limited.any())
    timed_out = ended & (states == State.TIMEOUT)
    totals.timed_out.add(chunk, timed_out, limited | timed_out)
    overran = limited & (chunk.run >= requested)
    totals.overran.add(chunk, overran, limited)
    totals.time_ratio.add(chunk.run[limited] / requested[limited])
    totals.memory_ratio.add(chunk.used.memory()[ended])
    totals.cpu_ratio.add(chunk.used.cpu()[ended])
    totals.amounts += chunk.amounts[:, chosen].sum(axis=1)
    totals.with_gpus.add(chunk, chosen & (jobs.number("gpus") > 0))
    totals.in_arrays.add(chunk, chosen & (jobs.code("array") >= 0))
