"""A profile of a program: what each rank recorded (docs/formats/profile.md), and how it was run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

PROFILE_VERSION = 1
RUN_SCHEMA = 1
# Share of the ranks' time without a CPU from which on computing times aren't those of the program.
NO_CPU = 0.05
# Kind of the functions that begin and end MPI, whose time isn't part of a profile.
LIFE = "life"
# Peers that are not ranks of the world.
NamedPeer = Literal["any", "proc_null", "unknown"]


class RankHeader(msgspec.Struct, frozen=True, tag="profile"):
    """The first record of a rank; times in s. ``rank`` None: the program has no world."""

    version: int
    rank: int | None
    ranks: int
    process: int
    host: str
    ended: str
    threads: str
    begin: float
    begin_wall: float
    wall: float
    runs: int
    unfinished: int
    fortran: bool
    complete: bool
    #: Of the library per call; 0: not measured.
    cost: float = 0.0
    #: Of ``counted``, that the main thread could have run and had no CPU; None: unknown.
    cpu_wait: float | None = None
    #: Of ``wall``, with counting on (MPI_Pcontrol switches it); None: all.
    counted: float | None = None
    #: What the launcher calls the launch; "": it doesn't.
    world: str = ""
    #: By another program (MPI_Comm_spawn).
    spawned: bool = False
    #: Of this process.
    command: str = ""
    #: That its library was built for; "": unknown.
    mpi: str = ""

    @property
    def covered(self) -> float:
        """s that the profile is of: with counting on."""
        return self.wall if self.counted is None else self.counted

    @property
    def switched(self) -> bool:
        """Whether the profile is of parts of the run only."""
        return self.counted is not None and self.counted < self.wall * (1.0 - 1e-9)


class KindTotal(msgspec.Struct, frozen=True, tag="kind"):
    """Calls of a kind of function, and their time (s)."""

    kind: str
    calls: int
    time: float


class CallTotal(msgspec.Struct, frozen=True, tag="call"):
    """Calls of one function from one call site with one peer and one size class."""

    function: str
    image: str
    #: Of the return address in ``image``; where ``python`` names the function of a Python program,
    #: the line in it.
    offset: int
    peer: int | NamedPeer | None
    size_class: int
    calls: int
    bytes: int
    time: float
    least: float
    most: float
    failed: int = 0
    python: str = ""


class OverflowTotal(msgspec.Struct, frozen=True, tag="overflow"):
    """Calls for whose key there was no room."""

    calls: int
    time: float
    bytes: int = 0


class PeerTotal(msgspec.Struct, frozen=True, tag="peer"):
    """What was sent individually to one rank; None: to ranks for which there was no room."""

    peer: int | None
    messages: int
    bytes: int


class CommunicatorRecord(msgspec.Struct, frozen=True, tag="communicator"):
    """A communicator that the program made."""

    number: int
    size: int


class EndRecord(msgspec.Struct, frozen=True, tag="end"):
    """The last record of a rank."""

    entries: int


ProfileRecord = (
    RankHeader | KindTotal | CallTotal | OverflowTotal | PeerTotal | CommunicatorRecord | EndRecord
)


class RankProfile(msgspec.Struct, frozen=True):
    """What one rank recorded. ``overflow`` None: there was room for all."""

    header: RankHeader
    kinds: list[KindTotal]
    calls: list[CallTotal]
    overflow: OverflowTotal | None
    peers: list[PeerTotal]

    @property
    def times(self) -> dict[str, float]:
        """s in MPI by kind of function, without MPI's begin and end."""
        return {one.kind: one.time for one in self.kinds if one.kind != LIFE and one.calls}

    @property
    def inside(self) -> float:
        """s in MPI, of all threads, without its begin and end."""
        return sum(self.times.values()) + (self.overflow.time if self.overflow else 0.0)

    @property
    def computing(self) -> float:
        """s that the profile is of and that are not in MPI."""
        return max(self.header.covered - self.inside, 0.0)


class SourcePlace(msgspec.Struct, frozen=True):
    """Where a call site is in the program's source; "" where its debugging information lacks it."""

    image: str
    offset: int
    function: str
    file: str
    line: int


class LaunchTime(msgspec.Struct, frozen=True):
    """Of one launch: ``seconds`` from the end of MPI_Init to MPI_Finalize, of the rank that took
    longest;
    """

    #: s from the end of MPI_Init to MPI_Finalize, of the rank that took longest.
    seconds: float
    #: Mean of the ranks' s outside of MPI.
    computing: float


def middle_launch(launches: Sequence[LaunchTime]) -> int:
    """The number of the median launch; of an even number, the shorter of the middle two."""
    order = sorted(range(len(launches)), key=lambda number: launches[number].seconds)
    return order[(len(order) - 1) // 2]


class ProfiledRun(msgspec.Struct, frozen=True):
    """How the program was run, ``run.json`` in the folder of the profile."""

    schema: int
    assay: str
    command: list[str]
    folder: str
    utc: float
    #: s from its start to its end, the launcher's work included.
    wall: float
    #: Its exit status.
    status: int
    #: The MPI that this was built for.
    mpi: str
    #: The profiling library.
    library: str
    places: list[SourcePlace] = []
    #: Times of several, of which this is the middle one; empty: it is the only one.
    launches: list[LaunchTime] = []


class ProgramSummary(msgspec.Struct, frozen=True):
    """One of the MPI programs that a command ran: ``number``, from 1 in the order of their
    begin.
    """

    #: From 1, in the order in which the programs began.
    number: int
    #: The different command lines of its ranks.
    commands: list[str]
    #: By another program.
    spawned: bool
    #: Ranks of its world.
    size: int
    #: How many of them have no file.
    absent: int
    #: The longest wall time of a rank, s.
    wall: float
    #: Time in MPI ÷ wall time, of all ranks.
    mpi: float
    #: That ranks sent individually.
    messages: int


class ProgramProfile(msgspec.Struct, frozen=True):
    """The profile of a program."""

    run: ProfiledRun
    #: In order of rank.
    ranks: list[RankProfile]
    #: Ranks without a file.
    absent: list[int]
    #: Files that were not written to their end.
    cut: list[str]
    #: Of the program among those that the command ran.
    number: int = 1
    #: Those.
    others: list[ProgramSummary] = []
