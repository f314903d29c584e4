"""Jobs by queue, group, user, class of users, size, run time and outcome."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from assay.arrays import Bools, Floats, Ints
from assay.usage.analysis.distribution import EXACT, Distribution
from assay.usage.analysis.efficiency import efficiency_of, no_amounts
from assay.usage.analysis.labels import size_label
from assay.usage.analysis.model import UsagePart
from assay.usage.analysis.prepared import JobChunk, PreparedJobs
from assay.usage.jobs import State
from assay.usage.use import UseChunk, use_over_time

# The most parts of a kind that are named.
MOST_PARTS = 20
# Number of values kept per part for exact quantiles, if the log has more than ``EXACT`` jobs.
_EXACT_OF_PART = 1 << 18
# Classes of users by their rank in use. A class ends at this share of the use.
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
STATES = {
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


def share(part: float, whole: float) -> float:
    """A share; 0 if the whole is 0."""
    return part / whole if whole else 0.0


# The name of a part, and its jobs in a chunk.
Choice = tuple[str, Callable[[JobChunk], Bools]]


class _Part:
    """Jobs of a part, chunk by chunk."""

    def __init__(self, users: int, exact: int) -> None:
        self.jobs = 0
        self.use = self.held = 0.0
        self.seen = np.zeros(users, dtype=bool)
        self.wait, self.slowdown = Distribution(exact), Distribution(exact)
        self.amounts = no_amounts()

    def add(self, chunk: JobChunk, mask: Bools, begin: float, finish: float) -> None:
        mine = mask & chunk.chosen
        count = int(mine.sum())
        if not count:
            return
        self.jobs += count
        self.use += float(chunk.use[mine].sum())
        self.amounts += chunk.amounts[:, mine].sum(axis=1)
        self.seen[chunk.jobs.columns["user"][mine]] = True
        self.wait.add(chunk.wait[mine])
        self.slowdown.add(chunk.slowdown[mine])
        kept = mine & chunk.counted
        start, end = (np.clip(each[kept], begin, finish) for each in (chunk.start, chunk.end))
        self.held += float(np.sum((chunk.processors * chunk.active)[kept] * (end - start)))


class PartBuilder:
    """Builds the parts of the chosen jobs. ``stated``: whether their utilisation is stated."""

    def __init__(self, data: PreparedJobs, *, stated: bool) -> None:
        self._stated = stated
        self._data = data
        self._jobs, self._use = 0, 0.0
        for chunk in data.chunks():
            self._jobs += int(chunk.chosen.sum())
            self._use += float(chunk.use[chunk.chosen].sum())
        span = np.array([data.begin, data.finish])
        self._available = float(data.over_time.integral(data.available, span)[0])
        self._with_users = any(data.jobs.users)

    def _parts(self, choices: Sequence[Choice]) -> list[UsagePart]:
        """The chosen jobs of each choice, if there are any."""
        data = self._data
        exact = EXACT if len(data.jobs) <= EXACT else _EXACT_OF_PART
        built = [_Part(len(data.jobs.users), exact) for _ in choices]
        for chunk in data.chunks():
            for part, (_, mask) in zip(built, choices, strict=True):
                part.add(chunk, mask(chunk), data.begin, data.finish)
        return [
            self._part(name, part)
            for (name, _), part in zip(choices, built, strict=True)
            if part.jobs
        ]

    def _part(self, name: str, part: _Part) -> UsagePart:
        waits, slowdowns = part.wait.n > 0, part.slowdown.n > 0
        (wait90,) = part.wait.quantiles((0.9,))
        return UsagePart(
            name=name,
            jobs=part.jobs,
            share_of_jobs=share(part.jobs, self._jobs),
            use=part.use,
            share_of_use=share(part.use, self._use),
            utilisation=part.held / self._available if self._stated else None,
            users=int(part.seen.sum()) if self._with_users else None,
            wait=part.wait.median() if waits else None,
            wait90=wait90 if waits else None,
            slowdown=part.slowdown.median() if slowdowns else None,
            efficiency=efficiency_of(part.amounts),
        )

    def by_name(self, column: str, names: Sequence[str], shown: bool) -> list[UsagePart]:
        """Parts by a column of names, by descending use; none if no job has a name.

        ``shown``: False replaces each name by the column's name and a number.
        """
        if not any(names):
            return []
        order, _ = by_use(self._data, column, len(names))

        def choice(rank: int, code: int) -> Choice:
            return (
                shown_name(column, rank, names[code], shown),
                lambda chunk: np.equal(chunk.jobs.columns[column], code),
            )

        return self._parts(
            [choice(rank, int(code)) for rank, code in enumerate(order[:MOST_PARTS], 1)]
        )

    def classes(self) -> list[UsagePart]:
        """Parts by class of users; none if users are unknown."""
        if not self._with_users:
            return []
        number = len(self._data.jobs.users)
        order, uses = by_use(self._data, "user", number)
        # A user belongs to the class in which the cumulative use of the users before it ends.
        before = (np.cumsum(uses) - uses) / max(float(uses.sum()), 1e-300)
        choices: list[Choice] = []
        low = -math.inf
        for name, high in (*_CLASSES, (_OTHERS, math.inf)):
            member = np.zeros(number, dtype=bool)
            member[order[(before >= low) & (before < high)]] = True
            low = high
            choices.append((name, partial(_of_users, member)))
        return self._parts(choices)

    def sizes(self) -> list[UsagePart]:
        """Parts by processors, in powers of two."""
        most = 0.0
        for chunk in self._data.chunks():
            known = chunk.processors[chunk.chosen & (chunk.processors > 0)]
            most = max(most, float(known.max(initial=0.0)))
        choices: list[Choice] = []
        for power in range(int(np.ceil(np.log2(most))) + 1 if most else 0):
            low, high = (2 ** (power - 1) + 1 if power else 1), 2**power
            choices.append((size_label(low, high), partial(_of_size, low, high)))
        return self._parts(choices)

    def lengths(self) -> list[UsagePart]:
        """Parts by run time, for jobs that ended."""
        bounds = [(*each, after[0]) for each, after in pairwise((*_LENGTHS, (math.inf, "")))]
        return self._parts([(name, partial(_of_length, low, high)) for low, name, high in bounds])

    def states(self) -> list[UsagePart]:
        """Parts by how the jobs ended; none if this is unknown for all jobs."""
        parts = self._parts([(name, partial(_of_state, state)) for state, name in STATES.items()])
        unknown = STATES[State.UNKNOWN]
        return parts if any(part.name != unknown for part in parts) else []


def by_use(data: PreparedJobs, column: str, number: int) -> tuple[Ints, Floats]:
    """The codes of a column with ``number`` names, by descending use of the chosen jobs, and their
    use (processors × s). Codes without a chosen job are absent.
    """
    uses, counts = np.zeros(number), np.zeros(number, dtype=np.int64)
    for chunk in data.chunks():
        codes = chunk.jobs.code(column)[chunk.chosen]
        uses += np.bincount(codes, chunk.use[chunk.chosen], number)
        counts += np.bincount(codes, minlength=number)
    order = np.lexsort((-counts, -uses))
    order = order[counts[order] > 0]
    return order, uses[order]


def shown_name(column: str, rank: int, name: str, shown: bool) -> str:
    """A name of a queue, group or user in reports: ``shown``, or its rank by use, from 1."""
    return (name or "unknown") if shown or not name else f"{column} {rank}"


def shown_names(data: PreparedJobs, column: str, names: Sequence[str]) -> list[str]:
    """The name of each number of a column in reports; "" for a number without a chosen job."""
    shown = [""] * len(names)
    order, _ = by_use(data, column, len(names))
    for rank, code in enumerate(order, 1):
        shown[code] = shown_name(column, rank, names[code], data.query.identify)
    return shown


def _of_users(member: Bools, chunk: JobChunk) -> Bools:
    mine: Bools = member[chunk.jobs.columns["user"]]
    return mine


def _of_size(low: int, high: int, chunk: JobChunk) -> Bools:
    mine: Bools = (chunk.processors >= low) & (chunk.processors <= high)
    return mine


def _of_length(low: float, high: float, chunk: JobChunk) -> Bools:
    mine: Bools = ((chunk.run > low) if low else (chunk.run >= 0)) & (chunk.run <= high)
    return mine


def _of_state(state: State, chunk: JobChunk) -> Bools:
    mine: Bools = np.equal(chunk.jobs.columns["state"], int(state))
    return mine


def gpus_at_once(data: PreparedJobs) -> tuple[int, float, float]:
    """GPUs of the chosen jobs: the most in use at once, their use over the period, and the use by
    all jobs.
    """
    none = np.empty(0)
    whole = 0.0

    def used(chunk: JobChunk) -> tuple[Bools, Floats]:
        amount = np.nan_to_num(chunk.jobs.number("gpus")) * chunk.active
        return chunk.counted & chunk.chosen & (amount > 0), amount

    def chunks() -> Iterator[UseChunk]:
        for chunk in data.chunks():
            kept, amount = used(chunk)
            yield UseChunk(chunk.start[kept], chunk.end[kept], amount[kept], amount[kept], none)

    length = 0
    for chunk in data.chunks():
        kept, amount = used(chunk)
        whole += float(np.sum(amount[kept] * (chunk.end - chunk.start)[kept]))
        length += 1
    steps = use_over_time(chunks, length)
    inside = steps.integral(lambda window: window.busy, np.array([data.begin, data.finish]))
    return math.ceil(steps.most), float(inside[0]), whole
