"""Results of the analysis of a log's jobs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class UsageRecords:
    """How complete the log is."""

    #: Records of jobs.
    jobs: int
    #: The number that its header states, None if it doesn't.
    stated: int | None
    #: Job ids between the lowest and the highest that no record has.
    absent: int | None
    #: Of all ids between; None where ids are not consecutive.
    absent_share: float | None
    #: Whole days between the first and last record.
    days: int
    #: Those on which no job was submitted, started or ended.
    empty_days: list[str]
    #: s without any such event.
    longest_gap: float
    #: Share of the time with nothing in use and no record for an hour or more.
    quiet: float


@dataclass(frozen=True)
class Utilisation:
    """Processor time in use ÷ processor time available, both between ``begin`` and ``end``."""

    #: As recorded, None where the log can't say.
    value: float | None
    #: ``low``, ``high``: between which the machine's utilisation lies, whatever the log lacks.
    low: float
    high: float
    #: Processor time of all jobs that began in this time ÷ the processor time available.
    load: float
    #: Share of the use beyond the machine's size.
    excess: float
    #: Why it isn't one number.
    reasons: list[str]


@dataclass(frozen=True)
class UsageSpan:
    """A day or a week."""

    #: Its (first) day.
    name: str
    #: Unix time of its begin.
    utc: float
    #: ``busy``, ``available``: processor × s.
    busy: float
    available: float
    #: Their ratio, None if nothing was available.
    utilisation: float | None
    #: ``submitted``, ``started``, ``ended``: numbers of jobs.
    submitted: int
    started: int
    ended: int
    #: False at the ends.
    whole: bool


@dataclass(frozen=True)
class UsageHour:
    """An hour of the week."""

    #: 0 is Monday.
    weekday: int
    #: Local.
    hour: int
    #: Over all weeks.
    utilisation: float | None
    #: Number of jobs.
    submitted: int


@dataclass(frozen=True)
class UsagePart:
    """Jobs that have something in common, such as a queue: its ``name``, the number of ``jobs``."""

    #: What the jobs have in common, such as the queue's name.
    name: str
    #: Number of jobs.
    jobs: int
    #: ``share_of_jobs``, ``share_of_use``: of the jobs, and of their processor time.
    share_of_jobs: float
    #: Processor × s.
    use: float
    share_of_use: float
    #: Of the machine, by these jobs alone.
    utilisation: float | None
    #: Number of users, None if unknown.
    users: int | None
    #: ``wait``, ``wait90``: median and 90% quantile in s.
    wait: float | None
    wait90: float | None
    #: Median bounded slowdown.
    slowdown: float | None


@dataclass(frozen=True)
class UsageSpread:
    """The distribution of a quantity over ``n`` jobs: its ``mean``, and its ``quantiles`` at 0, at
    each fiftieth up to 0.98, at 0.99 and at 1.
    """

    #: Number of jobs.
    n: int
    #: The mean.
    mean: float
    #: At 0, at each fiftieth up to 0.98, at 0.99 and at 1.
    quantiles: list[float]


# Levels of the quantiles: enough for a curve, with the tails that are stated.
LEVELS = (0.0, *(k / 50 for k in range(1, 50)), 0.99, 1.0)


@dataclass(frozen=True)
class NodeRow:
    """Consecutive nodes, by name."""

    #: Of the node, or of the first and last.
    name: str
    #: Their number.
    nodes: int
    #: In each interval, the share of their processors in use.
    busy: list[float]
    #: In each interval, the share of the time that they were down by node events.
    down: list[float]


@dataclass(frozen=True)
class NodeBar:
    """A job on consecutive nodes, ``first`` to ``last`` (places in the order of names, from 0),
    from ``start`` to ``end`` (Unix s).
    """

    #: Its number or id.
    job: str
    #: The job's first node: its place in the order of names, from 0.
    first: int
    #: The job's last node.
    last: int
    #: Unix time, s.
    start: float
    #: Unix time, s.
    end: float
    #: Of the whole job.
    processors: int
    #: How it ended.
    state: str


@dataclass(frozen=True)
class NodeDown:
    """The node ``name`` that was down: how many ``times``, for which ``time`` (s) in the period,
    and the ``share`` of it.
    """

    #: Name of the node.
    name: str
    #: How many times it was down.
    times: int
    #: s that it was down in the period.
    time: float
    #: Share of the period that it was down.
    share: float


@dataclass(frozen=True)
class UsageByNode:
    """Use of single nodes."""

    #: Their number.
    nodes: int
    #: Of equal intervals, Unix time in s.
    edges: list[float]
    #: Of the map, 64 at most.
    rows: list[NodeRow]
    #: Single jobs, of machines of 40 nodes at most, the last 400.
    bars: list[NodeBar]
    #: Unix time from which on none is absent.
    bars_since: float | None
    #: The nodes that were down longest.
    down: list[NodeDown]


@dataclass(frozen=True)
class UsageCourse:
    """Use hour by hour."""

    #: Begin of each step, Unix time in s.
    utc: list[float]
    #: Of the last one.
    end: float
    #: s, an hour, or more where that would be over 50,000 steps. Means over each step, in
    #: processors: ``busy``, in use; ``available``; ``down`` by node events, None without these.
    step: float
    #: Processors in use.
    busy: list[float]
    #: Processors available.
    available: list[float]
    #: Processors of nodes that are down, by node events; None without these.
    down: list[float] | None
