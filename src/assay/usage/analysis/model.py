"""Results of the analysis of a log's jobs."""

from __future__ import annotations

import msgspec


class UsageRecords(msgspec.Struct, frozen=True):
    """How complete the log is.

    ``jobs``: records of jobs. ``stated``: the number that its header states, None if it doesn't.
    ``absent``: job ids between the lowest and the highest that no record has; ``absent_share``: of
    all ids between; None where ids are not consecutive. ``days``: whole days between the first and
    last record; ``empty_days``: those on which no job was submitted, started or ended.
    ``longest_gap``: s without any such event. ``quiet``: share of the time with nothing in use and
    no record for an hour or more.
    """

    jobs: int
    stated: int | None
    absent: int | None
    absent_share: float | None
    days: int
    empty_days: list[str]
    longest_gap: float
    quiet: float


class Utilisation(msgspec.Struct, frozen=True):
    """Processor time in use ÷ processor time available, both between ``begin`` and ``end``.

    ``value``: as recorded, None where the log can't say. ``low``, ``high``: between which the
    machine's utilisation lies, whatever the log lacks. ``load``: processor time of all jobs that
    began in this time ÷ the processor time available. ``excess``: share of the use beyond the
    machine's size. ``reasons``: why it isn't one number.
    """

    value: float | None
    low: float
    high: float
    load: float
    excess: float
    reasons: list[str]


class UsageSpan(msgspec.Struct, frozen=True):
    """A day or a week. ``name``: its (first) day. ``utc``: Unix time of its begin.

    ``busy``, ``available``: processor × s. ``utilisation``: their ratio, None if nothing was
    available. ``submitted``, ``started``, ``ended``: numbers of jobs. ``whole``: False at the ends.
    """

    name: str
    utc: float
    busy: float
    available: float
    utilisation: float | None
    submitted: int
    started: int
    ended: int
    whole: bool


class UsageHour(msgspec.Struct, frozen=True):
    """An hour of the week. ``weekday``: 0 is Monday; ``hour``: local. ``utilisation``: over all
    weeks. ``submitted``: number of jobs.
    """

    weekday: int
    hour: int
    utilisation: float | None
    submitted: int


class UsagePart(msgspec.Struct, frozen=True):
    """Jobs that have something in common, such as a queue: its ``name``, the number of ``jobs``.

    ``utilisation``: of the machine, by these jobs alone. ``share_of_jobs``, ``share_of_use``: of
    the jobs, and of their processor time. ``use``: processor × s. ``users``: number of users, None
    if unknown. ``wait``, ``wait90``: median and 90% quantile in s. ``slowdown``: median bounded
    slowdown.
    """

    name: str
    jobs: int
    share_of_jobs: float
    use: float
    share_of_use: float
    utilisation: float | None
    users: int | None
    wait: float | None
    wait90: float | None
    slowdown: float | None


class UsageSpread(msgspec.Struct, frozen=True):
    """The distribution of a quantity over ``n`` jobs: its ``mean``, and its ``quantiles`` at 0, at
    each fiftieth up to 0.98, at 0.99 and at 1.
    """

    n: int
    mean: float
    quantiles: list[float]


# Levels of the quantiles: enough for a curve, with the tails that are stated.
LEVELS = (0.0, *(k / 50 for k in range(1, 50)), 0.99, 1.0)


class NodeRow(msgspec.Struct, frozen=True):
    """Consecutive nodes, by name.

    ``name``: of the node, or of the first and last. ``nodes``: their number. ``busy``: in each
    interval, the share of their processors in use. ``down``: in each interval, the share of the
    time that they were down by node events.
    """

    name: str
    nodes: int
    busy: list[float]
    down: list[float]


class NodeBar(msgspec.Struct, frozen=True):
    """A job on consecutive nodes, ``first`` to ``last`` (places in the order of names, from 0),
    from ``start`` to ``end`` (Unix s). ``job``: its number or id. ``processors``: of the whole job.
    ``state``: how it ended.
    """

    job: str
    first: int
    last: int
    start: float
    end: float
    processors: int
    state: str


class NodeDown(msgspec.Struct, frozen=True):
    """The node ``name`` that was down: how many ``times``, for which ``time`` (s) in the period,
    and the ``share`` of it.
    """

    name: str
    times: int
    time: float
    share: float


class UsageByNode(msgspec.Struct, frozen=True):
    """Use of single nodes. ``nodes``: their number. ``edges``: of equal intervals, Unix time in s.

    ``rows``: of the map, 64 at most. ``bars``: single jobs, of machines of 40 nodes at most, the
    last 400; ``bars_since``: Unix time from which on none is absent. ``down``: the nodes that were
    down longest.
    """

    nodes: int
    edges: list[float]
    rows: list[NodeRow]
    bars: list[NodeBar]
    bars_since: float | None
    down: list[NodeDown]


class UsageCourse(msgspec.Struct, frozen=True):
    """Use hour by hour. ``utc``: begin of each step, Unix time in s; ``end``: of the last one.
    ``step``: s, an hour, or more where that would be over 50,000 steps. Means over each step, in
    processors: ``busy``, in use; ``available``; ``down`` by node events, None without these.
    """

    utc: list[float]
    end: float
    step: float
    busy: list[float]
    available: list[float]
    down: list[float] | None
