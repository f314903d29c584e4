"""Findings on a program's MPI calls: times in s, sizes in bytes, None where unknown."""

from __future__ import annotations

from dataclasses import dataclass

from assay.trace.model import LaunchTime, ProgramSummary

PROFILE_SCHEMA = 1


@dataclass(frozen=True)
class RankSpread:
    """A quantity over the ranks: mean, smallest and largest value."""

    #: Mean over the ranks.
    mean: float
    #: The smallest value.
    least: float
    #: The largest value.
    most: float


@dataclass(frozen=True)
class ProfileKind:
    """Calls of one ``kind`` of function."""

    #: Kind of function: point, start, completion, probe, collective, one-sided, file or
    #: communicator.
    kind: str
    #: Number of calls of all ranks.
    calls: int
    #: Time over the ranks, s.
    time: RankSpread
    #: Share of the wall time of all ranks.
    share: float


@dataclass(frozen=True)
class ProfileFunction:
    """Calls of one ``function`` by all ranks together, without MPI_Init."""

    #: Name of the function, without ``MPI_``.
    function: str
    #: ``calls``, ``bytes``, ``time``: totals over all ranks; time in s.
    calls: int
    #: Number of tests and probes that found nothing.
    failed: int
    bytes: int
    time: float
    #: Share of the wall time of all ranks.
    share: float
    #: Time of the longest call, s.
    longest: float
    #: ``device_calls``, ``device_bytes``: the part of ``calls`` and ``bytes`` whose buffers are
    #: memory of a device.
    device_calls: int = 0
    device_bytes: int = 0


@dataclass(frozen=True)
class ProfileSite:
    """Calls of one ``function`` from one place of the program."""

    #: Name of the function, without ``MPI_``.
    function: str
    #: Function and line of the source, or file and return address.
    place: str
    #: Number of ranks that called it.
    ranks: int
    #: ``calls``, ``bytes``: totals over all ranks.
    calls: int
    bytes: int
    #: Time over all ranks (s), including ranks that didn't call it.
    time: RankSpread
    #: Share of the wall time of all ranks.
    share: float
    #: The part of ``bytes`` that is in the memory of a device.
    device_bytes: int = 0


@dataclass(frozen=True)
class ProfileRank:
    """Times and messages of one rank."""

    #: Number of the rank.
    rank: int
    #: Host of the rank.
    host: str
    #: Wall time after MPI_Init, s.
    wall: float
    #: Time in MPI functions of all threads, s.
    mpi: float
    #: Computing time: the rest of the wall time, s.
    computing: float
    #: ``messages``, ``bytes``: messages and bytes that it sent individually to other ranks.
    messages: int
    bytes: int
    #: Time in MPI by kind of function, s.
    kinds: dict[str, float]


@dataclass(frozen=True)
class ProfileEfficiencies:
    """The POP efficiencies that a profile gives, as shares of 1."""

    #: Mean computing time ÷ longest wall time. It is the product of the other two efficiencies.
    parallel: float
    #: Mean computing time ÷ longest computing time.
    load_balance: float
    #: Longest computing time ÷ longest wall time. It includes both waiting and transfer.
    communication: float


@dataclass(frozen=True)
class MeasuredRegions:
    """The parts of a run that its profile covers, as MPI_Pcontrol switches it on and off."""

    #: Number of times the profile was switched on, on the rank with the most.
    regions: int
    #: Share of the time from MPI_Init to MPI_Finalize, over all ranks.
    share: float


@dataclass(frozen=True)
class ProfileGrain:
    """The ratio of computation to communication."""

    #: Computation ÷ communication of all ranks. Communication is the time in MPI functions without
    #: the known waiting. None if there is no communication.
    ratio: float | None
    #: Whether communication takes at least as long as computation.
    fine: bool
    #: Mean computing time between two calls of a rank.
    between: float
    #: Known waiting of all ranks, s.
    waiting: float
    #: Share of the known waiting in the time in MPI functions.
    waiting_share: float
    #: Whether the waiting comes from a trace. Otherwise, it includes only the waiting caused by
    #: uneven computing, and there may be more.
    traced: bool


@dataclass(frozen=True)
class ProfileDemand:
    """What a rank sends individually to other ranks, per s of wall time."""

    #: Messages per s of wall time.
    messages: RankSpread
    #: Bytes per s of wall time.
    bytes: RankSpread
    #: Calls of collective functions per rank and s.
    collectives: float


@dataclass(frozen=True)
class SizeShare:
    """Calls that send data, in one class of bytes per call."""

    #: Minimum of bytes per call.
    low: int
    #: Upper limit of bytes per call (excluded).
    high: int
    #: Number of calls.
    calls: int
    #: Total bytes of these calls.
    bytes: int


@dataclass(frozen=True)
class SentBetween:
    """Messages that one rank sent individually to another."""

    #: Rank that sends.
    sender: int
    #: Rank that receives.
    receiver: int
    #: Number of messages.
    messages: int
    #: Bytes in these messages.
    bytes: int


@dataclass(frozen=True)
class ProfileFindings:
    """A program's profile."""

    #: Version of this layout.
    schema: int
    #: Command line of the program.
    command: list[str]
    #: Exit status of the program.
    status: int
    #: Start of the program, Unix time (s).
    utc: float
    #: MPI library of the program.
    mpi: str
    #: Number of ranks of MPI_COMM_WORLD.
    size: int
    #: Number of hosts.
    hosts: int
    #: Ranks that wrote no profile.
    absent: list[int]
    #: Number of ranks by the event that made them write their profile.
    endings: dict[str, int]
    #: Longest wall time of a rank after MPI_Init with the profile switched on, s.
    wall: float
    #: Time from the start of the command to its end (s), including the launcher's work.
    total: float
    #: Time in MPI ÷ wall time, over the ranks.
    mpi_share: RankSpread
    #: Whether the time in MPI may count several threads at once.
    threaded: bool
    #: Efficiencies; None if computing can't be derived.
    efficiencies: ProfileEfficiencies | None
    #: ``grain``, ``demand``: computation against communication, and what the program sends.
    grain: ProfileGrain
    demand: ProfileDemand
    #: ``kinds``, ``functions``, ``sites``: times by kind of function, by function and by call site,
    #: in descending order.
    kinds: list[ProfileKind]
    functions: list[ProfileFunction]
    sites: list[ProfileSite]
    #: Calls by bytes per call.
    sizes: list[SizeShare]
    #: Messages and bytes by sender and receiver.
    sent: list[SentBetween]
    #: Each rank.
    ranks: list[ProfileRank]
    #: Share of the calls without a call site, because there was no room for it.
    lost: float
    #: Number of requests that never completed.
    unfinished: int
    #: Time that the profile (and the trace) takes per call, s: the mean of the ranks' measurements
    #: at their start. None if it wasn't measured.
    cost: float | None
    #: Share of the ranks' wall time in which their main threads were ready to run but had no CPU.
    #: None if unknown.
    cpu_wait: float | None
    #: Largest value over the ranks of calls × cost per call ÷ wall time.
    overhead: float | None
    #: The profiled parts of the run; None if the profile covers the whole run.
    regions: MeasuredRegions | None
    #: What the profile can't say, in sentences.
    unknown: list[str]
    #: Times of all launches, if there were several; this profile is from the median launch.
    launches: list[LaunchTime]
    #: Command lines of the ranks of this program.
    programs: list[str]
    #: Number of this program, if the command ran several.
    number: int
    #: The other programs of the command.
    others: list[ProgramSummary]
