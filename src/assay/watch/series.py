"""One series of steps as it is followed: what the monitor sees, and what the summary needs."""

from __future__ import annotations

import math
from array import array
from collections import Counter, deque
from statistics import median

from assay.stats.changes.online import Monitor, period
from assay.stats.changes.step_change import Settings, StepChange
from assay.watch.model import NormalRange, StepSummary
from assay.watch.steps import Step

# A value a while is enough: shorter steps are taken together, so that following them stays cheap.
_SHORTEST = 0.005
_FIRST = 20
_MOST_STEPS = 4000


class StepSeries:
    """Steps of one source, in order.

    ``name``: where they come from, for people. ``last``: when the last one ended, or when what had
    been stopped went on, ns: steps from before a stop may be read after it.
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
        """How many there were."""
        return self.monitor.step + sum(step.count for step in self._waiting)

    def reach(self, time: int) -> None:
        """Nothing is waited for from before this, ns."""
        self.last = max(self.last or 0, time)

    def add(self, step: Step) -> list[tuple[Step, StepChange | None]]:
        """What the monitor was given for it (several steps in one, or none yet), and its word."""
        self.reach(step.time)
        if step.number is not None:
            self.number, self.of = step.number, step.of
        self._waiting.append(step)
        if self._group is None:
            return self._begin()
        return self._together()

    def _begin(self) -> list[tuple[Step, StepChange | None]]:
        """Steps are given one by one until it is known how short they are."""
        usual = median(step.seconds for step in self._waiting)
        if usual >= _SHORTEST:
            if len(self.values) + len(self._waiting) >= _FIRST:
                self._group = 1
            given, self._waiting = self._waiting, []
            return [self._give(step) for step in given]
        if len(self._waiting) < _FIRST:
            return []
        self._group = min(math.ceil(_SHORTEST / max(usual, 1e-9)), 1 << 20)
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

    def came_last(self, rank: int, seconds: float) -> None:
        """Whose step was over last, and how long after the first one's."""
        self._lasts.append((self.steps, rank, seconds))

    def latest(self, since: int) -> tuple[int, float] | None:
        """The rank that most often came last since that step, and how often (a share); None if
        ranks come together.
        """
        found = [(rank, late) for step, rank, late in self._lasts if step >= since]
        usual = self.monitor.normal
        if len(found) < 3 or usual is None or median(x[1] for x in found) < 0.05 * usual.median:
            return None
        rank, often = Counter(rank for rank, _ in found).most_common(1)[0]
        return rank, often / len(found)

    def began(self, step: int) -> int | None:
        """When that step began, ns: when the one before it ended."""
        before = None
        for at, time in reversed(self._times):
            before = time
            if at < step:
                break
        return before

    def left(self) -> float | None:
        """Seconds to the end by the program's own count of steps."""
        if self.number is None or self.of is None or len(self.values) < 3:
            return None
        recent = self.values[-100:]
        return max(self.of - self.number, 0) * sum(recent) / len(recent)

    def summary(self) -> StepSummary:
        """All of it."""
        import numpy as np

        from assay.stats.core.summary import summarise
        from assay.stats.core.totals import total_time

        monitor = self.monitor
        values = np.array(self.values)
        counts = np.array(self.counts)
        steps = self.steps
        steady = values[monitor.warmup :] if values.size > 2 * monitor.warmup else values
        found = summarise(steady) if steady.size else None
        goal = self.of or steps
        outliers = monitor.outliers
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
        )


def normal_range(monitor: Monitor) -> NormalRange | None:
    """The monitor's range, as it is written."""
    found = monitor.normal
    return NormalRange(found.n, found.low, found.median, found.high) if found else None
