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
    """Settings of ``Monitor``."""

    #: Steps after warm-up that make up the first normal range.
    learn: int = 20
    #: Average number of steps without a change per false alarm of all charts together.
    steps_per_alarm: float = 10_000.0
    #: Minimum relative change of the level that is reported.
    least: float = 0.02
    #: Minimum change of the spread that is reported, as a ratio.
    unsteady: float = 1.6
    #: Number of steps outside the range after which the range is renewed.
    settle: int = 300
    #: Maximum number of steps that the range is computed from. A hang is a time without a step
    #: longer than ``patience`` seconds, than ``hang`` times the median, and than three times the
    #: longest step; if ``hang`` is 0, only ``patience`` counts.
    reference: int = 4000
    patience: float = 5.0
    hang: float = 10.0


@dataclass(frozen=True)
class StepChange:
    """A change of the step times."""

    kind: Kind
    #: Step at which the change was detected. ``since`` is the step at which it is estimated to have
    #: begun. Both count from 1.
    step: int
    since: int
    #: Median time of the steps since then, s.
    seconds: float
    #: ``seconds`` divided by the median of ``normal``, the range before the change.
    ratio: float
    normal: ControlRange
    #: Ratio of the spreads (median absolute deviations), if the spread changed.
    spread: float | None = None
    #: Increase per step of a drift, relative to the normal median.
    slope: float | None = None

    @property
    def alarm(self) -> bool:
        """Whether it raises an alarm: a change for the worse."""
        return self.kind in ALARMS
