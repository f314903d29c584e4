"""What a watched program's steps are judged by, and what is said of a change of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from assay.stats.changes.control_charts import ControlRange

Kind = Literal["slower", "unsteady", "drifting", "faster", "recovered", "settled"]
# What is worth an alarm; the others are reported without one.
ALARMS: frozenset[Kind] = frozenset({"slower", "unsteady", "drifting"})


@dataclass(frozen=True)
class Settings:
    """Settings of ``Monitor``.

    ``learn``: steps after warm-up that make the first normal range. ``steps_per_alarm``: how many
    clean steps there are, on average, to a false alarm of all charts together. ``least``: a change
    of the level that is worth telling, relative. ``unsteady``: the same of the spread, a ratio.
    ``settle``: after so many steps out of the range, that is how it is. ``reference``: steps that
    the range is made from at most. ``patience``: seconds without a step that are never a hang;
    ``hang``: nor is so many times the median, or three times the longest step yet; 0: ``patience``
    alone counts.
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
    """The steps changed. ``alarm``: for the worse.

    ``step``: where it was seen, ``since``: where it began by the best guess, both counted from 1.
    ``seconds``: the median since then; ``ratio``: over that of ``normal``, the range before.
    ``spread``: ratio of the spreads (median absolute deviations), if that is what changed.
    ``slope``: of a drift, relative to the normal median, a step.
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
        """Whether it is one that was asked to be warned of."""
        return self.kind in ALARMS
