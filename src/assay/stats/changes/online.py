"""Online detection of changes of step times.

The method is distribution-free. Each step is ranked among those before it: while nothing changes,
such sequential ranks are independent and uniform, whatever the steps' distribution (Bhattacharya &
Frierson 1981; McDonald 1990), so that sums of their normal scores (CUSUM charts, Page 1954) have a
known rate of false alarms. It therefore also applies to skewed steps, to a longer step every
hundredth time, and to single interruptions. For steps that depend on their predecessors the limits
rise with the integrated autocorrelation time (``correlation.py``).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

import numpy as np

from assay.stats.changes.control_charts import (
    ControlChart,
    ControlRange,
    Reference,
    score_of,
    width_of,
)
from assay.stats.changes.step_change import ALARMS, Kind, Settings, StepChange
from assay.stats.core.correlation import evidence_of_dependence, integrated_time
from assay.stats.core.warmup import mid_ranks, warmup

# A run of consecutive steps beyond the outlier fence is a change if a run of this length occurs by
# chance only once in _RUN_LENGTH steps, and has at least _LEAST_RUN steps.
_RUN_LENGTH, _LEAST_RUN = 1e5, 3
# Steps are held back from the reference while a chart is above this share of its limit, up to
# _MOST_HELD of them.
_ON_ITS_WAY, _MOST_HELD = 0.4, 100
# Standard deviations of the first correlations beyond which steps count as dependent: limits that
# rise by chance delay alarms. The autocorrelation time is multiplied by _DEPENDENT for the bias of
# its estimates, and by 1 + _UNKNOWN / steps while steps are few; chosen by the rates on AR(1) steps
# of 0.3 to 0.9 (docs/methods/watch.md).
_EVIDENCE, _DEPENDENT, _UNKNOWN = 1.5, 1.2, 10.0
# A drift is distinguished from a step by the rank correlation of time and values since the onset.
_DRIFT_STEPS, _DRIFT_CORRELATION, _DRIFT_EVIDENCE = 24, 0.6, 4.0
# Limit of Page's test that steps are back in the normal range, in nats.
_BACK = 5.0
_LEAST_SHIFT = 0.8
# A lasting alarm is reported again when the slowdown has grown by half.
_WORSE = 1.5
_KEPT_RECENT = 2000
# A silence is judged from this number of steps on; up to _SOME_STEPS steps it must be longer by
# this factor, because the first steps are often short.
_LEAST_STEPS, _SOME_STEPS, _FEW_STEPS = 3, 8, 3.0


def _deviation(values: Sequence[float]) -> float:
    centre = median(values)
    return median([abs(value - centre) for value in values])


class Monitor:
    """Takes step times one by one and reports changes.

    ``step``: number of the latest step, from 1. ``normal`` is None while the range is being
    learned. ``out``: the lasting alarm, if any. ``outliers``: steps far beyond the range outside
    alarms, as (step, seconds).
    """

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self.step = 0
        self.warmup = 0
        self.out: StepChange | None = None
        self.outliers: list[tuple[int, float]] = []
        self.longest = 0.0
        self._first: list[float] = []
        self._reference = Reference()
        self._normal: Reference | None = None
        self._normal_range: ControlRange | None = None
        self._range_at = 0
        self._fence = math.inf
        self._run = 0
        self._run_since = 0
        self._longest_run = _LEAST_RUN
        self._recent: deque[tuple[int, float]] = deque(maxlen=_KEPT_RECENT)
        # Three charts and runs of outliers raise alarms and share the alarm rate; two more charts
        # detect that steps became faster.
        each = 4.0 * self.settings.steps_per_alarm
        self._up = (ControlChart(1.0, each), ControlChart(0.25, each))
        self._down = (ControlChart(1.0, each), ControlChart(0.25, each))
        self._wide = ControlChart(0.5, each)
        self._time = 1.0
        self._time_at = 0
        self._held: list[float] = []
        self._out_since = 0
        self._drift_at = 0
        self._back = 0.0
        self._back_since = 0
        self._shift = 0.0

    @property
    def normal(self) -> ControlRange | None:
        """The range that steps are compared with."""
        return self._normal_range

    def silence(self, more: Sequence[float] = ()) -> float | None:
        """Seconds without a step that count as a hang; None while no time does.

        ``more``: further steps, in seconds, that are not added yet. Before the normal range is
        known the steps so far are its substitute, with a greater factor for very few.
        """
        settings = self.settings
        if settings.hang == 0.0:
            return settings.patience if self.step > 0 or more else None
        longest = max([self.longest, *more])
        if self._normal_range is not None:
            usual = self._normal_range.median
        else:
            first = [*self._first, *more]
            if len(first) < _LEAST_STEPS:
                return None
            usual = median(first)
            if len(first) < _SOME_STEPS:
                factor = _FEW_STEPS
                return max(
                    factor * settings.hang * usual, 3.0 * longest, 2.0 * factor * settings.patience
                )
        return max(settings.hang * usual, 3.0 * longest, settings.patience)

    def overdue(self, waited: float, more: Sequence[float] = ()) -> bool:
        """Whether ``waited`` seconds without a step are a hang; ``more`` as for ``silence``."""
        limit = self.silence(more)
        return limit is not None and waited > limit

    def apart(self, more: Sequence[float] = ()) -> list[tuple[int, float]]:
        """Steps far beyond the others, as (step, seconds): ``outliers``, or, while there is no
        normal range, steps beyond the range of all steps so far. ``more`` as for ``silence``.
        """
        if self._normal_range is not None:
            return self.outliers
        first = [*self._first, *more]
        if len(first) < _SOME_STEPS:
            return []
        fence = _fence_of(Reference(first))
        return [(step, seconds) for step, seconds in enumerate(first, 1) if seconds > fence]

    def add(self, seconds: float, steps: int = 1) -> StepChange | None:
        """Adds the next step, or the mean of ``steps`` steps; returns a change if one is found."""
        self.step += steps
        self.longest = max(self.longest, seconds)
        if self._normal_range is None:
            self._learn(seconds)
            return None
        if seconds > self._fence and self.out is None:
            self.outliers.append((self.step, seconds))
            if self._run == 0:
                self._run_since = self.step
            self._run += 1
        else:
            self._run = 0
        self._recent.append((self.step, seconds))
        if self.out is not None:
            found = self._look_back(seconds) or self._look_for_drift()
            if found is not None:
                return found
        if len(self._reference) < self.settings.learn:
            self._reference.add(seconds)
            self._grow()
            return self._settle()
        share = self._reference.share(seconds)
        score, width = score_of(share), width_of(share)
        for chart in self._up:
            chart.add(score, self.step)
        for chart in self._down:
            chart.add(-score, self.step)
        self._wide.add(width, self.step)
        self._take_in(seconds)
        self._grow()
        return self._judge() or self._settle()

    def _take_in(self, seconds: float) -> None:
        """Adds to the reference, except while a chart approaches its limit: otherwise changed steps
        would soon be ranked among each other.
        """
        self._held.append(seconds)
        if len(self._held) < _MOST_HELD and any(
            chart.value > _ON_ITS_WAY * chart.limit * self._time
            for chart in (*self._up, *self._down, self._wide)
        ):
            return
        for value in self._held:
            if len(self._reference) < self.settings.reference:
                self._reference.add(value)
        self._held.clear()

    def _learn(self, seconds: float) -> None:
        """Collect the first steps, then drop the warm-up."""
        self._first.append(seconds)
        learn = self.settings.learn
        if len(self._first) == learn:
            self.warmup = warmup(self._first)
        if len(self._first) < learn + self.warmup:
            return
        self._start(self._first[self.warmup :])
        self._first = []

    def _start(self, values: Sequence[float], *, normal: bool = True) -> None:
        """Rank among these values from now on; if ``normal`` they make the normal range."""
        self._reference = Reference(values)
        for chart in (*self._up, *self._down, self._wide):
            chart.reset(self.step)
        self._time, self._time_at = 1.0, 0
        self._held.clear()
        if normal:
            self._normal = None
            self._range_at = 0
        self._grow()

    def _grow(self) -> None:
        """Update the autocorrelation time when the reference has grown by half, and the range when
        it has grown by a fifth.
        """
        size = len(self._reference)
        if size >= self.settings.learn and size >= 1.5 * self._time_at:
            self._time_at = size
            series = np.array(self._reference.in_time)
            time = 1.0
            if evidence_of_dependence(series) > _EVIDENCE:
                time = max(_DEPENDENT * float(integrated_time(mid_ranks(series))), 1.0)
            self._time = time * (1.0 + _UNKNOWN / size)
        if self._normal is None and size and size >= 1.2 * self._range_at:
            self._range_at = size
            self._set_normal(self._reference)

    def _set_normal(self, reference: Reference) -> None:
        self._normal_range = reference.range()
        self._fence = _fence_of(reference)
        self._longest_run = self._usual_run(reference)

    def _usual_run(self, reference: Reference) -> int:
        """The number of consecutive steps beyond the fence that is as rare as a false alarm may be.

        Runs of r such steps have a frequency of about p^r, where p is the share of steps beyond the
        fence or, if they cluster, the share of steps that follow another such step.
        """
        beyond = [value > self._fence for value in reference.in_time]
        count = sum(beyond)
        share = (count + 1) / (len(beyond) + 2)
        if count:
            share = max(share, sum(a and b for a, b in pairwise(beyond)) / count)
        if share >= 0.9:
            return len(beyond)
        return max(math.ceil(math.log(1.0 / _RUN_LENGTH) / math.log(share)), _LEAST_RUN)

    def _judge(self) -> StepChange | None:
        """The change that a chart beyond its limit shows, if any."""
        if self._run >= self._longest_run and self.out is None:
            return self._changed(self._run_since, worse=True)
        for chart in self._up:
            if chart.value > chart.limit * self._time:
                return self._changed(chart.since, worse=True)
        if self._wide.value > self._wide.limit * self._time:
            return self._changed(self._wide.since, worse=True, minimum=5)
        for chart in self._down:
            if chart.value > chart.limit * self._time:
                return self._changed(chart.since, worse=False)
        return None

    def _changed(self, since: int, *, worse: bool, minimum: int = 1) -> StepChange | None:
        after = self._since(since)
        before = self._before(since)
        if len(after) < minimum or len(before) < 2:
            return None
        normal = self._normal.range() if self._normal else Reference(before).range()
        basis = self._normal.in_time if self._normal else before
        found = self._name(since, after, basis, normal, worse=worse)
        if found is None or (self.out and found.kind in ALARMS and not self._grown(found)):
            # The change is too small: the charts restart, and the reference stays.
            for each in (*self._up, *self._down, self._wide):
                each.reset(self.step)
            return None
        if found.kind == "faster" and self.out is None:
            self._start(after)
            return found
        if found.kind in ("faster", "recovered"):
            return self._returned(found)
        if self._normal is None:
            self._normal = Reference(before)
            self._set_normal(self._normal)
            self._out_since, self._drift_at = since, _DRIFT_STEPS
        self.out = found
        self.outliers = [each for each in self.outliers if each[0] < since]
        self._shift = self._mean_score(after, found.kind)
        self._back, self._back_since = 0.0, self.step + 1
        self._start(after, normal=False)
        return found

    def _grown(self, found: StepChange) -> bool:
        """Whether the change is sufficiently worse than the last alarm to be reported."""
        assert self.out is not None
        return found.ratio - 1.0 >= _WORSE * max(self.out.ratio - 1.0, self.settings.least)

    def _name(
        self,
        since: int,
        after: Sequence[float],
        before: Sequence[float],
        normal: ControlRange,
        *,
        worse: bool,
    ) -> StepChange | None:
        """The kind of change of the steps since then against those before; None if too small."""
        latest = median(after)
        ratio = latest / normal.median if normal.median > 0.0 else math.inf
        least = self.settings.least
        known = (self.step, since, latest, ratio, normal)
        if not worse:
            if self.out is None:
                return StepChange("faster", *known) if ratio <= 1.0 - least else None
            if ratio <= 1.0 + 0.5 * max(self.out.ratio - 1.0, 0.0):
                return StepChange("recovered" if self._within(latest, normal) else "faster", *known)
            return None
        if ratio >= 1.0 + least:
            slope = _slope(after)
            if slope is None:
                return StepChange("slower", *known)
            return StepChange("drifting", *known, slope=slope / normal.median)
        usual = _deviation(before)
        spread = _deviation(after) / usual if usual > 0.0 else math.inf
        # A spread that is small relative to the steps is not reported.
        if spread >= self.settings.unsteady and _deviation(after) >= 0.5 * least * normal.median:
            return StepChange("unsteady", *known, spread=spread)
        return None

    def _within(self, latest: float, normal: ControlRange) -> bool:
        """Whether steps with the median ``latest`` are no faster than normal ones."""
        return latest >= min(normal.low, (1.0 - self.settings.least) * normal.median)

    def _look_back(self, seconds: float) -> StepChange | None:
        """Whether steps are back in the range, by Page's test of one level against the other."""
        assert self._normal is not None and self.out is not None
        share = self._normal.share(seconds)
        wide = self.out.kind == "unsteady"
        score = width_of(share) if wide else score_of(share)
        gain = self._shift * (0.5 * self._shift - score)
        self._back += gain
        if self._back <= 0.0:
            self._back, self._back_since = 0.0, self.step + 1
        if self._back < _BACK * self._time:
            return None
        after = self._since(self._back_since)
        if len(after) < 3:
            return None
        latest = median(after)
        normal = self._normal.range()
        ratio = latest / normal.median if normal.median > 0.0 else math.inf
        kind: Kind = "recovered" if self._within(latest, normal) else "faster"
        return self._returned(
            StepChange(
                kind=kind,
                step=self.step,
                since=self._back_since,
                seconds=latest,
                ratio=ratio,
                normal=normal,
            )
        )

    def _look_for_drift(self) -> StepChange | None:
        """Whether a reported step upwards is a drift: checked at doubling numbers of steps."""
        assert self.out is not None and self._normal is not None
        past = self.step - self._out_since
        if self.out.kind != "slower" or past < self._drift_at:
            return None
        self._drift_at = 2 * past
        slope = _slope(self._since(self._out_since))
        if slope is None:
            return None
        normal = self._normal.range()
        latest = median(self._since(self.step - _DRIFT_STEPS // 2))
        ratio = latest / normal.median if normal.median > 0.0 else math.inf
        self.out = StepChange(
            kind="drifting",
            step=self.step,
            since=self._out_since,
            seconds=latest,
            ratio=ratio,
            normal=normal,
            slope=slope / normal.median if normal.median > 0.0 else None,
        )
        return self.out

    def _returned(self, found: StepChange) -> StepChange:
        self.out = None
        if found.kind == "faster":
            self._start(self._since(found.since))
        else:
            assert self._normal is not None
            self._start(self._normal.in_time)
        return found

    def _settle(self) -> StepChange | None:
        """After ``settle`` steps out of the range, the present steps become the range."""
        if self.out is None or self.step - self.out.since < self.settings.settle:
            return None
        assert self._normal is not None
        after = self._since(self.step - self.settings.settle // 2)
        if len(after) < self.settings.learn:
            return None
        normal = self._normal.range()
        latest = median(after)
        ratio = latest / normal.median if normal.median > 0.0 else math.inf
        found = StepChange(
            kind="settled",
            step=self.step,
            since=self.out.since,
            seconds=latest,
            ratio=ratio,
            normal=normal,
        )
        self.out = None
        self._start(after)
        return found

    def _mean_score(self, after: Sequence[float], kind: Kind) -> float:
        assert self._normal is not None
        shares = [self._normal.share(value) for value in after]
        scores = [width_of(s) if kind == "unsteady" else score_of(s) for s in shares]
        return max(sum(scores) / len(scores), _LEAST_SHIFT)

    def _since(self, step: int) -> list[float]:
        return [value for at, value in self._recent if at >= step]

    def _before(self, step: int) -> list[float]:
        """The reference without the steps added since ``step``."""
        late = max(sum(1 for at, _ in self._recent if at >= step) - len(self._held), 0)
        size = len(self._reference)
        if size >= self.settings.reference:
            return self._reference.in_time
        return self._reference.in_time[: max(size - late, 0)]


def _fence_of(reference: Reference) -> float:
    """The time beyond which a step is far longer than the steps of the reference (Tukey 1977)."""
    lower, middle, upper = (reference.quantile(share) for share in (0.25, 0.5, 0.75))
    return max(upper + 3.0 * (upper - lower), 1.1 * middle)


def _slope(values: Sequence[float]) -> float | None:
    """Rise in seconds per step if the values rise steadily; None otherwise."""
    n = len(values)
    if n < _DRIFT_STEPS:
        return None
    array = np.asarray(values)
    ranks = mid_ranks(array)
    if np.ptp(ranks) == 0.0:
        return None
    correlation = float(np.corrcoef(np.arange(n), ranks)[0, 1])
    if correlation < _DRIFT_CORRELATION or correlation * math.sqrt(n - 1) < _DRIFT_EVIDENCE:
        return None
    # A Theil-Sen slope over pairs half a window apart.
    half = n // 2
    return float(np.median(array[half : 2 * half] - array[:half]) / half)


def period(steps: Sequence[int]) -> int | None:
    """The period of these step numbers, in steps, if they are regular; None for fewer than four."""
    if len(steps) < 4:
        return None
    gaps = np.diff(np.asarray(steps))
    usual = float(np.median(gaps))
    regular = np.abs(gaps - usual) <= max(0.05 * usual, 0.5)
    return round(usual) if usual > 1.0 and float(regular.mean()) >= 0.8 else None
