"""Results of the analysis of a log's jobs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class UsageRecords:
    """The completeness of a log: its records, absent ids, and days and time without events."""

    #: Number of records of jobs.
    jobs: int
    #: Number of records that the log's header states; None if it states none.
    stated: int | None
    #: Number of job ids between the lowest and the highest that no record has.
    absent: int | None
    #: Share of absent ids among all ids between the lowest and the highest; None if ids are not
    #: consecutive.
    absent_share: float | None
    #: Number of whole days between the first and last record.
    days: int
    #: The whole days on which no job was submitted, started or ended.
    empty_days: list[str]
    #: Longest time without any submission, start or end, s.
    longest_gap: float
    #: Share of the time in which nothing was in use and nothing was recorded for an hour or more.
    quiet: float


@dataclass(frozen=True)
class Utilisation:
    """Processor time in use ÷ processor time available, both between ``begin`` and ``end``."""

    #: Utilisation as recorded; None if the log can't say.
    value: float | None
    #: ``low``, ``high``: bounds of the machine's utilisation, whatever the log lacks.
    low: float
    high: float
    #: Processor time of all jobs that began between ``begin`` and ``end``, over the processor time
    #: available.
    load: float
    #: Share of the use that exceeds the machine's size.
    excess: float
    #: Sentences on why the utilisation isn't a single number.
    reasons: list[str]


@dataclass(frozen=True)
class UsageEfficiency:
    """What jobs used of what they got. None: the log doesn't state it for any of them."""

    #: CPU efficiency: processor time computed ÷ processor time allocated.
    cpu: float | None
    #: Processor time computed, s.
    processor_time: float | None
    #: Memory used ÷ memory allocated, each × run time.
    memory: float | None
    #: GPU time allocated, GPU × s.
    gpu_time: float | None
    #: Energy, J.
    energy: float | None
    #: Energy ÷ processor time allocated: mean power per processor, W.
    power: float | None


@dataclass(frozen=True)
class UsageAccount:
    """The jobs of a user and an account on a cluster in a month."""

    #: Month in which the jobs ended, or were submitted if they did not run; "" if unknown.
    month: str
    #: ``cluster``, ``group``, ``user``: names; "unknown" if the log has none.
    cluster: str
    group: str
    user: str
    #: Number of jobs.
    jobs: int
    #: Processor time allocated, processors × s.
    use: float
    #: What the jobs used of what they got.
    efficiency: UsageEfficiency | None


@dataclass(frozen=True)
class UsageFairShare:
    """An account's fair share and its use."""

    #: Name of the account.
    account: str
    #: Share of the use that the site intends for it, without the accounts below it.
    target: float
    #: Processor time of its jobs, processors × s. ``share_of_use``: its share of all use.
    use: float
    share_of_use: float
    #: ``share_of_use`` ÷ ``target``; None without a target of its own.
    ratio: float | None


@dataclass(frozen=True)
class UsageJob:
    """A job with much unused processor time."""

    #: The job's number, or its rank by unused processor time.
    job: str
    #: ``month``, ``cluster``, ``group``, ``user``: as in ``UsageAccount``.
    month: str
    cluster: str
    group: str
    user: str
    #: How the job ended.
    state: str
    #: Number of processors.
    processors: int
    #: Run time, s.
    run: float
    #: Processor time allocated and not computed, s.
    unused: float
    #: ``cpu``, ``memory``: efficiencies.
    cpu: float | None
    memory: float | None
    #: Number of GPUs.
    gpus: int | None
    #: Energy, J.
    energy: float | None


@dataclass(frozen=True)
class UsageSpan:
    """Use in a day, a week or a month."""

    #: Its day; the first day of a week; the month.
    name: str
    #: Unix time of its beginning.
    utc: float
    #: ``busy``, ``available``: processor time, processors × s.
    busy: float
    available: float
    #: ``busy`` over ``available``; None if nothing was available.
    utilisation: float | None
    #: ``submitted``, ``started``, ``ended``: numbers of jobs.
    submitted: int
    started: int
    ended: int
    #: Whether it lies entirely in the log's period; False at the ends.
    whole: bool
    #: What the jobs that ended in it used of what they got; only stated for months.
    efficiency: UsageEfficiency | None = None


@dataclass(frozen=True)
class UsageHour:
    """Use in an hour of the week."""

    #: Day of the week; 0 is Monday.
    weekday: int
    #: Hour of the day, local time.
    hour: int
    #: Mean utilisation over all weeks.
    utilisation: float | None
    #: Number of jobs submitted in this hour.
    submitted: int


@dataclass(frozen=True)
class UsagePart:
    """Jobs that have something in common, such as a queue: its ``name``, the number of ``jobs``."""

    #: What the jobs have in common, such as the queue's name.
    name: str
    #: Number of jobs.
    jobs: int
    #: ``share_of_jobs``, ``share_of_use``: the part's share of all jobs and of their processor
    #: time.
    share_of_jobs: float
    #: Processor time, processors × s.
    use: float
    share_of_use: float
    #: Utilisation of the machine by only these jobs.
    utilisation: float | None
    #: Number of users; None if unknown.
    users: int | None
    #: ``wait``, ``wait90``: median and 90% quantile of waits, s.
    wait: float | None
    wait90: float | None
    #: Median bounded slowdown.
    slowdown: float | None
    #: What the jobs used of what they got.
    efficiency: UsageEfficiency | None = None


@dataclass(frozen=True)
class UsageCluster:
    """One of several clusters of a log."""

    #: Name of the cluster.
    name: str
    #: Number of jobs.
    jobs: int
    #: Processor time, processors × s. ``share_of_use``: its share of all clusters' use.
    use: float
    share_of_use: float
    #: Number of processors.
    processors: int
    #: Source of this number, as for the capacity of the machine.
    source: str
    #: Utilisation of this cluster over the period of its own records.
    utilisation: Utilisation
    #: Median wait, s.
    wait: float | None
    #: What the jobs used of what they got.
    efficiency: UsageEfficiency | None


@dataclass(frozen=True)
class UsageSpread:
    """The distribution of a quantity over ``n`` jobs: its ``mean``, and its ``quantiles`` at 0, at
    each fiftieth up to 0.98, at 0.99 and at 1.
    """

    #: Number of jobs.
    n: int
    #: Mean value.
    mean: float
    #: Quantiles at 0, at each fiftieth up to 0.98, at 0.99 and at 1.
    quantiles: list[float]


# Levels of the quantiles: enough for a curve, including the stated tails.
LEVELS = (0.0, *(k / 50 for k in range(1, 50)), 0.99, 1.0)


@dataclass(frozen=True)
class NodeRow:
    """Use of consecutive nodes, ordered by name."""

    #: Name of the node, or names of the first and last node.
    name: str
    #: Number of nodes.
    nodes: int
    #: Share of their processors in use, by interval.
    busy: list[float]
    #: Share of the time that node events record them as down, by interval.
    down: list[float]


@dataclass(frozen=True)
class NodeBar:
    """A job on consecutive nodes, ``first`` to ``last`` (places in the order of names, from 0),
    from ``start`` to ``end`` (Unix s).
    """

    #: Number or id of the job.
    job: str
    #: The job's first node: its position in the order of names, from 0.
    first: int
    #: The job's last node: its position in the order of names.
    last: int
    #: Start, Unix time in s.
    start: float
    #: End, Unix time in s.
    end: float
    #: Number of processors of the whole job.
    processors: int
    #: How the job ended.
    state: str


@dataclass(frozen=True)
class NodeDown:
    """Down time of the node ``name``: number of ``times``, total ``time`` (s) in the period, and
    its ``share`` of the period.
    """

    #: Name of the node.
    name: str
    #: Number of times that it was down.
    times: int
    #: Total time that it was down in the period, s.
    time: float
    #: Share of the period that it was down.
    share: float


@dataclass(frozen=True)
class UsageByNode:
    """Use by node: a map over time, single jobs, and down time."""

    #: Number of nodes.
    nodes: int
    #: Edges of equal intervals, Unix time in s.
    edges: list[float]
    #: Rows of the map, at most 64.
    rows: list[NodeRow]
    #: Bars of the last jobs, at most 400, for a machine of at most 40 nodes.
    bars: list[NodeBar]
    #: Unix time since when no job's bar is absent.
    bars_since: float | None
    #: The nodes that were down longest.
    down: list[NodeDown]


@dataclass(frozen=True)
class UsageCourse:
    """Use hour by hour."""

    #: Beginning of each step, Unix time in s.
    utc: list[float]
    #: End of the last step, Unix time in s.
    end: float
    #: Length of a step in s: an hour, or more if there would be over 50,000 steps. The other fields
    #: are means over each step.
    step: float
    #: Mean number of processors in use, by step.
    busy: list[float]
    #: Mean number of processors available, by step.
    available: list[float]
    #: Mean number of processors on nodes that are down, by step; None without node events.
    down: list[float] | None
