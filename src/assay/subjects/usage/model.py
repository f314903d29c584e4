"""Findings on the use of a machine: each number with what it is based on, None where unknown."""

from __future__ import annotations

from dataclasses import dataclass

from assay.subjects.usage.queue.model import QueueFindings
from assay.usage.analysis.model import (
    UsageByNode,
    UsageCourse,
    UsageHour,
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

    #: ``first``, ``last``: of its records.
    first: float
    last: float
    #: ``begin``, ``end``: the part that utilisation is computed over.
    begin: float
    end: float
    #: Whether at most a twentieth of the use is missing at the ends of that part.
    settled: bool
    #: Of days and hours; "" where the log doesn't say, and its times are taken as they are.
    zone: str
    #: False if times count from an unknown day.
    calendar: bool


@dataclass(frozen=True)
class UsageCapacity:
    """The machine."""

    #: Stated, node events, node counts (of nodes by events, processors by the most that any job had
    #: per node), header, or most in use.
    source: str
    #: The most it had.
    processors: int
    #: Processors, at any moment.
    most_in_use: int
    #: Share of its processor time that was down, None where the log has no node events.
    down: float | None


@dataclass(frozen=True)
class UsageLimits:
    """Requested against used."""

    #: ``time``, ``memory``: used ÷ requested.
    time: UsageSpread | None
    memory: UsageSpread | None
    #: Jobs that ran into their time limit, ``reached_share``: of the jobs with a limit.
    reached: int | None
    reached_share: float | None
    #: Their processor × s, ``lost_share``: of all use.
    lost: float | None
    lost_share: float | None
    #: Whether the log says that they were killed, not only that they ran as long as requested.
    killed: bool


@dataclass(frozen=True)
class UsageGpus:
    """GPUs."""

    #: At any moment, taken as the capacity.
    most_in_use: int
    #: The share of them in use over the period.
    utilisation: float | None
    #: ``jobs``, ``share_of_use``: jobs with GPUs, and their share of the processor time.
    jobs: int
    share_of_use: float
    #: GPU × s.
    use: float


@dataclass(frozen=True)
class UsageNodes:
    """Jobs on parts of nodes."""

    #: Processors.
    per_node: int
    #: With fewer processors than their nodes have.
    jobs: int
    #: ``share_of_jobs``, ``share_of_use``: of those whose nodes are known.
    share_of_jobs: float
    share_of_use: float
    #: How many of them had a node together with another job at the same time,
    #: ``shared_share_of_use``: their share of the use; None where the log doesn't name nodes.
    shared: int | None
    shared_share_of_use: float | None


@dataclass(frozen=True)
class UsageArrays:
    """Job arrays: the number of ``arrays``, that of their ``jobs``, and ``share_of_use``: the jobs'
    share of the processor time.
    """

    #: Number of job arrays.
    arrays: int
    #: Number of jobs in arrays.
    jobs: int
    #: Share of the processor time that these jobs used.
    share_of_use: float


@dataclass(frozen=True)
class UsageProblem:
    """Records that are wrong: the ``kind`` and the ``count``."""

    #: What is wrong.
    kind: str
    #: What it is and what was done.
    meaning: str
    #: Number of records.
    count: int
    #: The first ones, with what is wrong there where the kind leaves it open.
    places: list[str]


@dataclass(frozen=True)
class UsageFindings:
    """The use of a machine by the jobs of a log.

    The chosen jobs by ``queues``, ``classes`` of users, ``groups``, ``users``, ``sizes`` in
    processors, ``lengths`` (run times) and ``states``; of names the 20 with the most use. Use over
    time: ``days``, ``weeks``, and ``hours`` of the week, empty where weekdays are unknown;
    """

    #: Version of these findings.
    schema: int
    #: Of the analysis, Unix time in s.
    utc: float
    #: Of the files.
    formats: list[str]
    #: Their number.
    files: int
    #: The filter, in words.
    chosen: str
    #: Whether names are replaced by numbers.
    anonymous: bool
    #: ``period``, ``capacity``, ``records``, ``utilisation``: what the log covers, the machine, how
    #: complete the log is, and how busy the machine was.
    period: UsagePeriod
    capacity: UsageCapacity
    records: UsageRecords
    utilisation: Utilisation
    #: The number of chosen jobs; of these ``running`` still ran, and ``never_started`` did not
    #: start. ``wait`` (s), ``slowdown`` (bounded), ``run`` (run time, s), ``requested`` (time, s):
    #: distributions, None where the log lacks them.
    jobs: int
    #: Number of chosen jobs that were still running.
    running: int
    #: Number of chosen jobs that did not start.
    never_started: int
    #: Waiting time, s; None where the log lacks it.
    wait: UsageSpread | None
    #: Bounded slowdown; None where the log lacks it.
    slowdown: UsageSpread | None
    #: Run time, s; None where the log lacks it.
    run: UsageSpread | None
    #: Requested time, s; None where the log lacks it.
    requested: UsageSpread | None
    #: Requested against used.
    limits: UsageLimits
    #: ``gpus``, ``nodes``, ``arrays``: None where no job has any.
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
    #: Use by hour of the week; empty where weekdays are unknown.
    hours: list[UsageHour]
    #: Hour by hour.
    course: UsageCourse | None
    #: None where the log names no nodes.
    by_node: UsageByNode | None
    #: Wrong records.
    problems: list[UsageProblem]
    #: What the log can't say, in sentences.
    unknown: list[str]
    #: What the model of a scheduler makes of the jobs, None where it was not asked.
    queue: QueueFindings | None = None
