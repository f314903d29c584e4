"""Settings for monitoring a program's step times, and the changes that are reported."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from assay.stats.changes.control_charts import ControlRange

Kind = Literal["slower", "unsteady", "drifting", "faster", "recovered", "settled"]
# Kinds that raise an alarm; the others are reported without one.
ALARMS: frozenset[Kind] = frozenset({"slower", "unsteady", "drifting"})


@dataclass(frozen=True)
class Settings:
    """Settings of ``Monitor``.

    ``learn``: steps after warm-up that make up the first normal range. ``steps_per_alarm``: average
    number of steps without a change per false alarm of all charts together. ``least``: the minimum
    relative change of the level that is reported. ``unsteady``: the same for the spread, a ratio.
    ``settle``: number of steps out of the range after which the range is renewed. ``reference``:
    maximum number of steps that the range is computed from. A hang is a time without a step longer
    than ``patience`` seconds, than ``hang`` times the median, and than three times the longest
    step; if ``hang`` is 0 ``patience`` alone counts.
    """

    learn: int = 20
    steps_per_alarm: float = 10_000.0
    least: float = 0.02
    unsteady: float = 1.6
    settle: int = 300
    reference: int = 4000
    patience: float = 5.0
    hang: float = 10.0


@dataclass(frozen=True)
class StepChange:
    """A change of the step times.

    ``step``: where it was detected, ``since``: the estimate of where it began, both counted from 1.
    ``seconds``: the median since then; ``ratio``: over that of ``normal``, the range before.
    ``spread``: ratio of the spreads (median absolute deviations), if the spread changed. ``slope``:
    of a drift, per step, relative to the normal median.
    """

    kind: Kind
    step: int
    since: int
    seconds: float
    ratio: float
    normal: ControlRange
    spread: float | None = None
    slope: float | None = None

    @property
    def alarm(self) -> bool:
        """Whether it raises an alarm: a change for the worse."""
        return self.kind in ALARMS
