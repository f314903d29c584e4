"""Findings on a program's MPI calls: times in s, sizes in bytes, None where unknown."""

from __future__ import annotations

import msgspec

from assay.trace.model import LaunchTime, ProgramSummary

PROFILE_SCHEMA = 1


class RankSpread(msgspec.Struct, frozen=True):
    """A quantity over the ranks: ``mean``, ``least`` and ``most``."""

    mean: float
    least: float
    most: float


class ProfileKind(msgspec.Struct, frozen=True):
    """Calls of one ``kind`` of function: point, start, completion, probe, collective, one-sided,
    file, communicator.

    ``calls``: of all ranks. ``time``: over the ranks. ``share``: of the wall time of all ranks.
    """

    kind: str
    calls: int
    time: RankSpread
    share: float


class ProfileFunction(msgspec.Struct, frozen=True):
    """Calls of one ``function`` (named without ``MPI_``), of all ranks together, without MPI_Init.

    ``calls``, ``bytes``, ``time``: sums. ``failed``: tests and probes that found nothing.
    ``share``: of the wall time of all ranks. ``longest``: the longest call.
    """

    function: str
    calls: int
    failed: int
    bytes: int
    time: float
    share: float
    longest: float


class ProfileSite(msgspec.Struct, frozen=True):
    """Calls of one ``function`` from one place of the program.

    ``calls``, ``bytes``: of all ranks. ``place``: function and line of the source, or file and
    return address. ``ranks``: how many ranks called. ``time``: over all ranks, those that didn't
    call included. ``share``: of the wall time of all ranks.
    """

    function: str
    place: str
    ranks: int
    calls: int
    bytes: int
    time: RankSpread
    share: float


class ProfileRank(msgspec.Struct, frozen=True):
    """One ``rank`` and its ``host``. ``wall``: from the end of MPI_Init on. ``mpi``: in MPI's
    functions, of all threads. ``computing``: the rest. ``kinds``: ``mpi`` by kind of function.
    ``messages``, ``bytes``: what it sent individually to other ranks.
    """

    rank: int
    host: str
    wall: float
    mpi: float
    computing: float
    messages: int
    bytes: int
    kinds: dict[str, float]


class ProfileEfficiencies(msgspec.Struct, frozen=True):
    """The POP efficiencies that a profile gives, as shares of 1.

    ``parallel``: mean computing time ÷ longest wall time, the product of the other two.
    ``load_balance``: mean ÷ longest computing time. ``communication``: longest computing time ÷
    longest wall time; waiting and transfer are both in it.
    """

    parallel: float
    load_balance: float
    communication: float


class MeasuredRegions(msgspec.Struct, frozen=True):
    """The parts of a run that its profile is of, as MPI_Pcontrol switches it on and off.

    ``regions``: how often it was switched on, on the rank with most. ``share``: of the time from
    MPI_Init to MPI_Finalize, over all ranks.
    """

    regions: int
    share: float


class ProfileGrain(msgspec.Struct, frozen=True):
    """Computation against communication.

    ``ratio``: computation ÷ communication, of all ranks; communication is the time inside MPI's
    functions without the known waiting; None without any. ``fine``: whether communication takes at
    least as long as computation. ``between``: mean computing time between two calls of a rank.
    ``waiting``: s of known waiting, of all ranks; ``waiting_share``: of the time inside.
    ``traced``: whether it is from a trace; otherwise it is what uneven computing alone makes the
    ranks wait, and there may be more.
    """

    ratio: float | None
    fine: bool
    between: float
    waiting: float
    waiting_share: float
    traced: bool


class ProfileDemand(msgspec.Struct, frozen=True):
    """What is sent per rank and s of wall time, individually to other ranks (``messages`` per s,
    ``bytes`` per s; the mean and the rank with least and most). ``collectives``: calls of
    collective functions per rank and s.
    """

    messages: RankSpread
    bytes: RankSpread
    collectives: float


class SizeShare(msgspec.Struct, frozen=True):
    """``calls`` that send data, by bytes per call: at least ``low``, less than ``high``.

    ``bytes``: their sum.
    """

    low: int
    high: int
    calls: int
    bytes: int


class SentBetween(msgspec.Struct, frozen=True):
    """``messages`` and ``bytes`` that rank ``sender`` sent individually to rank ``receiver``."""

    sender: int
    receiver: int
    messages: int
    bytes: int


class ProfileFindings(msgspec.Struct, frozen=True):
    """A program's profile.

    ``command``: the program as it was run; ``status``: its exit status; ``utc``: its start, Unix
    time. ``mpi``: its MPI. ``size``: ranks of its world; ``hosts``: number of hosts. ``absent``:
    ranks without a profile. ``endings``: number of ranks by what made them write. ``wall``: the
    longest wall time of a rank from the end of MPI_Init on, with the profile on. ``total``: from
    the start of the command to its end, the launcher's work included. ``mpi_share``: time in MPI ÷
    wall time, over the ranks. ``threaded``: whether time in MPI of several threads may count at
    once. ``efficiencies``: None where computing can't be derived. ``grain``, ``demand``: what it
    needs of a network. ``kinds``, ``functions``, ``sites``: times by kind of function, function and
    call site, most first. ``sizes``: calls by bytes. ``sent``: who sent to whom. ``ranks``: each
    rank. ``schema``: version of this layout. ``unknown``: what the profile can't say, in sentences.
    ``lost``: share of the calls for whose call site there was no room. ``unfinished``: requests
    that were never completed. ``cost``: s that the profile (and the trace) takes per call, as each
    rank measured it at its start, mean over the ranks; None: not measured. ``cpu_wait``: share of
    the ranks' wall time in which their main threads could have run and had no CPU; None: unknown.
    ``overhead``: calls of a rank × its cost ÷ its wall time, the largest over the ranks.
    ``regions``: None: the profile is of the whole run. ``launches``: times of several, of which
    this is the middle one; empty: it is the only one. ``programs``: the command lines of the ranks
    that this is of; ``number``: of this program, where the command ran several; ``others``: those.
    """

    schema: int
    command: list[str]
    status: int
    utc: float
    mpi: str
    size: int
    hosts: int
    absent: list[int]
    endings: dict[str, int]
    wall: float
    total: float
    mpi_share: RankSpread
    threaded: bool
    efficiencies: ProfileEfficiencies | None
    grain: ProfileGrain
    demand: ProfileDemand
    kinds: list[ProfileKind]
    functions: list[ProfileFunction]
    sites: list[ProfileSite]
    sizes: list[SizeShare]
    sent: list[SentBetween]
    ranks: list[ProfileRank]
    lost: float
    unfinished: int
    cost: float | None
    cpu_wait: float | None
    overhead: float | None
    regions: MeasuredRegions | None
    unknown: list[str]
    launches: list[LaunchTime]
    programs: list[str]
    number: int
    others: list[ProgramSummary]
