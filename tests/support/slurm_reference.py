"""A slow model of Slurm's schedulers, step by step as the source of 22.05 has them.

For whole nodes of one kind in one partition, first in first out, with ``select/linear`` and
``sched/backfill``: ``_schedule`` (slurmctld/job_scheduler.c), ``_slurmctld_background``
(slurmctld/controller.c), ``_attempt_backfill`` (sched/backfill/backfill.c), ``_job_test`` and
``_will_run_test`` (select/linear/select_linear.c). Decisions take no time.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from assay.usage.jobs import Floats, Ints

Nodes = set[int]
# SchedulerParameters batch_sched_delay and sched_interval, and the period of the background loop.
_BATCH_DELAY, _FULL_INTERVAL, _TICK = 3, 60, 1.01


@dataclass
class Job:
    index: int
    submit: float
    run: float
    minutes: int
    nodes: int
    start: float = math.nan
    begun: int = 0  # the start as Slurm has it, whole s
    end: float = math.nan
    where: Nodes = field(default_factory=set)
    backfilled: bool = False

    @property
    def predicted(self) -> int:
        return self.begun + 60 * self.minutes


@dataclass
class Slot:
    begin: int
    end: float
    free: Nodes


def lowest(free: Nodes, count: int) -> Nodes | None:
    """Where a job starts: ``_pick_best_nodes`` adds nodes in the order of slurm.conf's lines.

    A line per node; it stops as soon as there are enough.
    """
    return set(sorted(free)[:count]) if len(free) >= count else None


def tightest(free: Nodes, count: int) -> Nodes | None:
    """Where a job is planned (``_job_test``): the tightest run of consecutive nodes.

    Without one that suffices, the longest, and so on for the rest.
    """
    if len(free) < count:
        return None
    runs: list[list[int]] = []
    for node in sorted(free):
        if runs and runs[-1][-1] == node - 1:
            runs[-1].append(node)
        else:
            runs.append([node])
    chosen: Nodes = set()
    while len(chosen) < count:
        left = count - len(chosen)
        enough = [run for run in runs if len(run) >= left]
        best = min(enough, key=len) if enough else max(runs, key=len)
        chosen.update(best[:left])
        runs.remove(best)
    return chosen


class Slurm:
    """``simulate()`` fills in the jobs. ``tick``, ``cycle``: phases of the two loops in s.

    ``launch``: s from the allocation to the start of the program, ``done``: from its end until the
    nodes are free; ``cycles``: times of backfilling as recorded, instead of ``interval``.
    """

    def __init__(
        self,
        jobs: Sequence[Job],
        size: int,
        *,
        interval: int = 2,
        tick: float = 0.5,
        cycle: float = 0.7,
        launch: float | Floats = 0.0,
        done: float | Floats = 0.0,
        cycles: Sequence[float] | None = None,
    ) -> None:
        self.jobs = jobs
        self.size = size
        self.interval, self.tick, self.cycle = interval, tick, cycle
        self.launch, self.done = launch, done
        self.cycles = cycles
        self.waiting: list[Job] = []
        self.running: list[Job] = []
        self.completing: Nodes = set()
        self.requested = 0
        self.last = self.last_full = -1000
        self.events: list[tuple[float, int, str, Job | None]] = []
        self.counter = itertools.count()

    def at(self, time: float, what: str, job: Job | None = None) -> None:
        heapq.heappush(self.events, (time, next(self.counter), what, job))

    def simulate(self) -> None:
        for job in self.jobs:
            self.at(job.submit, "submit", job)
        self.at(self.tick, "tick")
        if self.cycles is None:
            self.at(self.cycle, "cycle")
        else:
            for time in self.cycles:
                self.at(time, "cycle")
        left = 3 * len(self.jobs)  # submit, end, free of each
        while left:
            now, _, what, job = heapq.heappop(self.events)
            if job is not None:
                left -= 1
            getattr(self, f"on_{what}")(now, job)

    def on_submit(self, now: float, job: Job) -> None:
        self.waiting.append(job)
        self.requested += 1

    def on_tick(self, now: float, _: None) -> None:
        second = int(now)
        if second - self.last_full >= _FULL_INTERVAL:
            self.last_full = self.last = second
            self.requested = 0
            self.main(now)
        elif self.requested and second - self.last >= _BATCH_DELAY:
            self.last = second
            self.requested = 0
            self.main(now)
        self.at(now + _TICK, "tick")

    def on_cycle(self, now: float, _: None) -> None:
        self.backfill(now)
        if self.cycles is None:
            self.at(now + self.interval, "cycle")

    def on_end(self, now: float, job: Job) -> None:
        self.running.remove(job)
        self.completing |= job.where
        done = self.done if isinstance(self.done, float) else float(self.done[job.index])
        self.at(now + done, "free", job)

    def on_free(self, now: float, job: Job) -> None:
        self.completing -= job.where
        self.requested += 1

    @property
    def idle(self) -> Nodes:
        used = set().union(*(job.where for job in self.running))
        return set(range(self.size)) - used - self.completing

    def start(self, job: Job, now: float, where: Nodes, *, backfilled: bool) -> None:
        job.start, job.begun, job.where, job.backfilled = now, int(now), where, backfilled
        launch = self.launch if isinstance(self.launch, float) else float(self.launch[job.index])
        job.end = now + launch + job.run
        self.waiting.remove(job)
        self.running.append(job)
        self.at(job.end, "end", job)

    def main(self, now: float) -> None:
        for job in list(self.waiting):
            where = lowest(self.idle, job.nodes)
            if where is None:
                return
            self.start(job, now, where, backfilled=False)

    def backfill(self, now: float) -> None:
        second = int(now)
        everything = set(range(self.size))
        slots = [Slot(second, math.inf, set(everything))]
        for job in list(self.waiting):
            later = second
            while True:
                begin, later = later, 0
                end = max(begin, second) + 60 * job.minutes
                free = set(everything)
                for slot, following in itertools.zip_longest(slots, slots[1:]):
                    looks_on = slot.end > begin and following is not None and not later
                    if looks_on and not following.free <= free & slot.free:
                        later = int(slot.end)
                    if slot.end <= begin:
                        continue
                    if slot.begin > end:
                        break
                    free &= slot.free
                if len(free) < job.nodes:
                    if later:
                        continue
                    break
                when, where = self.will_run(job, free, second)
                if where is None:
                    if later:
                        continue
                    break
                when = max(when, begin)
                if when <= second and where & self.completing:
                    when, later = second + 1, 0
                elif when <= second:
                    chosen = lowest(self.idle & free, job.nodes)
                    if chosen is not None:
                        self.start(job, now, chosen, backfilled=True)
                        # It occupies its nodes for others through ``self.running`` only.
                        break
                    later = 0
                if later and when > later:
                    continue
                if when > second and any(
                    slot.begin < when + 60 * job.minutes
                    and slot.end > when
                    and not slot.free >= where
                    for slot in slots
                ):
                    later = when
                    continue
                reserve(slots, when, when + 60 * job.minutes, where)
                break

    def will_run(self, job: Job, free: Nodes, second: int) -> tuple[int, Nodes | None]:
        """When and where the job could run on these nodes, as running jobs reach their limits."""
        used = [(other.predicted, other.where) for other in self.running]
        taken = set().union(*(where for _, where in used))
        where = tightest(free - taken, job.nodes)
        if where is not None:
            return second, where
        for end, nodes in sorted(used, key=lambda pair: pair[0]):
            taken -= nodes
            where = tightest(free - taken, job.nodes)
            if where is not None:
                return (second + 1 if end <= second else end), where
        return 0, None


def reserve(slots: list[Slot], begin: int, end: int, nodes: Nodes) -> None:
    """Take the nodes out of the plan for this time."""
    for moment in (begin, end):
        for index, slot in enumerate(slots):
            if slot.begin < moment < slot.end:
                slots.insert(index + 1, Slot(moment, slot.end, set(slot.free)))
                slot.end = moment
                break
    for slot in slots:
        if slot.begin >= begin and slot.end <= end:
            slot.free -= nodes
    for index in range(len(slots) - 1, 0, -1):
        if slots[index].free == slots[index - 1].free:
            slots[index - 1].end = slots[index].end
            del slots[index]


def simulated(
    submit: Iterable[float],
    run: Iterable[float],
    minutes: Iterable[float],
    nodes: Iterable[float],
    size: int,
    **options: object,
) -> list[Job]:
    """The jobs, with their starts."""
    jobs = [
        Job(index, float(when), float(runs), int(limit), int(count))
        for index, (when, runs, limit, count) in enumerate(
            zip(submit, run, minutes, nodes, strict=True)
        )
    ]
    Slurm(jobs, size, **options).simulate()  # type: ignore[arg-type]
    return jobs


def ranks(start: Floats) -> Ints:
    """The order of starts; simultaneous ones in the order of submission."""
    import numpy as np

    return np.argsort(start, kind="stable")
