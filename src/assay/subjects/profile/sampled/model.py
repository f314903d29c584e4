"""Findings on samples of call stacks: times are CPU times in s, None where unknown."""

from __future__ import annotations

from dataclasses import dataclass

from assay.units import Interval

SAMPLED_SCHEMA = 1


@dataclass(frozen=True)
class SampledCode:
    """Computing time in one function or line, over all ranks."""

    #: Name of the function, or module and address if it has none.
    function: str
    #: Executable or library; "python" for functions of a Python program.
    module: str
    #: ``file``, ``line``: the line; "" and 0 for a whole function.
    file: str
    line: int
    #: Number of samples in the function itself.
    samples: int
    #: Share of the computing samples.
    share: float
    #: 95% interval of the share, from the number of samples.
    ci95: Interval
    #: The same together with all functions that it calls. Recursion counts once.
    inclusive: float
    #: ``mean``, ``least``, ``most``: time over the ranks.
    mean: float
    least: float
    most: float
    #: Most ÷ mean.
    imbalance: float
    #: Rank with the most.
    rank: int


@dataclass(frozen=True)
class SampledExcess:
    """A function in which the slowest rank computes longer than the mean of all ranks."""

    #: ``function``, ``module``: name and executable or library.
    function: str
    module: str
    #: Time beyond the mean.
    seconds: float
    #: 95% interval of this time.
    ci95: Interval
    #: Share of the rank's excess over all functions; above 1 if other functions are faster.
    share: float
    #: p-value of an excess by chance, corrected for the number of functions and ranks.
    p: float


@dataclass(frozen=True)
class SlowestRank:
    """The rank that computes longest."""

    #: Number of the rank.
    rank: int
    #: ``seconds``, ``mean``: its computing time, and the mean of all ranks.
    seconds: float
    mean: float
    #: Time beyond the mean.
    excess: float
    #: Functions with more time than on the mean of the ranks, in descending order.
    functions: list[SampledExcess]
    #: The most specific function that surely holds at least 70% of the excess together with its
    #: callees; None if there is none.
    holder: SampledExcess | None


@dataclass(frozen=True)
class SampledThread:
    """CPU time of one thread."""

    #: ``rank``, ``thread``: its rank, and its number within the rank.
    rank: int
    thread: int
    #: Name that the program or its library gave it.
    name: str
    #: ``computing``, ``mpi``, ``waiting``: time outside of MPI, in MPI, and waiting for other
    #: threads in a run-time library of OpenMP.
    computing: float
    mpi: float
    waiting: float
    #: Function with most of its computing time; "" if it computed nothing.
    function: str


@dataclass(frozen=True)
class CountedFunction:
    """Events in one function, apart from those in its callees."""

    #: ``function``, ``module``: name and executable or library.
    function: str
    module: str
    #: Number of samples with counters.
    samples: int
    #: CPU time that these samples stand for.
    seconds: float
    #: The number of each event, in the order of ``events`` of the program.
    events: list[float]
    #: Instructions ÷ cycles; None if these were not counted.
    ipc: float | None
    #: Cache misses per 1,000 instructions; None if these were not counted.
    misses: float | None
    #: Share of the time of its periods that began in another function, whose events it may have.
    shared: float


@dataclass(frozen=True)
class SampledCounters:
    """Events that were counted beside the samples, outside of MPI."""

    #: Names of the events, as perf has them.
    events: list[str]
    #: ``totals``, ``seconds``: number of each event, and CPU time, of all functions.
    totals: list[float]
    seconds: float
    #: Share of the time in which the events were counted; numbers are scaled up to the whole time.
    #: None: unknown.
    counted: float | None
    #: The functions with the most time first, at most 1,000.
    functions: list[CountedFunction]


@dataclass(frozen=True)
class ProcessFunction:
    """A function of one process."""

    #: Name of the function.
    function: str
    #: Its own computing time in the process.
    seconds: float


@dataclass(frozen=True)
class SampledProcess:
    """CPU time of one process of a program that forks."""

    #: ``rank``, ``host``: its rank, or that of the process whose child it is, and its host.
    rank: int
    host: str
    #: ``process``, ``parent``: its number, and that of the process that forked it; 0: none.
    process: int
    parent: int
    #: ``threads``, ``samples``: their numbers.
    threads: int
    samples: int
    #: ``computing``, ``mpi``, ``waiting``: as for threads.
    computing: float
    mpi: float
    waiting: float
    #: The functions with most of its computing time, at most three.
    functions: list[ProcessFunction]


@dataclass(frozen=True)
class OwedFunction:
    """Waiting of other ranks that follows from a function of one rank."""

    #: Number of the rank.
    rank: int
    #: ``function``, ``module``: name and executable or library.
    function: str
    module: str
    #: Waiting of the other ranks.
    seconds: float
    #: 95% interval of the waiting, from the number of samples.
    ci95: Interval
    #: Share of the waiting for ranks that computed longer.
    share: float


@dataclass(frozen=True)
class OwedWaits:
    """What the waiting for ranks that computed longer is owed to, in s of all ranks."""

    #: The sum of the functions and of the next two.
    computing: float
    #: ``asleep``: the late rank had no CPU, slept, or waited for input and output.
    #: ``unsampled``: too few samples between the calls to name a function.
    asleep: float
    unsampled: float
    #: In descending order.
    functions: list[OwedFunction]


@dataclass(frozen=True)
class CallBox:
    """A function on one path of calls, as a box of the icicle."""

    #: ``function``, ``module``: name and executable or library.
    function: str
    module: str
    #: Number of callers on the path.
    depth: int
    #: ``begin``, ``end``: its span as shares of all samples, within the span of its caller.
    begin: float
    end: float
    #: Share of all samples in the function itself.
    own: float


@dataclass(frozen=True)
class RankFunction:
    """Computing time of one rank in one function."""

    #: Number of the rank.
    rank: int
    #: Name of the function.
    function: str
    #: Its own computing time.
    seconds: float


@dataclass(frozen=True)
class SampledFindings:
    """Where a program's CPU time goes, from samples of its call stacks."""

    #: Version of this layout.
    schema: int
    #: CPU time between two samples of a thread.
    period: float
    #: What the samples follow: "cpu-clock", or an event of a hardware counter.
    clock: str
    #: ``samples``, ``lost``: number of samples stored, and of samples that could not be stored.
    samples: int
    lost: int
    #: Number of ranks with samples; of processes without MPI.
    ranks: int
    #: CPU time that the samples stand for, all ranks.
    seconds: float
    #: ``computing``, ``mpi``, ``waiting``: its shares outside of MPI, in MPI, and waiting for other
    #: threads.
    computing: float
    mpi: float
    waiting: float
    #: ``functions``, ``lines``: in descending order, at most 1,000.
    functions: list[SampledCode]
    lines: list[SampledCode]
    #: Number of functions with samples.
    found: int
    #: The rank that computes longest; None with a single rank.
    slowest: SlowestRank | None
    #: Time of the main functions by rank; empty for many ranks.
    by_rank: list[RankFunction]
    #: Each thread.
    threads: list[SampledThread]
    #: Each process, if forked children were followed; at most 1,000, the most computing first.
    processes: list[SampledProcess]
    #: Counted events; None without ``--counters``, or if nothing could be counted.
    counters: SampledCounters | None
    #: Owed waiting; None without a trace.
    owed: OwedWaits | None
    #: Boxes of the call tree, callers first. Boxes with less than 0.2% of the samples are left out.
    tree: list[CallBox]
    #: CPU time that sampling itself took, as a share of ``seconds``; None if it wasn't measured.
    cost: float | None
    #: What the samples can't say, in sentences.
    unknown: list[str]
