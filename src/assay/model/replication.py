"""When enough has been measured: precision, budget, launches, sessions."""

from __future__ import annotations

import math

import msgspec


class Replication(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When enough has been measured.

    ``precision``: relative half-width of the ``confidence`` interval at which sampling stops, both
    within a launch and across launches. ``budget``: seconds for the whole plan. ``launches``:
    fewest and most launches of a cell; six is the fewest that can carry a 95% interval of a median
    (1 - 2 * 0.5**6 = 0.969). ``cell_budget``: seconds a single measurement may take, None for a
    fair share of the budget.

    ``every``: seconds between the beginnings of sessions, ``sessions`` how many there are;
    ``duration`` says it in seconds. Each session is measured by all of the above, with a budget of
    its own. A ``duration`` without ``every`` is one session that goes on for so long, however
    precise it is by then (``unbroken``).
    """

    precision: float = 0.01
    confidence: float = 0.95
    budget: float = 100.0
    min_launches: int = 6
    max_launches: int = 30
    min_samples: int = 5
    max_samples: int = 4000
    cell_budget: float | None = None
    duration: float | None = None
    every: float | None = None
    sessions: int | None = None

    @property
    def planned(self) -> int:
        """How many sessions there are to be."""
        if self.every is None:
            return 1
        if self.sessions is not None:
            return self.sessions
        # A session begins at every multiple of ``every`` below the duration.
        return max(math.ceil((self.duration or 0.0) / self.every - 1e-9), 1)

    @property
    def repeated(self) -> bool:
        """Whether there are several sessions, and time passes between them."""
        return self.planned > 1

    @property
    def unbroken(self) -> bool:
        """Whether measuring goes on until its time is over, precise or not."""
        return self.duration is not None and self.every is None
