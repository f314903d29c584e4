"""Estimates the time that a campaign still needs from its measurements."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal

from assay.campaign.cells.cell_state import CellState
from assay.campaign.cells.effort import Place, place_of
from assay.campaign.cells.launch_times import LaunchTimes
from assay.model.replication import Replication
from assay.units import rough_duration

Bound = Literal["about", "at most", "at least"]


@dataclass(frozen=True)
class TimeLeft:
    """Seconds to the end of a campaign, or a bound on this time."""

    seconds: float
    bound: Bound = "about"

    def __str__(self) -> str:
        """``about 28 s left``."""
        return f"{self.bound} {rough_duration(self.seconds)} left"


@dataclass(frozen=True)
class Outlook:
    """The cells that a campaign still measures, and its budget."""

    rule: Replication
    spent: float
    #: Measured cells that need more launches.
    waiting: Collection[CellState]
    launch_times: LaunchTimes
    #: Minimum seconds of the launches of cells without a launch.
    first: float = 0.0
    #: Whether any first launch is pending.
    begun: bool = False
    #: Whether the time of some first launches is unknown.
    unknown: bool = False
    #: Whether a placement search is unfinished.
    searching: bool = False

    def time_left(self) -> TimeLeft:
        """The time to the end of the campaign, including launches."""
        budget = max(self.rule.budget - self.spent, 0.0)
        if self.begun:
            return self._before_the_first(budget)
        if self.searching:
            return TimeLeft(budget, "at most")
        if self.rule.unbroken:
            return TimeLeft(budget)
        least = self._to_precision()
        if all(state.precise_enough for state in self.waiting):
            return TimeLeft(min(least, budget))
        # Imprecise cells receive all the remaining time if they need it.
        return TimeLeft(budget, "about" if 2.0 * least >= budget else "at most")

    def _before_the_first(self, budget: float) -> TimeLeft:
        """The time while some cells have no launch: only bounds are known."""
        if not self.rule.whole:
            return TimeLeft(max(budget, self.first), "at most")
        if self.first >= budget or self.unknown:
            return TimeLeft(self.first, "at least")
        return TimeLeft(budget, "at most")

    def _to_precision(self) -> float:
        """Seconds until all cells have the requested precision."""
        from assay.stats.cells.launch_rule import expected_launches

        seconds = 0.0
        launches: dict[Place, int] = defaultdict(int)
        for state in self.waiting:
            wanted = expected_launches([*state.values.values()], self.rule)
            missing = max(wanted - len(state.values), 1)
            seconds += missing * (state.wall or 0.0)
            place = place_of(state.cell)
            launches[place] = max(launches[place], missing)
        one_of = {place_of(state.cell): state.cell for state in self.waiting}
        return seconds + sum(
            count * self.launch_times.of([one_of[place]]) for place, count in launches.items()
        )


class Countdown:
    """The time left between two changes of a campaign's state, from a clock.

    A running launch is expected to take the time of its measurements. Once it takes longer, the
    time left is at least the time of the later launches.
    """

    def __init__(self) -> None:
        self._since = 0.0
        self._measuring = 0.0
        self._launch: list[float] = []
        self._expected = 0.0

    def changed(self, now: float) -> None:
        """Note that the state of the campaign has changed."""
        self._since = self._measuring = now
        self._launch, self._expected = [], 0.0

    def launched(self, now: float, expected: Iterable[float]) -> None:
        """Note that a launch has started.

        ``expected``: seconds of its measurements, in their order.
        """
        self._since = self._measuring = now
        self._launch = list(expected)
        self._expected = sum(self._launch)

    def measured(self, now: float) -> None:
        """Note that a measurement of the launch has ended."""
        self._measuring = now
        self._launch = self._launch[1:]

    def left(self, whole: TimeLeft, most: float, now: float) -> TimeLeft:
        """The time left now. ``whole``: the time left at the last change or at the launch's start;
        ``most``: seconds from then on after which measuring always ends.
        """
        passed = now - self._since
        end = max(most - passed, 0.0)
        if whole.bound != "about" or not self._expected:
            rest = whole.seconds - passed
            late = rest < 0.0 and whole.bound != "at most"
            return TimeLeft(min(max(rest, 0.0), end), "at least" if late else whole.bound)
        current, *following = self._launch or [0.0]
        measuring = now - self._measuring
        rest = max(whole.seconds - self._expected, 0.0) + sum(following)
        rest += max(current - measuring, 0.0)
        late = measuring > current and rest < end
        return TimeLeft(min(rest, end), "at least" if late else "about")
