"""A profile of a program: each rank's records (docs/formats/profile.md), and how it was run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

PROFILE_VERSION = 1
RUN_SCHEMA = 1
# Share of the ranks' time without a CPU above which computing times don't represent the program.
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
    #: Time of the library per call, s; 0: not measured.
    cost: float = 0.0
    #: Part of ``counted`` in which the main thread could have run but had no CPU, s; None: unknown.
    cpu_wait: float | None = None
    #: Part of ``wall`` with counting on, s (MPI_Pcontrol switches it); None: all of it.
    counted: float | None = None
    #: The launcher's name of the launch; "" if it has none.
    world: str = ""
    #: Whether another program started it (MPI_Comm_spawn).
    spawned: bool = False
    #: Command of this process.
    command: str = ""
    #: MPI that the process's library was built for; "": unknown.
    mpi: str = ""

    @property
    def covered(self) -> float:
        """Time with counting on, which the profile covers, s."""
        return self.wall if self.counted is None else self.counted

    @property
    def switched(self) -> bool:
        """Whether the profile covers only parts of the run."""
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
    #: Offset of the return address in ``image``. If ``python`` names the function of a Python
    #: program, the line in its file.
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
    #: ``device_calls``, ``device_bytes``: calls whose bytes are in the memory of a device, and
    #: these bytes.
    device_calls: int = 0
    device_bytes: int = 0


class OverflowTotal(msgspec.Struct, frozen=True, tag="overflow"):
    """Calls whose key had no room."""

    calls: int
    time: float
    bytes: int = 0
    device_calls: int = 0
    device_bytes: int = 0


class PeerTotal(msgspec.Struct, frozen=True, tag="peer"):
    """Messages sent individually to one rank; None: to all ranks that had no room."""

    peer: int | None
    messages: int
    bytes: int


class NodeRecord(msgspec.Struct, frozen=True, tag="node"):
    """What a rank saw of its node; times in s, None: unknown. Only of runs that ask for it."""

    #: CPUs that the main thread may use, as Linux lists them, such as "0-3,8".
    cpus: str
    #: CPUs of the node that are online.
    online: int | None = None
    #: CPU time of the process during the profile.
    cpu_time: float | None = None
    #: CPU time of the main thread outside of MPI.
    computing: float | None = None
    #: CPU time of all processes of the node during the profile.
    busy: float | None = None
    #: Time that control groups of the process were held back for their CPU quota.
    held: float | None = None
    #: ``speed_begin``, ``speed_end``: dependent operations per second of the rank's CPU, before and
    #: after the profile.
    speed_begin: float = 0.0
    speed_end: float = 0.0
    #: Time from the begin of the profile in which the ranks of a node computed in turn.
    alone: float = 0.0


class CommunicatorRecord(msgspec.Struct, frozen=True, tag="communicator"):
    """A communicator that the program made."""

    number: int
    size: int


class EndRecord(msgspec.Struct, frozen=True, tag="end"):
    """The last record of a rank."""

    entries: int


ProfileRecord = (
    RankHeader
    | NodeRecord
    | KindTotal
    | CallTotal
    | OverflowTotal
    | PeerTotal
    | CommunicatorRecord
    | EndRecord
)


class RankProfile(msgspec.Struct, frozen=True):
    """The records of one rank. ``overflow`` is None if there was room for all."""

    header: RankHeader
    kinds: list[KindTotal]
    calls: list[CallTotal]
    overflow: OverflowTotal | None
    peers: list[PeerTotal]
    #: What the rank saw of its node; None if the run didn't ask for it.
    node: NodeRecord | None = None

    @property
    def times(self) -> dict[str, float]:
        """Seconds in MPI by kind of function, without MPI's begin and end."""
        return {one.kind: one.time for one in self.kinds if one.kind != LIFE and one.calls}

    @property
    def inside(self) -> float:
        """Seconds in MPI of all threads, without MPI's begin and end."""
        return sum(self.times.values()) + (self.overflow.time if self.overflow else 0.0)

    @property
    def computing(self) -> float:
        """Seconds outside of MPI in the time that the profile covers."""
        return max(self.header.covered - self.inside, 0.0)


class SourcePlace(msgspec.Struct, frozen=True):
    """The place of a call site in the program's source; "" if the debugging information lacks
    it."""

    image: str
    offset: int
    function: str
    file: str
    line: int


class LaunchTime(msgspec.Struct, frozen=True):
    """Times of one launch."""

    #: Time from the end of MPI_Init to MPI_Finalize on the rank that took longest, s.
    seconds: float
    #: Mean time of the ranks outside of MPI, s.
    computing: float


def middle_launch(launches: Sequence[LaunchTime]) -> int:
    """The number of the median launch. With an even number of launches, the shorter of the middle
    two."""
    order = sorted(range(len(launches)), key=lambda number: launches[number].seconds)
    return order[(len(order) - 1) // 2]


class ProfiledRun(msgspec.Struct, frozen=True):
    """How the program was run: ``run.json`` in the folder of the profile."""

    schema: int
    assay: str
    command: list[str]
    folder: str
    utc: float
    #: Time from its start to its end, including the launcher's work, s.
    wall: float
    #: Exit status.
    status: int
    #: MPI that the library was built for.
    mpi: str
    #: Path of the profiling library.
    library: str
    places: list[SourcePlace] = []
    #: Times of several launches, of which this is the median one; empty for a single launch.
    launches: list[LaunchTime] = []


class ProgramSummary(msgspec.Struct, frozen=True):
    """One of the MPI programs that a command ran. ``number`` counts from 1 in the order of their
    begin.
    """

    #: Number, from 1 in the order in which the programs began.
    number: int
    #: The different command lines of its ranks.
    commands: list[str]
    #: Whether another program started it.
    spawned: bool
    #: Number of ranks of its world.
    size: int
    #: Number of these ranks without a file.
    absent: int
    #: The longest wall time of a rank, s.
    wall: float
    #: Time in MPI over wall time, for all ranks together.
    mpi: float
    #: Bytes that ranks sent individually.
    messages: int


class ProgramProfile(msgspec.Struct, frozen=True):
    """The profile of a program."""

    run: ProfiledRun
    #: Profiles of the ranks, in order of rank.
    ranks: list[RankProfile]
    #: Ranks without a file.
    absent: list[int]
    #: Files that were not written to their end.
    cut: list[str]
    #: Number of the program among the programs that the command ran.
    number: int = 1
    #: All programs that the command ran.
    others: list[ProgramSummary] = []
