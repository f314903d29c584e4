"""Findings on the use of a machine: each number with what it is based on, None where unknown."""

from __future__ import annotations

import msgspec

from assay.subjects.usage.queue.model import QueueFindings

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
