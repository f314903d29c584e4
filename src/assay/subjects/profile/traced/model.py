"""Findings from the trace of a program: times in s, sizes in bytes, None where unknown."""

from __future__ import annotations

import msgspec

from assay.trace.model import LaunchTime

TRACE_SCHEMA = 1


class WaitShare(msgspec.Struct, frozen=True):
    """Waiting by ``cause``. ``time``: of all ranks; ``share``: of the wall time of all ranks;
    ``calls``: how many waited.
    """

    cause: str
    time: float
    share: float
    calls: int


class DelayOrigin(msgspec.Struct, frozen=True):
    """Waiting that goes back to one rank and place.

    ``rank``: whose delay. ``kind``: computing or communication. ``place``: the call, or the calls
    between which it computed. ``direct``: waiting for this rank; ``handed_on``: waiting for ranks
    that waited because of it. ``share``: both, of all waiting. ``phase``: setup, iterations or end.
    ``gain``: s of the run time that its removal would save at most, of the first ones; None: not
    estimated.
    """

    rank: int
    kind: str
    place: str
    phase: str
    direct: float
    handed_on: float
    share: float
    gain: float | None = None


class WaitPlace(msgspec.Struct, frozen=True):
    """Where it waits: calls of one ``function`` at one ``place``, by ``cause``.

    ``time``: of all ranks; ``share``: of the wall time of all ranks; ``calls``: how many waited.
    """

    function: str
    place: str
    cause: str
    time: float
    share: float
    calls: int


class WorstWait(msgspec.Struct, frozen=True):
    """One of the longest waits: of ``rank`` from ``begin`` on (since the begin of the trace) for
    ``time``, by ``cause``, in ``place``, for rank ``late``.
    """

    rank: int
    begin: float
    time: float
    cause: str
    place: str
    late: int


class PopEfficiencies(msgspec.Struct, frozen=True):
    """The POP efficiencies, as shares of 1.

    ``parallel``: mean computing time ÷ run time, the product of ``load_balance`` (mean ÷ longest
    computing time) and ``communication`` (longest computing time ÷ run time). The latter is the
    product of ``serialisation`` (longest computing time ÷ run time on an ideal network) and
    ``transfer`` (run time on an ideal network ÷ run time).
    """

    parallel: float
    load_balance: float
    communication: float
    serialisation: float | None
    transfer: float | None


class ProgramPhase(msgspec.Struct, frozen=True):
    """A phase of the run, by ``name``: setup, iterations, end.

    ``begin``, ``end``: since the begin of the trace, of the first and the last rank in it.
    ``computing``, ``waiting``, ``mpi``: mean of the ranks; the last without waiting.
    """

    name: str
    begin: float
    end: float
    computing: float
    waiting: float
    mpi: float


class ProgramIterations(msgspec.Struct, frozen=True):
    """The iterations found. ``times``: their number. ``calls``: MPI calls of a rank in each.

    ``inner``: repetitions within one, 0 if there are none. ``median``: their time; ``cov``:
    coefficient of variation; ``longest``: the longest; ``longest_number``: its number, from 0;
    ``first``: place where they begin. ``ranks``: how many ranks have as many iterations.
    """

    times: int
    calls: int
    inner: int
    median: float
    cov: float
    longest: float
    longest_number: int
    first: str
    ranks: int


class CriticalPlace(msgspec.Struct, frozen=True):
    """``time`` of the critical path spent by ``rank`` in ``place``, by ``kind`` (computing or
    communication); ``share``: of the path.
    """

    rank: int
    kind: str
    place: str
    time: float
    share: float


class LinkFound(msgspec.Struct, frozen=True):
    """A link as the trace shows it. ``link``: within a host, or between hosts. ``latency``: L;
    ``overhead``: o; ``bandwidth``: 1/G, None if sizes don't tell it; ``observations``: messages and
    collectives that show it; ``scatter``: median relative deviation from the line.
    """

    link: str
    latency: float
    overhead: float
    bandwidth: float | None
    observations: int
    scatter: float


class NeededNetwork(msgspec.Struct, frozen=True):
    """What a network between hosts needs for the run to take at most ``share`` longer than on one
    without ``latency``, or with unlimited ``bandwidth`` (B/s, per rank). None: any will do.
    """

    share: float
    latency: float | None
    bandwidth: float | None


class RunTimeOn(msgspec.Struct, frozen=True):
    """The run time on an ``interconnect``: ``seconds``, with its range ``low`` to ``high``.

    ``latency``, ``bandwidth``: of the interconnect; ``ratio``: to the measured run; ``grain``:
    fine, medium or coarse there, by ``computing_ratio`` (computation ÷ communication, None: no
    communication). ``fine_from``, ``medium_from``: ranks from which on the same problem is of fine
    grain, and not of coarse grain, there; None: on no number up to 4,096 times the run's.
    ``source``: of the interconnect's numbers. ``doubt``: a sentence on why this one may be wrong by
    more than its range, otherwise "". ``own``: whether the user stated it.
    """

    interconnect: str
    latency: float
    bandwidth: float
    seconds: float
    low: float
    high: float
    doubt: str
    ratio: float
    grain: str
    computing_ratio: float | None
    fine_from: float | None
    medium_from: float | None
    source: str
    own: bool = False


class LatencyPoint(msgspec.Struct, frozen=True):
    """The run time ``seconds`` with a ``latency`` between hosts, and the messages in a row
    (``messages``) on the longest path there, which is its slope.
    """

    latency: float
    seconds: float
    messages: float


class GrainCurvePoint(msgspec.Struct, frozen=True):
    """Computation ÷ communication (``ratio``, with its range ``low`` to ``high``) with ``ranks``
    on an ``interconnect``, for a problem ``size`` times as large as the run's. ``extrapolated``:
    whether it is more than four times away from the run.
    """

    interconnect: str
    ranks: float
    size: float
    ratio: float
    low: float
    high: float
    extrapolated: bool


class SkippedCalls(msgspec.Struct, frozen=True):
    """``time`` in calls of a ``function`` whose waiting isn't known, of all ranks; ``share``: of
    the wall time of all ranks.
    """

    function: str
    time: float
    share: float


class NetworkSensitivity(msgspec.Struct, frozen=True):
    """What the run needs of a network, and its run time on others.

    ``spread``: whether it ran on one host, and is modelled with each rank on a host of its own.
    ``messages``, ``bytes``: on the longest path between hosts: dT/dL and dT/dG. ``misfit``:
    modelled ÷ measured time of the run - 1. ``doubt``: a sentence if that is much, otherwise "".
    ``links``: as found; ``needed``, ``predictions``, ``latencies``, ``grains``: results;
    ``algorithms``: what is assumed on collectives, in a sentence. ``iterations``: how many of the
    run's are modelled; None: the whole run is.
    """

    spread: bool
    messages: float
    bytes: float
    misfit: float
    doubt: str
    links: list[LinkFound]
    needed: list[NeededNetwork]
    predictions: list[RunTimeOn]
    latencies: list[LatencyPoint]
    grains: list[GrainCurvePoint]
    algorithms: str
    iterations: int | None


class MessagesInARow(msgspec.Struct, frozen=True):
    """Small messages, or collectives, that follow each other with hardly any computing between:
    calls of a ``function`` at a ``place``.

    ``collective``: whether they are collectives; ``answered``: whether they are messages between
    which the sender receives. ``ranks``: that call. ``calls``: in rows, of all
    ranks; ``in_a_row``: median number; ``size``: median bytes. ``gain``: s of the run time that one
    message in place of each row would save at most; ``share``: of the run time.
    """

    function: str
    place: str
    collective: bool
    answered: bool
    ranks: int
    calls: int
    in_a_row: int
    size: int
    gain: float
    share: float


class TransferOverlap(msgspec.Struct, frozen=True):
    """Blocking calls of a ``function`` at a ``place`` whose transfer comes right before computing.

    ``ranks``: that call. ``calls``: those on the critical path. ``transfer``: mean time of a call
    without waiting; ``computing``: mean time of the computing behind it. ``gain``: s of the run
    time that transfers hidden by computing would save at most; ``share``: of the run time.
    """

    function: str
    place: str
    ranks: int
    calls: int
    transfer: float
    computing: float
    gain: float
    share: float


class TraceFindings(msgspec.Struct, frozen=True):
    """A program's trace.

    ``schema``: version of this layout. ``ranks``, ``hosts``, ``events``: numbers. ``wall``: from
    the first end of MPI_Init to the last MPI_Finalize. ``messages``: number matched.
    ``clock_error``: between hosts. ``incomplete``: ranks whose trace ends early. ``efficiencies``:
    POP. ``inside``: time in MPI, of all ranks and threads, MPI_Finalize included; ``analysed``:
    share of it whose waiting is known; ``skipped``: the rest, most first. ``waiting``: share of the
    wall time of all ranks. ``causes``, ``places``, ``origins``:
    waiting by cause, by where, and by whose delay, most first. ``unexplained``: share of the
    waiting without an origin; ``followed``: share whose origin was searched for, the longest waits.
    ``worst``: the longest waits. ``phases``, ``iterations``: from repetition; None: nothing
    repeats. ``critical``: the critical path. ``network``: None if it couldn't be modelled.
    ``unknown``: what the trace can't say, in sentences. ``cut``: s in which no rank recorded
    (MPI_Pcontrol), left out of all times. ``launches``: times of several, of which this is the
    middle one; empty: it is the only one. ``in_a_row``, ``overlaps``: what fewer messages, and
    transfers during computing, would save, most first. ``cpu_wait``: share of the ranks' time
    without a CPU; None: unknown. ``unmatched``: share of the calls that have no partner, or whose
    messages are left out.
    """

    schema: int
    ranks: int
    hosts: int
    events: int
    wall: float
    messages: int
    clock_error: float
    incomplete: list[int]
    efficiencies: PopEfficiencies
    inside: float
    analysed: float
    skipped: list[SkippedCalls]
    waiting: float
    causes: list[WaitShare]
    places: list[WaitPlace]
    origins: list[DelayOrigin]
    unexplained: float
    followed: float
    worst: list[WorstWait]
    phases: list[ProgramPhase]
    iterations: ProgramIterations | None
    critical: list[CriticalPlace]
    network: NetworkSensitivity | None
    unknown: list[str]
    cut: float
    launches: list[LaunchTime]
    in_a_row: list[MessagesInARow]
    overlaps: list[TransferOverlap]
    cpu_wait: float | None
    unmatched: float
