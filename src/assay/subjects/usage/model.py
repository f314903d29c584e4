"""Findings on the use of a machine: each number with its basis; None if unknown."""

from __future__ import annotations

from dataclasses import dataclass

from assay.subjects.usage.queue.model import QueueFindings
from assay.usage.analysis.model import (
    UsageAccount,
    UsageByNode,
    UsageCluster,
    UsageCourse,
    UsageEfficiency,
    UsageFairShare,
    UsageHour,
    UsageJob,
    UsagePart,
    UsageRecords,
    UsageSpan,
    UsageSpread,
    Utilisation,
)

USAGE_SCHEMA = 1


@dataclass(frozen=True)
class UsagePeriod:
    """The period of a log, Unix times in s."""

    #: ``first``, ``last``: times of the first and the last record.
    first: float
    last: float
    #: ``begin``, ``end``: the part over which utilisation is computed.
    begin: float
    end: float
    #: Whether at most 5% of the use is missing at the ends of this part.
    settled: bool
    #: Time zone of days and hours; "" if the log doesn't state it and its times are used unchanged.
    zone: str
    #: Whether times have dates; false if they count from an unknown day.
    calendar: bool


@dataclass(frozen=True)
class UsageCapacity:
    """The processors of the machine."""

    #: Source of the number: stated, node events, node counts (nodes from events, processors per
    #: node from the largest job share), header, or most in use.
    source: str
    #: Maximum number of processors.
    processors: int
    #: Maximum number of processors in use at any moment.
    most_in_use: int
    #: Share of the processor time that was down; None if the log has no node events.
    down: float | None


@dataclass(frozen=True)
class UsageLimits:
    """Requested and used time and memory, and jobs that reached their time limit."""

    #: ``time``, ``memory``: distributions of used ÷ requested.
    time: UsageSpread | None
    #: Distribution of the CPU efficiency of jobs: processor time computed ÷ allocated.
    cpu: UsageSpread | None
    memory: UsageSpread | None
    #: Number of jobs that reached their time limit. ``reached_share``: their share of the jobs with
    #: a limit.
    reached: int | None
    reached_share: float | None
    #: Use of these jobs, processor × s. ``lost_share``: their share of all use.
    lost: float | None
    lost_share: float | None
    #: Whether the log states that they were killed, and not only that they ran as long as
    #: requested.
    killed: bool
    #: Why ``memory`` is not stated although the log has amounts: they can't have the assumed unit.
    memory_doubt: str = ""


@dataclass(frozen=True)
class UsageGpus:
    """GPUs."""

    #: Maximum number of GPUs in use at any moment, which is taken as the capacity.
    most_in_use: int
    #: Share of these GPUs in use over the period.
    utilisation: float | None
    #: ``jobs``, ``share_of_use``: number of jobs with GPUs, and their share of the processor time.
    jobs: int
    share_of_use: float
    #: Use of GPUs, GPU × s.
    use: float


@dataclass(frozen=True)
class UsageNodes:
    """Jobs on parts of nodes."""

    #: Number of processors per node.
    per_node: int
    #: Number of jobs with fewer processors than their nodes have.
    jobs: int
    #: ``share_of_jobs``, ``share_of_use``: share of the jobs with known nodes, and of their use.
    share_of_jobs: float
    share_of_use: float
    #: Number of these jobs that shared a node with another job at the same time.
    #: ``shared_share_of_use``: their share of the use. None if the log doesn't name nodes.
    shared: int | None
    shared_share_of_use: float | None


@dataclass(frozen=True)
class UsageArrays:
    """Job arrays, their jobs and the share of the use of these jobs."""

    #: Number of job arrays.
    arrays: int
    #: Number of jobs in arrays.
    jobs: int
    #: Share of the processor time used by these jobs.
    share_of_use: float


@dataclass(frozen=True)
class UsageProblem:
    """Wrong records of one kind."""

    #: Kind of problem.
    kind: str
    #: Meaning of the problem, and how the records were treated.
    meaning: str
    #: Number of records.
    count: int
    #: Places of the first records, with details if the kind leaves them open.
    places: list[str]


@dataclass(frozen=True)
class UsageFindings:
    """The use of a machine by the jobs of a log."""

    #: Version of these findings.
    schema: int
    #: Time of the analysis, Unix time (s).
    utc: float
    #: Formats of the files.
    formats: list[str]
    #: Number of files.
    files: int
    #: The filter in words.
    chosen: str
    #: Whether names are replaced by numbers.
    anonymous: bool
    #: ``period``, ``capacity``, ``records``, ``utilisation``: what the log covers, the machine, how
    #: complete the log is, and how busy the machine was.
    period: UsagePeriod
    capacity: UsageCapacity
    records: UsageRecords
    utilisation: Utilisation
    #: Number of chosen jobs.
    jobs: int
    #: Number of chosen jobs that were still running.
    running: int
    #: Number of chosen jobs that did not start.
    never_started: int
    #: Distribution of the waiting time, s; None if the log lacks it.
    wait: UsageSpread | None
    #: Distribution of the bounded slowdown; None if the log lacks it.
    slowdown: UsageSpread | None
    #: Distribution of the run time, s; None if the log lacks it.
    run: UsageSpread | None
    #: Distribution of the requested time, s; None if the log lacks it.
    requested: UsageSpread | None
    #: Requested and used time and memory.
    limits: UsageLimits
    #: ``gpus``, ``nodes``, ``arrays``: use of GPUs, parts of nodes and job arrays. None if there
    #: are none.
    gpus: UsageGpus | None
    nodes: UsageNodes | None
    arrays: UsageArrays | None
    #: The chosen jobs by queue; the 20 with the most use.
    queues: list[UsagePart]
    #: The chosen jobs by class of users.
    classes: list[UsagePart]
    #: The chosen jobs by group; the 20 with the most use.
    groups: list[UsagePart]
    #: The chosen jobs by user; the 20 with the most use.
    users: list[UsagePart]
    #: The chosen jobs by number of processors.
    sizes: list[UsagePart]
    #: The chosen jobs by run time.
    lengths: list[UsagePart]
    #: The chosen jobs by state.
    states: list[UsagePart]
    #: Use by day.
    days: list[UsageSpan]
    #: Use by week.
    weeks: list[UsageSpan]
    #: Use by month; empty without dates.
    months: list[UsageSpan]
    #: What all chosen jobs used of what they got; None if the log doesn't state it.
    efficiency: UsageEfficiency | None
    #: Use by month, cluster, account and user: at most 500 rows.
    accounts: list[UsageAccount]
    #: The 100 jobs with the most unused processor time; empty if processor times are unknown.
    wasteful: list[UsageJob]
    #: The clusters of the log, if it has several.
    clusters: list[UsageCluster]
    #: Fair shares of accounts against their use; empty if the log has no output of sshare.
    fair_shares: list[UsageFairShare]
    #: Use by hour of the week; empty if weekdays are unknown.
    hours: list[UsageHour]
    #: Use over time, hour by hour.
    course: UsageCourse | None
    #: Use by node; None if the log doesn't name nodes.
    by_node: UsageByNode | None
    #: Wrong records by kind.
    problems: list[UsageProblem]
    #: Sentences on what the log can't say.
    unknown: list[str]
    #: Whether times were recognised as Unix times, although the log states no begin.
    unix_times: bool = False
    #: Results of the scheduler's model for these jobs; None if they weren't requested.
    queue: QueueFindings | None = None
