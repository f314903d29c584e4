"""Findings on the use of a machine: each number with what it is based on, None where unknown."""

from __future__ import annotations

import msgspec

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


class UsagePeriod(msgspec.Struct, frozen=True):
    """The period of a log, Unix times in s.

    ``first``, ``last``: of its records. ``begin``, ``end``: the part that utilisation is computed
    over. ``settled``: whether at most a twentieth of the use is missing at the ends of that part.
    ``zone``: of days and hours; "" where the log doesn't say, and its times are taken as they are.
    ``calendar``: False if times count from an unknown day.
    """

    first: float
    last: float
    begin: float
    end: float
    settled: bool
    zone: str
    calendar: bool


class UsageCapacity(msgspec.Struct, frozen=True):
    """The machine. ``source``: stated, node events, node counts (of nodes by events, processors
    by the most that any job had per node), header, or most in use.

    ``processors``: the most it had. ``most_in_use``: processors, at any moment. ``down``: share of
    its processor time that was down, None where the log has no node events.
    """

    source: str
    processors: int
    most_in_use: int
    down: float | None


class UsageLimits(msgspec.Struct, frozen=True):
    """Requested against used. ``time``, ``memory``: used ÷ requested. ``reached``: jobs that ran
    into their time limit, ``reached_share``: of the jobs with a limit. ``lost``: their processor ×
    s, ``lost_share``: of all use. ``killed``: whether the log says that they were killed, not only
    that they ran as long as requested.
    """

    time: UsageSpread | None
    memory: UsageSpread | None
    reached: int | None
    reached_share: float | None
    lost: float | None
    lost_share: float | None
    killed: bool


class UsageGpus(msgspec.Struct, frozen=True):
    """GPUs. ``most_in_use``: at any moment, taken as the capacity. ``utilisation``: the share of
    them in use over the period. ``jobs``, ``share_of_use``: jobs with GPUs, and their share of the
    processor time. ``use``: GPU × s.
    """

    most_in_use: int
    utilisation: float | None
    jobs: int
    share_of_use: float
    use: float


class UsageNodes(msgspec.Struct, frozen=True):
    """Jobs on parts of nodes. ``per_node``: processors. ``jobs``: with fewer processors than their
    nodes have; ``share_of_jobs``, ``share_of_use``: of those whose nodes are known. ``shared``: how
    many of them had a node together with another job at the same time, ``shared_share_of_use``:
    their share of the use; None where the log doesn't name nodes.
    """

    per_node: int
    jobs: int
    share_of_jobs: float
    share_of_use: float
    shared: int | None
    shared_share_of_use: float | None


class UsageArrays(msgspec.Struct, frozen=True):
    """Job arrays: the number of ``arrays``, that of their ``jobs``, and ``share_of_use``: the jobs'
    share of the processor time.
    """

    arrays: int
    jobs: int
    share_of_use: float


class UsageProblem(msgspec.Struct, frozen=True):
    """Records that are wrong: the ``kind`` and the ``count``. ``meaning``: what it is and what was
    done. ``places``: the first ones, with what is wrong there where the kind leaves it open.
    """

    kind: str
    meaning: str
    count: int
    places: list[str]


class UsageFindings(msgspec.Struct, frozen=True):
    """The use of a machine by the jobs of a log.

    ``schema``: version of these findings. ``utc``: of the analysis, Unix time in s. ``formats``:
    of the files. ``files``: their number. ``chosen``: the filter, in words. ``anonymous``: whether
    names are replaced by numbers. ``period``, ``capacity``, ``records``, ``utilisation``: what the
    log covers, the machine, how complete the log is, and how busy the machine was.

    ``jobs``: the number of chosen jobs; of these ``running`` still ran, and ``never_started``
    did not start. ``wait`` (s), ``slowdown`` (bounded), ``run`` (run time, s), ``requested`` (time,
    s): distributions, None where the log lacks them. ``limits``: requested against used. ``gpus``,
    ``nodes``, ``arrays``: None where no job has any.

    The chosen jobs by ``queues``, ``classes`` of users, ``groups``, ``users``, ``sizes`` in
    processors, ``lengths`` (run times) and ``states``; of names the 20 with the most use. Use over
    time: ``days``, ``weeks``, and ``hours`` of the week, empty where weekdays are unknown;
    ``course``: hour by hour; ``by_node``: None where the log names no nodes.
    ``problems``: wrong records. ``unknown``: what the log can't say, in sentences. ``queue``: what
    the model of a scheduler makes of the jobs, None where it was not asked.
    """

    schema: int
    utc: float
    formats: list[str]
    files: int
    chosen: str
    anonymous: bool
    period: UsagePeriod
    capacity: UsageCapacity
    records: UsageRecords
    utilisation: Utilisation
    jobs: int
    running: int
    never_started: int
    wait: UsageSpread | None
    slowdown: UsageSpread | None
    run: UsageSpread | None
    requested: UsageSpread | None
    limits: UsageLimits
    gpus: UsageGpus | None
    nodes: UsageNodes | None
    arrays: UsageArrays | None
    queues: list[UsagePart]
    classes: list[UsagePart]
    groups: list[UsagePart]
    users: list[UsagePart]
    sizes: list[UsagePart]
    lengths: list[UsagePart]
    states: list[UsagePart]
    days: list[UsageSpan]
    weeks: list[UsageSpan]
    hours: list[UsageHour]
    course: UsageCourse | None
    by_node: UsageByNode | None
    problems: list[UsageProblem]
    unknown: list[str]
    queue: QueueFindings | None = None
