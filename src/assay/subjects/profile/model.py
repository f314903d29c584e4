"""Findings on a program's MPI calls: times in s, sizes in bytes, None where unknown."""

from __future__ import annotations

from dataclasses import dataclass

from assay.trace.model import LaunchTime, ProgramSummary

PROFILE_SCHEMA = 1


@dataclass(frozen=True)
class RankSpread:
    """A quantity over the ranks: ``mean``, ``least`` and ``most``."""

    #: Mean over ranks.
    mean: float
    #: The smallest value.
    least: float
    #: The largest value.
    most: float


@dataclass(frozen=True)
class ProfileKind:
    """Calls of one ``kind`` of function: point, start, completion, probe, collective, one-sided,
    file, communicator.
    """

    #: point, start, completion, probe, collective, one-sided, file or communicator.
    kind: str
    #: Of all ranks.
    calls: int
    #: Over the ranks.
    time: RankSpread
    #: Of the wall time of all ranks.
    share: float


@dataclass(frozen=True)
class ProfileFunction:
    """Calls of one ``function`` (named without ``MPI_``), of all ranks together, without
    MPI_Init.
    """

    #: Name of the function, without ``MPI_``.
    function: str
    #: ``calls``, ``bytes``, ``time``: sums.
    calls: int
    #: Tests and probes that found nothing.
    failed: int
    bytes: int
    time: float
    #: Of the wall time of all ranks.
    share: float
    #: The longest call.
    longest: float


@dataclass(frozen=True)
class ProfileSite:
    """Calls of one ``function`` from one place of the program."""

    #: Name of the function, without ``MPI_``.
    function: str
    #: Function and line of the source, or file and return address.
    place: str
    #: How many ranks called.
    ranks: int
    #: ``calls``, ``bytes``: of all ranks.
    calls: int
    bytes: int
    #: Over all ranks, those that didn't call included.
    time: RankSpread
    #: Of the wall time of all ranks.
    share: float


@dataclass(frozen=True)
class ProfileRank:
    """One ``rank`` and its ``host``."""

    #: Number of the rank.
    rank: int
    #: Its host.
    host: str
    #: From the end of MPI_Init on.
    wall: float
    #: In MPI's functions, of all threads.
    mpi: float
    #: The rest.
    computing: float
    #: ``messages``, ``bytes``: what it sent individually to other ranks.
    messages: int
    bytes: int
    #: ``mpi`` by kind of function.
    kinds: dict[str, float]


@dataclass(frozen=True)
class ProfileEfficiencies:
    """The POP efficiencies that a profile gives, as shares of 1."""

    #: Mean computing time ÷ longest wall time, the product of the other two.
    parallel: float
    #: Mean ÷ longest computing time.
    load_balance: float
    #: Longest computing time ÷ longest wall time; waiting and transfer are both in it.
    communication: float


@dataclass(frozen=True)
class MeasuredRegions:
    """The parts of a run that its profile is of, as MPI_Pcontrol switches it on and off."""

    #: How often it was switched on, on the rank with most.
    regions: int
    #: Of the time from MPI_Init to MPI_Finalize, over all ranks.
    share: float


@dataclass(frozen=True)
class ProfileGrain:
    """Computation against communication."""

    #: Computation ÷ communication, of all ranks; communication is the time inside MPI's functions
    #: without the known waiting; None without any.
    ratio: float | None
    #: Whether communication takes at least as long as computation.
    fine: bool
    #: Mean computing time between two calls of a rank.
    between: float
    #: s of known waiting, of all ranks.
    waiting: float
    #: Of the time inside.
    waiting_share: float
    #: Whether it is from a trace; otherwise it is what uneven computing alone makes the ranks wait,
    #: and there may be more.
    traced: bool


@dataclass(frozen=True)
class ProfileDemand:
    """What is sent per rank and s of wall time, individually to other ranks (``messages`` per s,
    ``bytes`` per s; the mean and the rank with least and most).
    """

    #: Messages per s of wall time.
    messages: RankSpread
    #: Bytes per s of wall time.
    bytes: RankSpread
    #: Calls of collective functions per rank and s.
    collectives: float


@dataclass(frozen=True)
class SizeShare:
    """``calls`` that send data, by bytes per call: at least ``low``, less than ``high``."""

    #: Least bytes per call.
    low: int
    #: The calls have fewer bytes than this.
    high: int
    #: Number of calls.
    calls: int
    #: Their sum.
    bytes: int


@dataclass(frozen=True)
class SentBetween:
    """``messages`` and ``bytes`` that rank ``sender`` sent individually to rank ``receiver``."""

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
    #: The program as it was run.
    command: list[str]
    #: Its exit status.
    status: int
    #: Its start, Unix time.
    utc: float
    #: Its MPI.
    mpi: str
    #: Ranks of its world.
    size: int
    #: Number of hosts.
    hosts: int
    #: Ranks without a profile.
    absent: list[int]
    #: Number of ranks by what made them write.
    endings: dict[str, int]
    #: The longest wall time of a rank from the end of MPI_Init on, with the profile on.
    wall: float
    #: From the start of the command to its end, the launcher's work included.
    total: float
    #: Time in MPI ÷ wall time, over the ranks.
    mpi_share: RankSpread
    #: Whether time in MPI of several threads may count at once.
    threaded: bool
    #: None where computing can't be derived.
    efficiencies: ProfileEfficiencies | None
    #: ``grain``, ``demand``: what it needs of a network.
    grain: ProfileGrain
    demand: ProfileDemand
    #: ``kinds``, ``functions``, ``sites``: times by kind of function, function and call site, most
    #: first.
    kinds: list[ProfileKind]
    functions: list[ProfileFunction]
    sites: list[ProfileSite]
    #: Calls by bytes.
    sizes: list[SizeShare]
    #: Who sent to whom.
    sent: list[SentBetween]
    #: Each rank.
    ranks: list[ProfileRank]
    #: Share of the calls for whose call site there was no room.
    lost: float
    #: Requests that were never completed.
    unfinished: int
    #: s that the profile (and the trace) takes per call, as each rank measured it at its start,
    #: mean over the ranks; None: not measured.
    cost: float | None
    #: Share of the ranks' wall time in which their main threads could have run and had no CPU;
    #: None: unknown.
    cpu_wait: float | None
    #: Calls of a rank × its cost ÷ its wall time, the largest over the ranks.
    overhead: float | None
    #: None: the profile is of the whole run.
    regions: MeasuredRegions | None
    #: What the profile can't say, in sentences.
    unknown: list[str]
    #: Times of several, of which this is the middle one; empty: it is the only one.
    launches: list[LaunchTime]
    #: The command lines of the ranks that this is of.
    programs: list[str]
    #: Of this program, where the command ran several.
    number: int
    #: Those.
    others: list[ProgramSummary]
