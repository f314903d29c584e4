"""Run times of a traced program on other networks, from one run.

The graph is evaluated on another network, and its time replaces the measured one. For a very long
run, only some iterations are modelled, and their difference is multiplied; the parts before and
after the iterations keep their measured time. The difference between model and measurement is not
carried over, because it is mostly communication on the run's own network. The uncertainty has two
parts: how well the model reproduces the run itself on the network that the trace shows, and the
range of the other network's latency.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.errors import AssayError
from assay.models.program.adapters import with_adapters, with_burst
from assay.models.program.calibration import CalibratedNetwork, calibrate
from assay.models.program.efficiency import computing_times
from assay.models.program.excerpt import common_repetitions, excerpt
from assay.models.program.graph import ProgramGraph, build_graph
from assay.models.program.links import BETWEEN, IDEAL, LinkParameters, ProgramNetwork
from assay.models.program.repetition import IterationTimes
from assay.models.program.replay import NetworkParameter, Replay, largest, replay
from assay.models.program.waits import WaitStates, eager_sizes
from assay.reference.interconnects import InterconnectClass
from assay.trace.calls import blocking_form
from assay.trace.matching import MatchedTrace, match
from assay.trace.model import NO_CPU, LaunchTime

# The least and the greatest share of half a short message's round trip that is the processor's part
# at each end, if only the sum L + 2o is known. LogP's machines had 10 to 40% (Culler et al. 1993,
# table 1).
_OVERHEAD_SHARE, _MOST_OVERHEAD = 0.1, 0.5
# Number of repetitions of a search, each with the order of messages at the previous result, and the
# change below which the search has settled.
_MOST_REPEATS, _SETTLED = 3, 0.01
# Number of calls that are modelled, and how many are enough of a longer trace. The rest of the run
# keeps its measured time, including its communication on the run's network.
MOST_MODELLED, _ENOUGH_OF_EXCERPT = 200_000, 6_000
# Relative half-width of the range for the difference between launches, if there is only one launch.
# Assumed: the median difference between two launches in benchmarks/prediction.py.
BETWEEN_LAUNCHES = 0.05
# Limits of doubt, beyond which errors of predictions for the NAS Parallel Benchmarks, CoMD and
# HPCCG on links of 100 Mbit/s to 10 Gbit/s began to exceed 15% (benchmarks/README.md): difference
# between the modelled and the measured run, and between several launches; the run's time, s; ratio
# of run times; share of the bytes between hosts that all send to all, and of the predicted time
# that is communication.
MISFIT, DIFFERENT, SHORT, _FAR = 0.15, 0.15, 1.0, 1.0 / 3.0
_CROWDED, _COMMUNICATING = 0.5, 0.2


@dataclass(frozen=True)
class ModelledRun:
    """A traced run and its model."""

    #: The part of the trace that is modelled: the whole trace, or an excerpt of its iterations.
    matched: MatchedTrace
    #: Number of such parts that the part represents.
    factor: float
    calibrated: CalibratedNetwork
    eager: tuple[float, float]
    graph: ProgramGraph
    #: Measured time of the run in s, from the first end of MPI_Init to the last MPI_Finalize.
    whole: float
    #: Measured time of the part, s.
    seconds: float
    #: Modelled time of the part on the network that the trace shows, s.
    modelled: Replay
    #: Mean computing time of the run's ranks, s.
    computing: float
    #: Iterations of the part; None if the part is the whole run.
    iterations: int | None
    #: Share of the ranks' time without a CPU; None: unknown.
    cpu_wait: float | None
    #: Share of the bytes between hosts that are sent by all hosts to all.
    crowded: float
    #: Difference between several launches; None if there is only one.
    between: LaunchTime | None

    @property
    def doubt(self) -> str:
        """A sentence on why all predictions from this run may be wrong; "" if there is no
        reason."""
        return _doubt_about_run(self.whole, self.misfit, self.cpu_wait)

    @property
    def misfit(self) -> float:
        """Relative difference between the modelled and the measured time."""
        return self.modelled.seconds / self.seconds - 1.0

    @property
    def ideal(self) -> float:
        """The run time on a network where messages take no time, s."""
        return self.on(replay(self.graph, IDEAL))

    def saved(self, found: Replay) -> float:
        """Seconds of the run that a changed graph saves, replayed on the run's network.

        The saving is scaled by its share of the modelled time, so that it never exceeds the
        measured time.
        """
        share = 1.0 - found.seconds / self.modelled.seconds if self.modelled.seconds > 0.0 else 0.0
        return self.factor * self.seconds * share

    def on(self, found: Replay) -> float:
        """The time of the run if its part takes the time of a replay, s."""
        return self.whole + self.factor * (found.seconds - self.seconds)


@dataclass(frozen=True)
class RunTimePrediction:
    """The run time on a network: ``seconds``, ``low`` and ``high``; ``ratio`` to the measured
    run.
    """

    name: str
    seconds: float
    low: float
    high: float
    ratio: float
    #: Time of the longest path in latency, gap and overhead between hosts, s.
    communication: float
    #: A sentence on why the error may exceed this range; "" if there is no reason.
    doubtful: str


@dataclass(frozen=True)
class NetworkDemand:
    """Latencies (s) and gaps (s/B) between hosts that cost given shares of the run time.

    Costs are relative to the run time on a network without latency, or without gap, between hosts.
    """

    #: ``latencies``, ``gaps``: values by share; None if no value costs this share.
    latencies: dict[float, float | None]
    gaps: dict[float, float | None]


def model_run(
    matched: MatchedTrace,
    waits: WaitStates,
    found: Sequence[IterationTimes | None] = (),
    most: int = MOST_MODELLED,
) -> ModelledRun:
    """The model of a run.

    ``found``: iterations of each rank. An excerpt of them is modelled if the trace has more than
    ``most`` calls.

    Raises AssayError if no order of the trace's calls is possible, or if the trace has too many
    calls and no iterations, or if one iteration has too many.
    """
    trace = matched.trace
    part = None
    common = common_repetitions(trace, found) if len(trace) > most else None
    if common:
        part = excerpt(trace, common, min(most, _ENOUGH_OF_EXCERPT), MOST_MODELLED)
    if part is None and len(trace) > MOST_MODELLED:
        why = "and an iteration of its ranks has too many of them: at most"
        if not common:
            why = "and its ranks have no common iterations: without these, at most"
        raise AssayError(
            f"The trace has {len(trace):,} calls, {why} {MOST_MODELLED:,} calls are modelled on "
            "other networks.",
            fix="Trace a shorter run.",
        )
    calibrated = calibrate(matched, waits)
    sizes = eager_sizes(matched)
    eager = (float(sizes[0].limit), float(sizes[1].limit))
    if part is not None:
        matched = match(part.trace)
    graph = build_graph(matched, eager)
    network = calibrated.network
    modelled = matched.trace
    return ModelledRun(
        matched=matched,
        factor=1.0 if part is None else part.factor,
        calibrated=calibrated,
        eager=eager,
        graph=graph,
        whole=trace.end - trace.begin,
        seconds=modelled.end - modelled.begin,
        modelled=replay(with_adapters(graph, network), network),
        computing=float(computing_times(trace).mean()),
        iterations=None if part is None else part.times,
        cpu_wait=trace.cpu_wait,
        crowded=_crowded_share(matched, float(graph.far.size.sum())),
        between=between_launches(trace.run.launches),
    )


def network_of(run: ModelledRun, latency: float, bandwidth: float) -> ProgramNetwork:
    """A network between hosts by its latency (L + 2o, s) and bandwidth (B/s), memory as it is.

    o comes from the traced run: it is the cost of the MPI and of the operating system per send,
    within the limit of the latency. If the run shows less than the usual share, o is the usual
    share.
    """
    overhead = max(run.calibrated.between.parameters.overhead, _OVERHEAD_SHARE * latency)
    overhead = min(overhead, _MOST_OVERHEAD * latency)
    return ProgramNetwork(
        run.calibrated.within.parameters,
        LinkParameters(latency - 2 * overhead, 1.0 / bandwidth, overhead),
    )


def spread_over(run: ModelledRun, hosts: Sequence[str]) -> ModelledRun:
    """The same ranks on other hosts. The measured time and its model are unchanged."""
    flat = run.matched.flat
    trace = flat.trace
    ranks = tuple(replace(rank, host=host) for rank, host in zip(trace.ranks, hosts, strict=True))
    moved = replace(run.matched, flat=replace(flat, trace=replace(trace, ranks=ranks)))
    return replace(run, graph=build_graph(moved, (run.eager[0], run.eager[0])))


def predict(run: ModelledRun, kind: InterconnectClass) -> RunTimePrediction:
    """The run time with a class of interconnect between hosts."""
    networks = [
        network_of(run, latency, kind.bandwidth) for latency in (kind.latency, *kind.latencies)
    ]
    # Messages take the order at the adapters that the middle of the range gives.
    graph = with_adapters(with_burst(run.graph, kind.burst), networks[0])
    return predicted(run, kind.name, [replay(graph, network) for network in networks])


def predicted(run: ModelledRun, name: str, found: Sequence[Replay]) -> RunTimePrediction:
    """The prediction from replays on the network itself and on its cheapest and costliest
    variants."""
    seconds = run.on(found[0])
    every = [run.on(one) for one in found]
    ratio = seconds / run.whole
    between = BETWEEN_LAUNCHES
    if run.between is not None:
        # Computing takes as long as in this run; communication is in proportion to the run time.
        between = max(run.between.computing / seconds, run.between.seconds / run.whole)
    width = math.hypot(run.misfit, between) * seconds
    communication = run.factor * (found[0].seconds - found[0].slopes.computing)
    return RunTimePrediction(
        name=name,
        seconds=seconds,
        low=max(min(every) - width, 0.0),
        high=max(every) + width,
        ratio=ratio,
        communication=communication,
        doubtful=run.doubt
        or _doubt_about_network(ratio, communication / seconds, run.crowded, between),
    )


def between_launches(launches: Sequence[LaunchTime]) -> LaunchTime | None:
    """The longest minus the shortest, for run times and for computing times."""
    if len(launches) < 2:
        return None
    seconds, computing = [one.seconds for one in launches], [one.computing for one in launches]
    return LaunchTime(max(seconds) - min(seconds), max(computing) - min(computing))


def _crowded_share(matched: MatchedTrace, between: float) -> float:
    """Share of the bytes ``between`` hosts that are sent by all hosts to all, for more than two
    hosts."""
    trace = matched.trace
    if between <= 0.0 or len(set(trace.hosts)) <= 2:
        return 0.0
    to_all = np.array([blocking_form(name).startswith("Alltoall") for name in trace.functions])
    sent = sum(
        float(np.maximum(rank.events.sent[to_all[rank.events.function]], 0).sum())
        for rank in trace.ranks
    )
    return min(sent / between, 1.0)


def _doubt_about_run(whole: float, misfit: float, cpu_wait: float | None) -> str:
    """Doubt about all predictions from a run of ``whole`` s; "" if there is none."""
    if cpu_wait is not None and cpu_wait > NO_CPU:
        return (
            f"The ranks waited for a CPU for {100 * cpu_wait:.0f}% of their time: there were more "
            "ranks than CPUs, or other programs ran. Computing times include these waits."
        )
    if abs(misfit) > MISFIT:
        return (
            f"The modelled run time is {100 * abs(misfit):.0f}% "
            f"{'longer' if misfit > 0 else 'shorter'} than the traced run's."
        )
    if whole < SHORT:
        return (
            f"The run took {1e3 * whole:.0f} ms: times of runs this short vary by tens of percent."
        )
    return ""


def _doubt_about_network(ratio: float, communicating: float, crowded: float, between: float) -> str:
    """Doubt about a prediction of ``ratio`` times the run; "" if there is none.

    ``communicating``: share of its time in communication between hosts; ``crowded``: as from
    `_crowded_share`; ``between``: difference between launches, relative to its time.
    """
    if between > DIFFERENT:
        return f"Launches differ by {100 * between:.0f}% of this time."
    if crowded > _CROWDED and communicating > _COMMUNICATING:
        return (
            "Most bytes are sent by all hosts to all at once (Alltoall): networks carry these more "
            "slowly than the model's single messages."
        )
    if ratio < _FAR:
        return (
            "It is under a third of the measured run: most of it is computing, which may be faster "
            "without the long waits in between."
        )
    return ""


def demand(run: ModelledRun, shares: Sequence[float] = (0.01, 0.05, 0.1)) -> NetworkDemand:
    """The latency and gap between hosts with which the run takes at most these shares longer."""
    return NetworkDemand(
        {share: _largest(run, "latency", share) for share in shares},
        {share: _largest(run, "gap", share) for share in shares},
    )


def _largest(run: ModelledRun, name: NetworkParameter, share: float) -> float | None:
    """The value that costs a share, with the order of messages at the adapters for that value."""
    network = run.calibrated.network.changed(**{name: 0.0})
    graph = with_adapters(run.graph, network)
    base = replay(graph, network)
    seconds = base.seconds + share * run.on(base) / run.factor
    value = largest(graph, network, name, seconds)
    for _ in range(_MOST_REPEATS):
        if value is None:
            break
        changed = network.changed(**{name: value})
        before, graph = value, with_adapters(run.graph, changed)
        value = largest(graph, changed, name, seconds)
        if value is not None and abs(value - before) <= _SETTLED * before:
            break
    return value


def sensitivity(run: ModelledRun) -> tuple[float, float]:
    """dT/dL (messages on the longest path) and dT/dG (bytes on it) between hosts, on the run's
    network."""
    network = run.calibrated.network
    slopes = replay(with_adapters(run.graph, network), network).slopes
    return run.factor * slopes.latencies[BETWEEN], run.factor * slopes.bytes[BETWEEN]
