"""Which launch of a program comes next, within a budget of time.

The first launch always runs: it is the program's own run, and shows how long a launch takes. Each
further launch starts only if the longest launch so far would fit into the rest of the budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from assay.trace.launches import LaunchKind
from assay.units import format_duration

# Without a budget of the user: this many times the first launch, plus this time, s.
TIMES, EXTRA = 2.0, 60.0
# Plain launches: the usual number, and how many precede the launch in turn.
MOST_PLAIN, _BEFORE_TURNS = 5, 1
# The longest time in which ranks take turns, and the shortest that decides anything, s. A launch
# may take longer than the longest so far by this factor.
_MOST_TURNS, _LEAST_TURNS, _LONGER = 30.0, 1.0, 1.1


@dataclass(frozen=True)
class NextLaunch:
    """The launch to start."""

    kind: LaunchKind
    #: How long the ranks of a node take turns, s.
    turns: float = 0.0


@dataclass
class LaunchPlan:
    """The launches so far, and their budget."""

    #: The user's budget for all launches (s), or None.
    asked: float | None
    #: Maximum number of plain launches.
    most: int = MOST_PLAIN
    #: From start to end of each launch, s.
    walls: list[float] = field(default_factory=list)
    kinds: list[LaunchKind] = field(default_factory=list)
    #: Whether ranks share nodes and compute for much of the time.
    turns_wanted: bool = False
    left_out: list[str] = field(default_factory=list)

    @property
    def budget(self) -> float:
        """Time for all launches, s; before the first launch the user's, or 0."""
        if self.asked is not None:
            return self.asked
        return TIMES * self.walls[0] + EXTRA if self.walls else 0.0

    def done(self, kind: LaunchKind, wall: float) -> None:
        """Note a finished launch. ``wall``: from its start to its end, s."""
        self.kinds.append(kind)
        self.walls.append(wall)

    def next(self) -> NextLaunch | None:
        """The next launch; None: enough, or no time."""
        if not self.walls:
            return NextLaunch("plain")
        plain = self.kinds.count("plain")
        if self.turns_wanted and "in turn" not in self.kinds and plain >= _BEFORE_TURNS:
            turns = min(_MOST_TURNS, self._rest - self._longest)
            if turns >= _LEAST_TURNS:
                return NextLaunch("in turn", turns)
            self._leave_out(
                "the launch in which the ranks of a node compute in turn, which takes "
                f"{format_duration(self._longest + _LEAST_TURNS)} or longer"
            )
            self.turns_wanted = False
        if plain >= self.most:
            return None
        if self._rest < self._longest:
            if plain < min(self.most, 3):
                self._leave_out(
                    f"launch {plain + 1} as usual, which takes about "
                    f"{format_duration(self._longest)}"
                )
            return None
        return NextLaunch("plain")

    @property
    def _rest(self) -> float:
        return self.budget - sum(self.walls)

    @property
    def _longest(self) -> float:
        """What a launch takes at most, s: the longest plain one so far, and some more."""
        pairs: Sequence[tuple[LaunchKind, float]] = list(zip(self.kinds, self.walls, strict=True))
        return _LONGER * max(wall for kind, wall in pairs if kind == "plain")

    def _leave_out(self, what: str) -> None:
        rest = format_duration(max(self._rest, 0.0))
        self.left_out.append(
            f"There was no time for {what}: {rest} of the budget were left (`--budget`)."
        )
