"""Waits, slowdowns and utilisation of a schedule, and how its order agrees with the real one."""

from __future__ import annotations

import numpy as np

from assay.arrays import Floats, Ints
from assay.usage.analysis.model import LEVELS
from assay.usage.analysis.prepared import SHORTEST
from assay.usage.jobs import State
from assay.usage.queue.model import QueueAgreement, QueueMeasure
from assay.usage.scheduler.schedule import Schedule, Workload

_DAY = 86400.0
# Loads with at most this many jobs are compared by all pairs of jobs.
_MOST_COMPARED = 5000


def measure_of(
    workload: Workload, schedule: Schedule, processors: int, job: Ints | None = None
) -> QueueMeasure:
    """The measure of a schedule on a machine with this many processors.

    ``job``: for each row, the job that it is a part of (``change.SplitLoad``); None if each row is
    a job. The wait of a divided job is the sum of the waits of its parts.
    """
    submit, start, end = schedule.submit, schedule.start, schedule.end
    ended = ~np.isnan(start) & ~np.isnan(end)
    wait = np.where(ended, start - submit, 0.0)
    run = np.where(ended, end - start, 0.0)
    whole = ended
    if job is not None:
        _, job = np.unique(job, return_inverse=True)
        wait, run = np.bincount(job, wait), np.bincount(job, run)
        whole = np.bincount(job, ~ended) == 0
    begin, finish = _span(workload)
    return _measure(
        wait[whole],
        run[whole],
        _busy(start, end, workload.processors, (begin, finish)) / max(processors, 1),
        killed=int((schedule.state == State.TIMEOUT).sum()),
        refused=int((schedule.state == State.CANCELLED).sum()),
        lost=float(schedule.lost.sum()),
    )


def real_measure(workload: Workload, start: Floats, processors: int) -> QueueMeasure:
    """The same measure for the real starts of a log's jobs."""
    end = start + workload.run
    return _measure(
        np.maximum(start - workload.submit, 0.0),
        workload.run,
        _busy(start, end, workload.processors, _span(workload)) / max(processors, 1),
        killed=0,
        refused=0,
        lost=0.0,
    )


def _span(workload: Workload) -> tuple[float, float]:
    own = workload.submit[workload.after < 0]
    return (float(own.min()), float(own.max())) if own.size else (0.0, 0.0)


def _busy(start: Floats, end: Floats, processors: Ints, span: tuple[float, float]) -> float:
    """Mean number of processors in use in a span."""
    length = span[1] - span[0]
    if length <= 0:
        return 0.0
    inside = np.clip(end, *span) - np.clip(start, *span)
    return float(np.nansum(processors * inside)) / length


def _measure(
    wait: Floats, run: Floats, utilisation: float, *, killed: int, refused: int, lost: float
) -> QueueMeasure:
    if not wait.size:
        zeros = [0.0] * len(LEVELS)
        return QueueMeasure(
            jobs=0,
            wait=0.0,
            wait_quantiles=zeros,
            slowdown=1.0,
            slowdown_median=1.0,
            utilisation=utilisation,
            killed=killed,
            refused=refused,
            lost=lost,
        )
    slowdown = np.maximum((wait + run) / np.maximum(run, SHORTEST), 1.0)
    return QueueMeasure(
        jobs=int(wait.size),
        wait=float(wait.mean()),
        wait_quantiles=[float(value) for value in np.quantile(wait, LEVELS)],
        slowdown=float(slowdown.mean()),
        slowdown_median=float(np.median(slowdown)),
        utilisation=utilisation,
        killed=killed,
        refused=refused,
        lost=lost,
    )


def agreement_of(start: Floats, real: Floats, wait: float, real_wait: float) -> QueueAgreement:
    """How modelled starts agree with the real ones; jobs that never started in the model are left
    out. ``wait``, ``real_wait``: mean waits, s.
    """
    known = ~np.isnan(start)
    start, real = start[known], real[known]
    return QueueAgreement(
        pairs=same_order(real, start),
        near=same_order(real, start, within=_DAY),
        difference=float(np.median(np.abs(start - real))) if start.size else 0.0,
        wait=wait / real_wait if real_wait > 0 else None,
    )


def same_order(real: Floats, modelled: Floats, within: float = np.inf) -> float:
    """Share of pairs of jobs, with different real starts at most ``within`` s apart, that have the
    same order in both; pairs with equal modelled starts count half. 1 if there is no such pair. If
    there are more than 5,000 jobs, 5,000 random ones are compared.
    """
    if real.size > _MOST_COMPARED:
        some = np.random.default_rng(0).choice(real.size, _MOST_COMPARED, replace=False)
        real, modelled = real[some], modelled[some]
    order = np.argsort(real, kind="stable")
    real, modelled = real[order], modelled[order]
    first = np.searchsorted(real, real, "right")
    last = np.searchsorted(real, real + within, "right") if np.isfinite(within) else real.size
    pairs = int(np.sum(last - first))
    if not pairs:
        return 1.0
    total = 0.0
    ends = np.broadcast_to(last, real.shape)
    for index in range(real.size):
        later = modelled[first[index] : ends[index]]
        total += np.count_nonzero(later > modelled[index])
        total += 0.5 * np.count_nonzero(later == modelled[index])
    return float(total / pairs)
