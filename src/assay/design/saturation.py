"""The share of a machine's processors that a mix of jobs keeps busy, by the model of a scheduler.

All jobs wait from the start, in the order of the log. They are started first come, first served,
with EASY backfilling of one reservation among the next 100. The share is computed until jobs with
three quarters of the work have started. Up to then, the queue is long, so processors are idle only
because no waiting job fits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.arrays import Floats
from assay.kernels.builds.scheduler import build_scheduler
from assay.usage.scheduler.machine import EqualNodes, Machine
from assay.usage.scheduler.policy import Policy, Timing
from assay.usage.scheduler.replay import replay_all
from assay.usage.scheduler.schedule import Schedule, Workload
from assay.usage.workload.change import at_most

POLICY = Policy(backfill="easy", timing=Timing(depth=100))
STARTED = 0.75  # share of the work
# Number of sizes of machines for which the share is computed. Between them, it is interpolated. It
# stays constant above this multiple of the largest job, or if the longest queue is no longer deep.
_POINTS, _MUCH_LARGER = 12, 32
# Number of draws of the mix for each of these sizes: stretches of consecutive jobs, with
# replacement.
DRAWS, _STRETCH, _SEED = 10, 50, 20050401
# The queue has work for this number of the mix's mean run times, within bounds of its length.
_DEEP, _FEWEST, _MOST = 6.0, 500, 8_000


@dataclass(frozen=True)
class JobMix:
    """Jobs in the order of submission: ``processors``, ``run`` (s) and ``limit`` (s) of each."""

    processors: NDArray[np.int64]
    run: Floats
    limit: Floats

    @property
    def largest(self) -> int:
        """Maximum number of processors of a job."""
        return int(self.processors.max())

    @cached_property
    def work(self) -> Floats:
        """Use of each job, processor × s."""
        return np.asarray(self.processors * self.run)


@dataclass(frozen=True)
class BusyShares:
    """The busy ``share`` by number of ``processors``, in ascending order."""

    processors: Floats
    share: Floats
    #: Standard deviation of the logarithm of the share over draws of the mix; mean over all sizes.
    spread: float

    def at(self, processors: Floats) -> Floats:
        """The share for numbers of processors, interpolated linearly in their logarithm."""
        return np.interp(np.log(np.maximum(processors, 1.0)), np.log(self.processors), self.share)


def busy_shares(mix: JobMix, least: int, most: int, program: Path | None = None) -> BusyShares:
    """The shares from ``least`` to ``most`` processors.

    ``program``: the native model; None builds it. Jobs larger than the machine run on the whole
    machine, longer in proportion. Raises AssayError if the model can't be built.
    """
    program = program or build_scheduler()
    top = max(min(most, _MUCH_LARGER * mix.largest, int(_MOST / _waiting(mix, 1))), least)
    grid = np.unique(np.round(np.geomspace(least, top, _POINTS)).astype(np.int64))
    cases = [(_queue(mix, int(size), draw), int(size)) for size in grid for draw in range(DRAWS)]
    found = replay_all(
        [(queue, _machine(size), POLICY) for queue, size in cases], program=program, processes=2
    )
    shares = np.array(
        [
            busy_share(queue, schedule, size)
            for (queue, size), schedule in zip(cases, found, strict=True)
        ]
    ).reshape(len(grid), DRAWS)
    return BusyShares(
        grid.astype(np.float64),
        shares.mean(axis=1),
        float(np.mean(np.log(shares).std(axis=1, ddof=1))),
    )


def busy_share(queue: Workload, schedule: Schedule, processors: int) -> float:
    """The share of all processors in use until ``STARTED`` of the work has started."""
    work = queue.processors * queue.run
    order = np.argsort(schedule.start, kind="stable")
    begun = np.cumsum(work[order])
    place = int(np.searchsorted(begun, STARTED * begun[-1]))
    until = float(schedule.start[order[min(place, len(order) - 1)]])
    if until <= 0.0:  # everything fits at once: nothing waits
        return 1.0
    inside = np.clip(np.minimum(schedule.end, until) - schedule.start, 0.0, None)
    return float(np.sum(queue.processors * inside) / (processors * until))


def _machine(processors: int) -> Machine:
    return Machine(nodes=(EqualNodes(count=processors),))


def _waiting(mix: JobMix, processors: int) -> float:
    """The number of jobs that keep a machine of this size busy for ``_DEEP`` mean run times."""
    mean_run = float(np.sum(mix.work * mix.run) / np.sum(mix.work))
    return _DEEP * processors * mean_run / float(np.mean(mix.work))


def _queue(mix: JobMix, processors: int, draw: int) -> Workload:
    """The jobs that wait at once for a machine of this size."""
    number = int(np.clip(np.ceil(_waiting(mix, processors)), _FEWEST, _MOST))
    generator = np.random.default_rng([_SEED, processors, draw])
    begins = generator.integers(len(mix.run), size=number // _STRETCH + 1)
    rows = (begins[:, None] + np.arange(_STRETCH)).ravel()[:number] % len(mix.run)
    none, zero = np.zeros(number, dtype=np.int64), np.zeros(number)
    jobs = Workload(
        submit=zero, run=mix.run[rows], limit=mix.limit[rows], nodes=none,
        processors=mix.processors[rows], memory=zero, gpus=none, user=none, account=none,
        partition=none, qos=none, after=none - 1, think=zero, users=[""], accounts=[""],
        qualities=[""],
    )  # fmt: skip
    return at_most(jobs, processors)
