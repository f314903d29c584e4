"""Replays of a load with the chosen policy, with others, and what-ifs over resampled weeks."""

from __future__ import annotations

import dataclasses
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from assay.arrays import Floats
from assay.errors import AssayError
from assay.subjects.usage.queue.model import QueueFindings, QueueLoad, QueuePolicy, QueueWhatIf
from assay.subjects.usage.queue.trust import what_if_confidence
from assay.subjects.usage.queue.words import result_sentence
from assay.units import Interval, counted
from assay.usage.queue.fit import fit_of
from assay.usage.queue.intervals import (
    HIGH_LOAD,
    LEAST_RESAMPLES,
    LEAST_WEEKS,
    absolute_interval,
    relative_interval,
)
from assay.usage.queue.load import ReplayedLoad
from assay.usage.queue.measure import agreement_of, measure_of, real_measure
from assay.usage.queue.model import QueueFit, QueueMeasure
from assay.usage.queue.policies import POLICIES, NamedModel, model_of, with_sharing
from assay.usage.queue.whatif import Case, WhatIf
from assay.usage.scheduler.machine import Machine
from assay.usage.scheduler.policy import Policy
from assay.usage.scheduler.schedule import Schedule, Workload
from assay.usage.workload.change import offered_load
from assay.usage.workload.resample import resampled, weeks_of

# Replays a load on a machine with a policy: the native program, or a plain one in tests.
Replay = Callable[[Workload, Machine, Policy], Schedule]
# Called with the number of finished replays and of all replays.
Report = Callable[[int, int], None]

# What the model leaves out for every load.
_UNKNOWN = (
    "Users don't react to waits: jobs are submitted at the same times in all cases.",
    "The model has no holds, no dependencies, no limits per user, and only its own priorities.",
)


@dataclass(frozen=True)
class _Result:
    """The measures of a case and of its what-ifs, of one resampled load."""

    base: QueueMeasure
    changed: list[QueueMeasure]


def find_queue(
    load: ReplayedLoad,
    model: NamedModel,
    what_ifs: Sequence[WhatIf],
    replay: Replay,
    *,
    resamples: int,
    seed: int,
    others: bool = True,
    report: Report = lambda _done, _all: None,
    first: Schedule | None = None,
    absent: float = 0.0,
) -> QueueFindings:
    """The findings.

    ``others``: whether other policies are compared. ``first``: the schedule of the load by the
    model, if it is already known. ``absent``: share of the jobs that the log lacks. Replays run
    in one thread per processor. Raises AssayError for a negative number of resamples.
    """
    if resamples < 0:
        raise AssayError(
            "The number of resamples is negative.", where="--resamples", fix="Write 0 or more."
        )
    policy = policy_of(model, load)
    base = Case(load.workload, load.machine, policy)
    weeks = weeks_of(load.workload, load.end)
    if weeks.whole < LEAST_WEEKS or not what_ifs:
        resamples = 0
    named = [model_of(name) for name in POLICIES if others and name != model.name]
    total = 1 + len(named) + len(what_ifs) + resamples * (1 + len(what_ifs))
    count = _Counter(total, report)

    def measured(case: Case) -> QueueMeasure:
        schedule = replay(case.workload, case.machine, case.policy)
        count.add()
        return measure_of(case.workload, schedule, case.machine.processors, case.job)

    def one(index: int) -> _Result:
        drawn = resampled(load.workload, weeks, [seed, 2, index]).workload
        case = Case(drawn, load.machine, policy)
        return _Result(
            measured(case),
            [
                measured(each.apply(case, np.random.default_rng([seed, 3, index, place])))
                for place, each in enumerate(what_ifs)
            ],
        )

    schedule = first
    if schedule is None:
        schedule = replay(load.workload, load.machine, policy)
    count.add()
    own = measure_of(load.workload, schedule, load.machine.processors)
    policies = [_policy(model, own, schedule, load, chosen=True)]
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        compared = [
            (each, pool.submit(replay, load.workload, load.machine, policy_of(each, load)))
            for each in named
        ]
        changed = [
            pool.submit(measured, each.apply(base, np.random.default_rng([seed, 1, place])))
            for place, each in enumerate(what_ifs)
        ]
        drawn = [pool.submit(one, index) for index in range(resamples)]
        try:
            for each, future in compared:
                other = future.result()
                count.add()
                measure = measure_of(load.workload, other, load.machine.processors)
                policies.append(_policy(each, measure, other, load, chosen=False))
            measures = [future.result() for future in changed]
            results = [future.result() for future in drawn]
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    real, agreement, fit = None, None, None
    if load.start is not None:
        fit = fit_of(load.workload, load.start, schedule.start, load.groups)
        real = real_measure(load.workload, load.start, load.machine.processors)
        agreement = agreement_of(schedule.start, load.start, own.wait, real.wait)
    replayed = _load(load, weeks.whole, absent)
    return QueueFindings(
        load=replayed,
        model=model.name,
        replay=own,
        real=real,
        agreement=agreement,
        fit=fit,
        policies=policies,
        what_ifs=[
            _what_if(
                each,
                _Changed(own, measure, [r.base for r in results], [r.changed[i] for r in results]),
                replayed,
                fit,
            )
            for i, (each, measure) in enumerate(zip(what_ifs, measures, strict=True))
        ],
        resamples=resamples,
        seed=seed,
        unknown=[*load.unknown, *_UNKNOWN, *_few(weeks.whole, what_ifs, load)],
    )


class _Counter:
    """Counts finished replays; threads add one at a time."""

    def __init__(self, total: int, report: Report) -> None:
        self._lock = threading.Lock()
        self._done, self._total, self._report = 0, total, report

    def add(self) -> None:
        with self._lock:
            self._done += 1
            self._report(self._done, self._total)


def policy_of(model: NamedModel, load: ReplayedLoad) -> Policy:
    """The policy. If jobs of the load share nodes, jobs of a named policy also share nodes."""
    return with_sharing(model, "processor") if load.sharing else model.policy


def _few(weeks: int, what_ifs: Sequence[WhatIf], load: ReplayedLoad) -> list[str]:
    if not what_ifs:
        return []
    if weeks < LEAST_WEEKS:
        return [
            f"What-ifs have no intervals: the load has {counted(weeks, 'whole week')}, too few "
            f"to resample; {LEAST_WEEKS} are needed."
        ]
    if offered_load(load.workload, load.machine.processors) >= HIGH_LOAD:
        return [
            "At a load this high, queues last for weeks, and intervals over resampled weeks are "
            "too narrow."
        ]
    return []


def _load(load: ReplayedLoad, weeks: int, absent: float) -> QueueLoad:
    submit = load.workload.submit
    return QueueLoad(
        source=load.source,
        jobs=len(load.workload),
        left_out=load.left_out,
        processors=load.machine.processors,
        nodes=load.machine.size,
        offered=offered_load(load.workload, load.machine.processors),
        span=float(submit[-1] - submit[0]),
        weeks=weeks,
        requests=load.requests,
        notes=load.notes,
        absent=absent,
    )


def _policy(
    model: NamedModel,
    measure: QueueMeasure,
    schedule: Schedule,
    load: ReplayedLoad,
    *,
    chosen: bool,
) -> QueuePolicy:
    started = ~np.isnan(schedule.start)
    fit = None if load.start is None else fit_of(load.workload, load.start, schedule.start)
    return QueuePolicy(
        name=model.name,
        words=model.words,
        measure=measure,
        backfilled=float(np.mean(schedule.backfilled[started])) if started.any() else 0.0,
        longest_queue=schedule.longest_queue,
        chosen=chosen,
        fit=None if fit is None else fit.factor,
    )


@dataclass(frozen=True)
class _Changed:
    """The measures of the load before and after a change, and those of resampled loads."""

    own: QueueMeasure
    changed: QueueMeasure
    bases: Sequence[QueueMeasure]
    others: Sequence[QueueMeasure]

    def relative(self, name: str, factor: float) -> tuple[float | None, Interval | None]:
        """The relative change of a quantity and its interval, extended by the fit's factor."""
        before, after = _column(self.bases, name), _column(self.others, name)
        start = float(getattr(self.own, name))
        if start <= 0.0:
            return None, None
        kept = before > 0.0
        change = float(getattr(self.changed, name)) / start - 1.0
        return change, relative_interval(change, after[kept] / before[kept] - 1.0, factor)


def _column(measures: Sequence[QueueMeasure], name: str) -> Floats:
    return np.array([float(getattr(each, name)) for each in measures])


def _what_if(
    what_if: WhatIf, measures: _Changed, load: QueueLoad, fit: QueueFit | None
) -> QueueWhatIf:
    own, changed = measures.own, measures.changed
    factor = 1.0 if fit is None else fit.factor
    used = changed.utilisation - own.utilisation
    uses = _column(measures.others, "utilisation") - _column(measures.bases, "utilisation")
    wait, wait_ci95 = measures.relative("wait", factor)
    slowdown, slowdown_ci95 = measures.relative("slowdown", factor)
    found = QueueWhatIf(
        text=what_if.text,
        words=what_if.words,
        measure=changed,
        request=what_if.request,
        wait=wait,
        wait_ci95=wait_ci95,
        slowdown=slowdown,
        slowdown_ci95=slowdown_ci95,
        utilisation=used,
        utilisation_ci95=absolute_interval(used, uses),
        sentence="",
    )
    confidence, why = what_if_confidence(found, load, fit, own, len(measures.bases))
    sentence = ""
    if confidence is not None:
        sentence = result_sentence(what_if, found, own)
        if len(measures.bases) >= LEAST_RESAMPLES and wait is not None and wait_ci95 is None:
            sentence += " No interval: the result holds only for this order of weeks."
    return dataclasses.replace(found, sentence=sentence, confidence=confidence, confidence_why=why)
