"""Findings from the trace of a program: times in s, sizes in bytes, None where unknown."""

from __future__ import annotations

from dataclasses import dataclass

from assay.trace.model import LaunchTime

TRACE_SCHEMA = 1


@dataclass(frozen=True)
class WaitShare:
    """Waiting with the same cause."""

    #: Cause of the waiting.
    cause: str
    #: Waiting of all ranks, s.
    time: float
    #: Share of the wall time of all ranks.
    share: float
    #: Number of calls that waited.
    calls: int


@dataclass(frozen=True)
class DelayOrigin:
    """Waiting caused by one rank in one place."""

    #: The rank that was late.
    rank: int
    #: Activity in which it was late: computing or communication.
    kind: str
    #: The call in which it was late, or the calls between which it computed.
    place: str
    #: Phase of the run: setup, iterations or end.
    phase: str
    #: Waiting of ranks that wait for this rank, s.
    direct: float
    #: Waiting for ranks that waited because of this rank, s.
    handed_on: float
    #: Share of the sum of both in all waiting.
    share: float
    #: Maximum run time (s) that removing the delay would save. Estimated only for the first
    #: origins; otherwise None.
    gain: float | None = None


@dataclass(frozen=True)
class WaitPlace:
    """Waiting in calls of one ``function`` at one ``place``, with the same ``cause``."""

    #: Name of the function.
    function: str
    #: The place in the program.
    place: str
    #: The cause of the waiting.
    cause: str
    #: Waiting of all ranks, s.
    time: float
    #: Share of the wall time of all ranks.
    share: float
    #: Number of calls that waited.
    calls: int


@dataclass(frozen=True)
class WorstWait:
    """One of the longest waits of a rank for another."""

    #: The rank that waits.
    rank: int
    #: Begin of the wait, s since the beginning of the trace.
    begin: float
    #: Duration of the wait, s.
    time: float
    #: Cause of the wait.
    cause: str
    #: The place in the program.
    place: str
    #: The rank that it waits for.
    late: int


@dataclass(frozen=True)
class PopEfficiencies:
    """The POP efficiencies, as shares of 1."""

    #: Mean computing time ÷ run time. It is the product of ``load_balance`` and ``communication``.
    #: ``communication`` is the product of ``serialisation`` and ``transfer``.
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
    """A phase of the run."""

    #: Name of the phase: setup, iterations or end.
    name: str
    #: ``begin``, ``end``: begin on the first rank and end on the last rank, s since the begin of
    #: the trace.
    begin: float
    end: float
    #: ``computing``, ``waiting``, ``mpi``: mean times of the ranks, s. ``mpi`` excludes waiting.
    computing: float
    waiting: float
    mpi: float


@dataclass(frozen=True)
class ProgramIterations:
    """The iterations that were found."""

    #: Number of iterations.
    times: int
    #: Number of MPI calls of a rank in each iteration.
    calls: int
    #: Number of repetitions within an iteration; 0 if there are none.
    inner: int
    #: Median time of an iteration, s.
    median: float
    #: Coefficient of variation of the time.
    cov: float
    #: Time of the longest iteration, s.
    longest: float
    #: Number of the longest iteration, from 0.
    longest_number: int
    #: Place where iterations begin.
    first: str
    #: Number of ranks with this number of iterations.
    ranks: int


@dataclass(frozen=True)
class CriticalPlace:
    """Part of the critical path: the time of one kind that one rank spent in one place."""

    #: The rank on the critical path.
    rank: int
    #: Kind of the time: computing or communication.
    kind: str
    #: The place in the program.
    place: str
    #: Time on the critical path, s.
    time: float
    #: Share of the critical path.
    share: float


@dataclass(frozen=True)
class LinkFound:
    """A link, as estimated from the trace."""

    #: Place of the link: within a host or between hosts.
    link: str
    #: Latency L of LogGP, s.
    latency: float
    #: Overhead o of LogGP per message, s.
    overhead: float
    #: Bandwidth 1/G, B/s; None if sizes differ too little to estimate it.
    bandwidth: float | None
    #: Number of messages and collectives used for the estimate.
    observations: int
    #: Median relative deviation from the fitted line.
    scatter: float


@dataclass(frozen=True)
class NeededNetwork:
    """Requirements on a network between hosts.

    With them, the run takes at most ``share`` longer than on a network without latency or with
    unlimited bandwidth.
    """

    #: Share by which the run may take longer.
    share: float
    #: The highest latency, s; None: any latency meets it.
    latency: float | None
    #: The lowest bandwidth per rank, B/s; None: any bandwidth meets it.
    bandwidth: float | None


@dataclass(frozen=True)
class RunTimeOn:
    """The predicted run time on an interconnect."""

    #: Name of the interconnect.
    interconnect: str
    #: ``latency``, ``bandwidth``: latency (s) and bandwidth (B/s) of the interconnect.
    latency: float
    bandwidth: float
    #: Run time, s.
    seconds: float
    #: Lower end of the range of the run time, s.
    low: float
    #: Upper end of the range of the run time, s.
    high: float
    #: Why this prediction may be wrong by more than its range, as a sentence; "" if there is no
    #: reason.
    doubt: str
    #: Run time ÷ measured run time.
    ratio: float
    #: Granularity on the interconnect: fine, medium or coarse, by ``computing_ratio``.
    grain: str
    #: Computation ÷ communication; None: no communication.
    computing_ratio: float | None
    #: ``fine_from``, ``medium_from``: number of ranks from which the same problem is fine-grained,
    #: and no longer coarse-grained, on this interconnect. None: not up to 4,096 times the run's
    #: ranks.
    fine_from: float | None
    medium_from: float | None
    #: Source of the interconnect's numbers.
    source: str
    #: Whether the user stated the interconnect.
    own: bool = False


@dataclass(frozen=True)
class LatencyPoint:
    """The run time with one latency between hosts."""

    #: The latency between hosts, s.
    latency: float
    #: Run time, s.
    seconds: float
    #: Messages in a row on the longest path at this latency: the slope of the run time.
    messages: float


@dataclass(frozen=True)
class GrainCurvePoint:
    """Computation ÷ communication for a number of ranks and a problem size."""

    #: Name of the interconnect.
    interconnect: str
    #: Number of ranks.
    ranks: float
    #: Problem size relative to the run's problem.
    size: float
    #: Computation ÷ communication.
    ratio: float
    #: The lower end of the range of ``ratio``.
    low: float
    #: The upper end of the range of ``ratio``.
    high: float
    #: Whether ranks or size differ from the run by more than a factor of four.
    extrapolated: bool


@dataclass(frozen=True)
class SkippedCalls:
    """Time in calls of a function with unknown waiting."""

    #: Name of the function.
    function: str
    #: Time in these calls (s), all ranks together.
    time: float
    #: Share of the wall time of all ranks.
    share: float


@dataclass(frozen=True)
class NetworkSensitivity:
    """The network that the run needs, and its run time on other networks."""

    #: Whether the program ran on one host and is modelled with each rank on its own host.
    spread: bool
    #: ``messages``, ``bytes``: messages and bytes between hosts on the longest path (dT/dL and
    #: dT/dG).
    messages: float
    bytes: float
    #: Modelled run time ÷ measured run time - 1.
    misfit: float
    #: A sentence if the misfit is large; otherwise "".
    doubt: str
    #: Links of the run's network, as estimated from the trace.
    links: list[LinkFound]
    #: ``needed``, ``predictions``, ``latencies``, ``grains``: requirements, run times by
    #: interconnect, run times by latency, and granularity.
    needed: list[NeededNetwork]
    predictions: list[RunTimeOn]
    latencies: list[LatencyPoint]
    grains: list[GrainCurvePoint]
    #: A sentence on the assumed algorithms of collectives.
    algorithms: str
    #: Number of the run's iterations that are modelled; None if the whole run is modelled.
    iterations: int | None


@dataclass(frozen=True)
class MessagesInARow:
    """Small messages or collectives that follow each other with hardly any computing in between."""

    #: Name of the function.
    function: str
    #: The place in the program.
    place: str
    #: Whether they are collectives.
    collective: bool
    #: Whether the sender receives messages in between.
    answered: bool
    #: The call, in words.
    ranks: int
    #: Number of calls in rows, of all ranks.
    calls: int
    #: Median number of calls in a row.
    in_a_row: int
    #: Median size of a message, bytes.
    size: int
    #: Maximum run time that one message instead of each row would save, s.
    gain: float
    #: Share of the run time.
    share: float


@dataclass(frozen=True)
class TransferOverlap:
    """Blocking calls with a transfer right before computing."""

    #: Name of the function.
    function: str
    #: The place in the program.
    place: str
    #: The call, in words.
    ranks: int
    #: Number of these calls on the critical path.
    calls: int
    #: Mean time of a call without waiting, s.
    transfer: float
    #: Mean time of the computing after a call, s.
    computing: float
    #: Maximum run time that overlapping transfers with computing would save, s.
    gain: float
    #: Share of the run time.
    share: float


@dataclass(frozen=True)
class TraceFindings:
    """A program's trace."""

    #: Version of this layout.
    schema: int
    #: ``ranks``, ``hosts``, ``events``: numbers of ranks, hosts and events.
    ranks: int
    hosts: int
    events: int
    #: Time from the first end of MPI_Init to the last MPI_Finalize, s.
    wall: float
    #: Number of matched messages.
    messages: int
    #: Error of the clocks between hosts, s.
    clock_error: float
    #: Ranks with a trace that ends early.
    incomplete: list[int]
    #: POP efficiencies.
    efficiencies: PopEfficiencies
    #: Time in MPI of all ranks and threads (s), including MPI_Finalize.
    inside: float
    #: Share of the time in MPI with known waiting.
    analysed: float
    #: Time in MPI with unknown waiting by function, in descending order.
    skipped: list[SkippedCalls]
    #: Waiting as a share of the wall time of all ranks.
    waiting: float
    #: ``causes``, ``places``, ``origins``: waiting by cause, by place and by origin, in descending
    #: order.
    causes: list[WaitShare]
    places: list[WaitPlace]
    origins: list[DelayOrigin]
    #: Share of the waiting without an origin.
    unexplained: float
    #: Share of the waiting whose origin was searched for: the longest waits.
    followed: float
    #: The longest waits.
    worst: list[WorstWait]
    #: ``phases``, ``iterations``: found by repetition; None if nothing repeats.
    phases: list[ProgramPhase]
    iterations: ProgramIterations | None
    #: Parts of the critical path.
    critical: list[CriticalPlace]
    #: The network of the run and other networks; None if the run couldn't be modelled.
    network: NetworkSensitivity | None
    #: What the trace can't say, in sentences.
    unknown: list[str]
    #: Time in which no rank recorded (MPI_Pcontrol), s. It is left out of all times.
    cut: float
    #: Times of all launches, if there were several; this trace is from the median launch.
    launches: list[LaunchTime]
    #: ``in_a_row``, ``overlaps``: savings of fewer messages, and of transfers during computing, in
    #: descending order.
    in_a_row: list[MessagesInARow]
    overlaps: list[TransferOverlap]
    #: Share of the ranks' time without a CPU; None if unknown.
    cpu_wait: float | None
    #: Share of the calls without a partner or with messages that are left out.
    unmatched: float
