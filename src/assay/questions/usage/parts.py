"""Jobs by queue, group, user, class of users, size, run time and outcome."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from assay.questions.usage.model import LEVELS, UsagePart, UsageSpread
from assay.questions.usage.prepared import Mask, PreparedJobs
from assay.usage.jobs import Floats, Ints, State
from assay.usage.timeline import occupied

# Most parts of a kind that are named.
MOST_PARTS = 20
# Classes of users, by their rank in use: the share of the use that a class ends at.
_CLASSES = (("first half of the use", 0.5), ("next 40% of the use", 0.9))
_OTHERS = "the rest"
_LENGTHS = (
    (0.0, "up to 1 min"),
    (60.0, "1 min to 10 min"),
    (600.0, "10 min to 1 h"),
    (3600.0, "1 h to 6 h"),
    (21600.0, "6 h to 24 h"),
    (86400.0, "over 24 h"),
)
_STATES = {
    State.COMPLETED: "completed",
    State.FAILED: "failed",
    State.CANCELLED: "cancelled",
    State.TIMEOUT: "timed out",
    State.OUT_OF_MEMORY: "out of memory",
    State.NODE_FAILURE: "node failure",
    State.PREEMPTED: "preempted",
    State.RUNNING: "running",
    State.PENDING: "pending",
    State.UNKNOWN: "unknown",
}


def spread_of(values: Floats) -> UsageSpread | None:
    """The distribution of the known values; None if there is none."""
    known = values[~np.isnan(values)]
    if not known.size:
        return None
    quantiles = [float(value) for value in np.quantile(known, LEVELS)]
    return UsageSpread(int(known.size), float(known.mean()), quantiles)


def share(part: float, whole: float) -> float:
    """A share, 0 of nothing."""
    return part / whole if whole else 0.0


class PartBuilder:
    """Builds the parts of the chosen jobs. ``stated``: whether their utilisation is stated."""

    def __init__(self, data: PreparedJobs, *, stated: bool) -> None:
        self._stated = stated
        self._data = data
        self._jobs = int(data.chosen.sum())
        self._use = float(data.use[data.chosen].sum())
        span = np.array([data.begin, data.finish])
        self._available = float(data.capacity.available(data.busy).integral(span)[0])
        self._users = data.jobs.code("user")
        self._with_users = any(data.jobs.users)

    def part(self, name: str, mask: Mask) -> UsagePart:
        """The chosen jobs of a mask."""
        data = self._data
        mine = mask & data.chosen
        use = float(data.use[mine].sum())
        waits = data.wait[mine]
        waits = waits[~np.isnan(waits)]
        slowdowns = data.slowdown[mine]
        slowdowns = slowdowns[~np.isnan(slowdowns)]
        kept = mine & data.counted
        begin, end = (
            np.clip(each[kept], data.begin, data.finish) for each in (data.start, data.end)
        )
        held = float(np.sum(data.processors[kept] * (end - begin)))
        return UsagePart(
            name=name,
            jobs=int(mine.sum()),
            share_of_jobs=share(int(mine.sum()), self._jobs),
            use=use,
            share_of_use=share(use, self._use),
            utilisation=held / self._available if self._stated else None,
            users=int(np.unique(self._users[mine]).size) if self._with_users else None,
            wait=float(np.median(waits)) if waits.size else None,
            wait90=float(np.quantile(waits, 0.9)) if waits.size else None,
            slowdown=float(np.median(slowdowns)) if slowdowns.size else None,
        )

    def by_name(self, column: str, names: Sequence[str], shown: bool) -> list[UsagePart]:
        """By a column of names, the most use first; none if no job has a name.

        ``shown``: False replaces names by the column and a number.
        """
        if not any(names):
            return []
        codes = self._data.jobs.code(column)
        order, _ = self._by_use(codes, len(names))
        parts = []
        for rank, code in enumerate(order[:MOST_PARTS], 1):
            name = names[code] or "unknown"
            parts.append(
                self.part(name if shown or not names[code] else f"{column} {rank}", codes == code)
            )
        return parts

    def classes(self) -> list[UsagePart]:
        """By class of users; none if users are unknown."""
        if not self._with_users:
            return []
        order, uses = self._by_use(self._users, len(self._data.jobs.users))
        # A user belongs to the class in which the users before it end.
        before = (np.cumsum(uses) - uses) / max(float(uses.sum()), 1e-300)
        parts = []
        low = -math.inf
        for name, high in (*_CLASSES, (_OTHERS, math.inf)):
            members = order[(before >= low) & (before < high)]
            low = high
            if members.size:
                parts.append(self.part(name, np.isin(self._users, members)))
        return parts

    def sizes(self) -> list[UsagePart]:
        """By processors, in powers of two."""
        processors = self._data.processors
        known = processors[self._data.chosen & (processors > 0)]
        parts = []
        for power in range(int(np.ceil(np.log2(known.max()))) + 1 if known.size else 0):
            low, high = (2 ** (power - 1) + 1 if power else 1), 2**power
            mask = (processors >= low) & (processors <= high)
            if np.any(mask & self._data.chosen):
                parts.append(self.part(f"{low}" if low == high else f"{low} to {high}", mask))
        return parts

    def lengths(self) -> list[UsagePart]:
        """By run time, of the jobs that ended."""
        run = self._data.run
        bounds = [(*each, after[0]) for each, after in pairwise((*_LENGTHS, (math.inf, "")))]
        masks = [
            (name, ((run > low) if low else (run >= 0)) & (run <= high))
            for low, name, high in bounds
        ]
        return [self.part(name, mask) for name, mask in masks if np.any(mask & self._data.chosen)]

    def states(self) -> list[UsagePart]:
        """By how the jobs ended; none if that is not known of any."""
        states = self._data.jobs.code("state")
        if not np.any(states[self._data.chosen] != State.UNKNOWN):
            return []
        return self._each(_STATES, lambda state: states == state)

    def _each(self, names: dict[State, str], mask: Callable[[State], Mask]) -> list[UsagePart]:
        found = [(name, mask(key)) for key, name in names.items()]
        return [self.part(name, each) for name, each in found if np.any(each & self._data.chosen)]

    def _by_use(self, codes: Ints, number: int) -> tuple[Ints, Floats]:
        """The codes of chosen jobs, the most use first, and their use."""
        mine = self._data.chosen
        uses = np.bincount(codes[mine], self._data.use[mine], number).astype(np.float64)
        counts = np.bincount(codes[mine], minlength=number)
        order = np.lexsort((-counts, -uses))
        order = order[counts[order] > 0]
        return order, uses[order]


def most_at_once(data: PreparedJobs, column: str) -> tuple[int, float, float]:
    """Of a resource other than processors: the most in use at once, its use over the period, and
    that of the whole log.
    """
    amount = np.nan_to_num(data.jobs.number(column))
    kept = data.counted & data.chosen & (amount > 0)
    steps = occupied(data.start[kept], data.end[kept], amount[kept])
    inside = float(steps.integral(np.array([data.begin, data.finish]))[0])
    whole = float(np.sum(amount[kept] * (data.end - data.start)[kept]))
    return int(steps.levels.max(initial=0.0)), inside, whole
