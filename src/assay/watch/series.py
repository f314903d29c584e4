"""One series of steps: the values for the monitor and for the summary."""

from __future__ import annotations

import math
from array import array
from collections import Counter, deque
from statistics import median

from assay.stats.changes.online import Monitor, period
from assay.stats.changes.step_change import Settings, StepChange
from assay.watch.model import NormalRange, StepSummary
from assay.watch.steps import Step

# Minimum seconds per value: shorter steps are grouped, which limits the cost.
_SHORTEST = 0.005
_FIRST = 20
_MOST_STEPS = 4000


class StepSeries:
    """Steps of one source, in order.

    ``name``: the source, for display. ``last``: when the last step ended, or when a stopped program
    was continued, ns.
    """

    def __init__(self, name: str, settings: Settings) -> None:
        self.name = name
        self.monitor = Monitor(settings)
        self.values = array("d")
        self.counts = array("q")
        self.last: int | None = None
        self.number: int | None = None
        self.of: int | None = None
        self.hanging: float | None = None
        self._group: int | None = None
        self._waiting: list[Step] = []
        self._times: deque[tuple[int, int]] = deque(maxlen=_MOST_STEPS)
        self._lasts: deque[tuple[int, int, float]] = deque(maxlen=_MOST_STEPS)

    @property
    def steps(self) -> int:
        """Number of steps so far."""
        return self.monitor.step + sum(step.count for step in self._waiting)

    def reach(self, time: int) -> None:
        """Set the time (ns) from which the wait for the next step counts."""
        self.last = max(self.last or 0, time)

    def add(self, step: Step) -> list[tuple[Step, StepChange | None]]:
        """Add a step; returns the values passed to the monitor (none yet, or steps grouped into
        one), each with the change that the monitor found.
        """
        self.reach(step.time)
        if step.number is not None:
            self.number, self.of = step.number, step.of
        self._waiting.append(step)
        if self._group is None:
            return self._begin()
        return self._together()

    def _begin(self) -> list[tuple[Step, StepChange | None]]:
        """Pass steps on individually until their usual length is known."""
        usual = median(step.seconds for step in self._waiting)
        if usual >= _SHORTEST:
            if len(self.values) + len(self._waiting) >= _FIRST:
                self._group = 1
            given, self._waiting = self._waiting, []
            return [self._give(step) for step in given]
        if len(self._waiting) < _FIRST:
            return []
        self._group = _group_of(usual)
        return self._together()

    def _together(self) -> list[tuple[Step, StepChange | None]]:
        assert self._group is not None
        given: list[Step] = []
        count, spent, start = 0, 0.0, 0
        for index, step in enumerate(self._waiting):
            count += step.count
            spent += step.seconds * step.count
            if count >= self._group:
                given.append(Step(spent / count, count, step.time, step.number, step.of))
                count, spent, start = 0, 0.0, index + 1
        self._waiting = self._waiting[start:]
        return [self._give(step) for step in given]

    def _give(self, step: Step) -> tuple[Step, StepChange | None]:
        self.values.append(step.seconds)
        self.counts.append(step.count)
        change = self.monitor.add(step.seconds, step.count)
        self._times.append((self.monitor.step, step.time))
        return step, change

    def overdue(self, waited: float) -> bool:
        """Whether ``waited`` seconds without a step are a hang."""
        return self.monitor.overdue(waited, self._ungrouped)

    @property
    def _ungrouped(self) -> list[float]:
        """Short steps that are not passed on yet, because their usual length is unknown."""
        return [] if self._group is not None else [step.seconds for step in self._waiting]

    @property
    def needed(self) -> int | None:
        """Number of steps needed before changes can be noticed; None if there are enough steps."""
        if self.monitor.normal is not None:
            return None
        short = self._ungrouped
        group = self._group or (_group_of(median(short)) if short else 1)
        return (self.monitor.settings.learn + self.monitor.warmup) * group

    def came_last(self, rank: int, seconds: float) -> None:
        """Note the rank that ended a step last, and how much later than the first."""
        self._lasts.append((self.steps, rank, seconds))

    def latest(self, since: int) -> tuple[int, float] | None:
        """The rank that came last most often since that step, and the share of steps; None if
        ranks end steps at about the same time.
        """
        found = [(rank, late) for step, rank, late in self._lasts if step >= since]
        usual = self.monitor.normal
        if len(found) < 3 or usual is None or median(x[1] for x in found) < 0.05 * usual.median:
            return None
        rank, often = Counter(rank for rank, _ in found).most_common(1)[0]
        return rank, often / len(found)

    def began(self, step: int) -> int | None:
        """Time at which that step began (the previous one ended), ns."""
        before = None
        for at, time in reversed(self._times):
            before = time
            if at < step:
                break
        return before

    def left(self) -> float | None:
        """Estimated seconds to the end by the program's own count of steps."""
        if self.number is None or self.of is None or len(self.values) < 3:
            return None
        recent = self.values[-100:]
        return max(self.of - self.number, 0) * sum(recent) / len(recent)

    def summary(self) -> StepSummary:
        """The summary of all steps."""
        import numpy as np

        from assay.stats.core.summary import summarise
        from assay.stats.core.totals import total_time

        monitor = self.monitor
        short = self._ungrouped
        values = np.array([*self.values, *short])
        counts = np.array([*self.counts, *(1 for _ in short)])
        steps = self.steps
        steady = values[monitor.warmup :] if values.size > 2 * monitor.warmup else values
        found = summarise(steady) if steady.size else None
        goal = self.of or steps
        outliers = monitor.apart(short)
        return StepSummary(
            source=self.name,
            steps=steps,
            grouped=self._group or 1,
            warmup=monitor.warmup,
            median=found.median if found else None,
            min=found.min if found else None,
            max=found.max if found else None,
            mean=float(np.average(values, weights=counts)) if values.size else None,
            cov=found.cov if found and steady.size > 1 else None,
            p95=found.p95 if found and steady.size >= 20 else None,
            p99=found.p99 if found and steady.size >= 100 else None,
            normal=normal_range(monitor),
            outliers=len(outliers),
            largest=max((seconds for _, seconds in outliers), default=None),
            every=period([step for step, _ in outliers]),
            walltime_steps=goal if values.size else None,
            walltime=total_time(values, goal) if values.size else None,
            needed=self.needed,
            silence=monitor.silence(short),
        )


def _group_of(usual: float) -> int:
    """Number of steps of this length per value."""
    return min(max(math.ceil(_SHORTEST / max(usual, 1e-9)), 1), 1 << 20)


def normal_range(monitor: Monitor) -> NormalRange | None:
    """The monitor's normal range in the form of the log."""
    found = monitor.normal
    return NormalRange(found.n, found.low, found.median, found.high) if found else None
