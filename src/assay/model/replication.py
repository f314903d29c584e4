"""Rules of replication: precision, budget, launches, samples, sessions."""

from __future__ import annotations

import math

import msgspec

# In a plan with at least this many cells, one measurement takes at most this share of the time for
# a launch of all cells.
_MANY_CELLS, _LARGEST_PART = 8, 0.25
# A launch that takes longer than expected is ended when it exceeds the budget by this share or by
# these seconds, whichever is more.
OVERRUN_SHARE, OVERRUN = 0.1, 10.0


class Replication(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rules by which measuring stops."""

    #: Relative half-width of the ``confidence`` interval at which sampling stops, both within a
    #: launch and across launches.
    precision: float = 0.01
    confidence: float = 0.95
    #: Seconds for the whole plan, or for each session.
    budget: float = 100.0
    #: ``min_launches``, ``max_launches``: launches of a cell in one session. Six is the smallest
    #: number that yields a 95% interval of a median (1 - 2 * 0.5**6 = 0.969).
    min_launches: int = 6
    max_launches: int = 30
    min_samples: int = 5
    max_samples: int = 4000
    #: Time limit of a single measurement in seconds; None for a fair share of the budget.
    cell_budget: float | None = None
    #: Time that the sessions cover in seconds, instead of a number of sessions. All other rules
    #: apply to each session. A ``duration`` without ``every`` is one session that lasts this long,
    #: whatever its precision (``unbroken``).
    duration: float | None = None
    #: Seconds between the beginnings of sessions.
    every: float | None = None
    #: Number of sessions.
    sessions: int | None = None
    #: Whether every cell is measured at least once, even if this exceeds the budget. Otherwise
    #: cells that don't fit in the budget are left out.
    whole: bool = False

    @property
    def planned(self) -> int:
        """The number of planned sessions."""
        if self.every is None:
            return 1
        if self.sessions is not None:
            return self.sessions
        # A session begins at every multiple of ``every`` below the duration.
        return max(math.ceil((self.duration or 0.0) / self.every - 1e-9), 1)

    def longest(self, cells: int) -> float:
        """Seconds that one measurement of a plan of this many cells should take at most; may be
        inf.

        In a plan with few cells, only the budget limits a measurement. In a plan with many cells,
        one cell must not take the time of all others.
        """
        if cells < _MANY_CELLS or self.cell_budget is not None or self.whole:
            return math.inf
        return _LARGEST_PART * self.budget / self.min_launches

    @property
    def overrun(self) -> float:
        """Seconds by which measurements may exceed the budget before they are ended."""
        return max(OVERRUN_SHARE * self.budget, OVERRUN)

    @property
    def repeated(self) -> bool:
        """Whether several sessions are planned."""
        return self.planned > 1

    @property
    def unbroken(self) -> bool:
        """Whether measuring continues until ``duration`` is over, whatever the precision."""
        return self.duration is not None and self.every is None
