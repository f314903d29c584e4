"""Findings from the trace of a program: times in s, sizes in bytes, None where unknown."""

from __future__ import annotations

from dataclasses import dataclass

from assay.trace.model import LaunchTime

TRACE_SCHEMA = 1


@dataclass(frozen=True)
class WaitShare:
    """Waiting by ``cause``."""

    #: The cause.
    cause: str
    #: Of all ranks.
    time: float
    #: Of the wall time of all ranks.
    share: float
    #: How many waited.
    calls: int


@dataclass(frozen=True)
class DelayOrigin:
    """Waiting that goes back to one rank and place."""

    #: Whose delay.
    rank: int
    #: Computing or communication.
    kind: str
    #: The call, or the calls between which it computed.
    place: str
    #: Setup, iterations or end.
    phase: str
    #: Waiting for this rank.
    direct: float
    #: Waiting for ranks that waited because of it.
    handed_on: float
    #: Both, of all waiting.
    share: float
    #: s of the run time that its removal would save at most, of the first ones; None: not
    #: estimated.
    gain: float | None = None


@dataclass(frozen=True)
class WaitPlace:
    """Where it waits: calls of one ``function`` at one ``place``, by ``cause``."""

    #: Name of the function.
    function: str
    #: The place in the program.
    place: str
    #: The cause of the waiting.
    cause: str
    #: Of all ranks.
    time: float
    #: Of the wall time of all ranks.
    share: float
    #: How many waited.
    calls: int


@dataclass(frozen=True)
class WorstWait:
    """One of the longest waits: of ``rank`` from ``begin`` on (since the begin of the trace) for
    ``time``, by ``cause``, in ``place``, for rank ``late``.
    """

    #: The rank that waits.
    rank: int
    #: s since the beginning of the trace.
    begin: float
    #: s.
    time: float
    #: The cause.
    cause: str
    #: The place in the program.
    place: str
    #: The rank that it waits for.
    late: int


@dataclass(frozen=True)
class PopEfficiencies:
    """The POP efficiencies, as shares of 1."""

    #: Mean computing time ÷ run time, the product of ``load_balance`` (mean ÷ longest computing
    #: time) and ``communication`` (longest computing time ÷ run time). The latter is the product of
    #: ``serialisation`` (longest computing time ÷ run time on an ideal network) and ``transfer``
    #: (run time on an ideal network ÷ run time).
    parallel: float
    #: Mean computing time ÷ longest computing time.
    load_balance: float
    #: Longest computing time ÷ run time.
    communication: float
    #: Longest computing time ÷ run time on an ideal network.
    serialisation: float | None
    #: Run time on an ideal network ÷ run time.
    transfer: float | None


@dataclass(frozen=True)
class ProgramPhase:
    """A phase of the run, by ``name``: setup, iterations, end."""

    #: setup, iterations or end.
    name: str
    #: ``begin``, ``end``: since the begin of the trace, of the first and the last rank in it.
    begin: float
    end: float
    #: ``computing``, ``waiting``, ``mpi``: mean of the ranks; the last without waiting.
    computing: float
    waiting: float
    mpi: float


@dataclass(frozen=True)
class ProgramIterations:
    """The iterations found."""

    #: Their number.
    times: int
    #: MPI calls of a rank in each.
    calls: int
    #: Repetitions within one, 0 if there are none.
    inner: int
    #: Their time.
    median: float
    #: Coefficient of variation.
    cov: float
    #: The longest.
    longest: float
    #: Its number, from 0.
    longest_number: int
    #: Place where they begin.
    first: str
    #: How many ranks have as many iterations.
    ranks: int


@dataclass(frozen=True)
class CriticalPlace:
    """``time`` of the critical path spent by ``rank`` in ``place``, by ``kind`` (computing or
    communication);
    """

    #: The rank on the critical path.
    rank: int
    #: computing or communication.
    kind: str
    #: The place in the program.
    place: str
    #: s of the critical path.
    time: float
    #: Of the path.
    share: float


@dataclass(frozen=True)
class LinkFound:
    """A link as the trace shows it."""

    #: Within a host, or between hosts.
    link: str
    #: L.
    latency: float
    #: O.
    overhead: float
    #: 1/G, None if sizes don't tell it.
    bandwidth: float | None
    #: Messages and collectives that show it.
    observations: int
    #: Median relative deviation from the line.
    scatter: float


@dataclass(frozen=True)
class NeededNetwork:
    """What a network between hosts needs for the run to take at most ``share`` longer than on one
    without ``latency``, or with unlimited ``bandwidth`` (B/s, per rank). None: any will do.
    """

    #: By which share the run may take longer.
    share: float
    #: The highest latency, s; None: any latency meets it.
    latency: float | None
    #: The lowest bandwidth per rank, B/s; None: any bandwidth meets it.
    bandwidth: float | None


@dataclass(frozen=True)
class RunTimeOn:
    """The run time on an ``interconnect``: ``seconds``, with its range ``low`` to ``high``."""

    #: Name of the interconnect.
    interconnect: str
    #: ``latency``, ``bandwidth``: of the interconnect.
    latency: float
    bandwidth: float
    #: The run time, s.
    seconds: float
    #: The lower end of its range, s.
    low: float
    #: The upper end of its range, s.
    high: float
    #: A sentence on why this one may be wrong by more than its range, otherwise "".
    doubt: str
    #: To the measured run.
    ratio: float
    #: Fine, medium or coarse there, by ``computing_ratio`` (computation ÷ communication, None: no
    #: communication).
    grain: str
    #: Computation ÷ communication; None: no communication.
    computing_ratio: float | None
    #: ``fine_from``, ``medium_from``: ranks from which on the same problem is of fine grain, and
    #: not of coarse grain, there; None: on no number up to 4,096 times the run's.
    fine_from: float | None
    medium_from: float | None
    #: Of the interconnect's numbers.
    source: str
    #: Whether the user stated it.
    own: bool = False


@dataclass(frozen=True)
class LatencyPoint:
    """The run time ``seconds`` with a ``latency`` between hosts, and the messages in a row
    (``messages``) on the longest path there, which is its slope.
    """

    #: The latency between hosts, s.
    latency: float
    #: The run time, s.
    seconds: float
    #: Messages in a row on the longest path there; the slope of the run time.
    messages: float


@dataclass(frozen=True)
class GrainCurvePoint:
    """Computation ÷ communication (``ratio``, with its range ``low`` to ``high``) with ``ranks`` on
    an ``interconnect``, for a problem ``size`` times as large as the run's.
    """

    #: Name of the interconnect.
    interconnect: str
    #: Number of ranks.
    ranks: float
    #: How many times as large as the run's problem.
    size: float
    #: Computation ÷ communication.
    ratio: float
    #: The lower end of the range of ``ratio``.
    low: float
    #: The upper end of the range of ``ratio``.
    high: float
    #: Whether it is more than four times away from the run.
    extrapolated: bool


@dataclass(frozen=True)
class SkippedCalls:
    """``time`` in calls of a ``function`` whose waiting isn't known, of all ranks;"""

    #: Name of the function.
    function: str
    #: s in these calls, all ranks together.
    time: float
    #: Of the wall time of all ranks.
    share: float


@dataclass(frozen=True)
class NetworkSensitivity:
    """What the run needs of a network, and its run time on others."""

    #: Whether it ran on one host, and is modelled with each rank on a host of its own.
    spread: bool
    #: ``messages``, ``bytes``: on the longest path between hosts: dT/dL and dT/dG.
    messages: float
    bytes: float
    #: Modelled ÷ measured time of the run - 1.
    misfit: float
    #: A sentence if that is much, otherwise "".
    doubt: str
    #: As found.
    links: list[LinkFound]
    #: ``needed``, ``predictions``, ``latencies``, ``grains``: results.
    needed: list[NeededNetwork]
    predictions: list[RunTimeOn]
    latencies: list[LatencyPoint]
    grains: list[GrainCurvePoint]
    #: What is assumed on collectives, in a sentence.
    algorithms: str
    #: How many of the run's are modelled; None: the whole run is.
    iterations: int | None


@dataclass(frozen=True)
class MessagesInARow:
    """Small messages, or collectives, that follow each other with hardly any computing between:
    calls of a ``function`` at a ``place``.
    """

    #: Name of the function.
    function: str
    #: The place in the program.
    place: str
    #: Whether they are collectives.
    collective: bool
    #: Whether they are messages between which the sender receives.
    answered: bool
    #: That call.
    ranks: int
    #: In rows, of all ranks.
    calls: int
    #: Median number.
    in_a_row: int
    #: Median bytes.
    size: int
    #: s of the run time that one message in place of each row would save at most.
    gain: float
    #: Of the run time.
    share: float


@dataclass(frozen=True)
class TransferOverlap:
    """Blocking calls of a ``function`` at a ``place`` whose transfer comes right before
    computing.
    """

    #: Name of the function.
    function: str
    #: The place in the program.
    place: str
    #: That call.
    ranks: int
    #: Those on the critical path.
    calls: int
    #: Mean time of a call without waiting.
    transfer: float
    #: Mean time of the computing behind it.
    computing: float
    #: s of the run time that transfers hidden by computing would save at most.
    gain: float
    #: Of the run time.
    share: float


@dataclass(frozen=True)
class TraceFindings:
    """A program's trace."""

    #: Version of this layout.
    schema: int
    #: ``ranks``, ``hosts``, ``events``: numbers.
    ranks: int
    hosts: int
    events: int
    #: From the first end of MPI_Init to the last MPI_Finalize.
    wall: float
    #: Number matched.
    messages: int
    #: Between hosts.
    clock_error: float
    #: Ranks whose trace ends early.
    incomplete: list[int]
    #: POP.
    efficiencies: PopEfficiencies
    #: Time in MPI, of all ranks and threads, MPI_Finalize included.
    inside: float
    #: Share of it whose waiting is known.
    analysed: float
    #: The rest, most first.
    skipped: list[SkippedCalls]
    #: Share of the wall time of all ranks.
    waiting: float
    #: ``causes``, ``places``, ``origins``: waiting by cause, by where, and by whose delay, most
    #: first.
    causes: list[WaitShare]
    places: list[WaitPlace]
    origins: list[DelayOrigin]
    #: Share of the waiting without an origin.
    unexplained: float
    #: Share whose origin was searched for, the longest waits.
    followed: float
    #: The longest waits.
    worst: list[WorstWait]
    #: ``phases``, ``iterations``: from repetition; None: nothing repeats.
    phases: list[ProgramPhase]
    iterations: ProgramIterations | None
    #: The critical path.
    critical: list[CriticalPlace]
    #: None if it couldn't be modelled.
    network: NetworkSensitivity | None
    #: What the trace can't say, in sentences.
    unknown: list[str]
    #: s in which no rank recorded (MPI_Pcontrol), left out of all times.
    cut: float
    #: Times of several, of which this is the middle one; empty: it is the only one.
    launches: list[LaunchTime]
    #: ``in_a_row``, ``overlaps``: what fewer messages, and transfers during computing, would save,
    #: most first.
    in_a_row: list[MessagesInARow]
    overlaps: list[TransferOverlap]
    #: Share of the ranks' time without a CPU; None: unknown.
    cpu_wait: float | None
    #: Share of the calls that have no partner, or whose messages are left out.
    unmatched: float
