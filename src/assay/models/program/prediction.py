"""Run times of a traced program on other networks, from one run.

The graph is evaluated on the network of the run, as the trace shows it, and on another one; the
difference is added to the measured time, so that what the model lacks on both cancels. How well the
model gives the run itself, and the range of the other network's latency, are the uncertainty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from assay.models.program.adapters import with_adapters
from assay.models.program.calibration import CalibratedNetwork, calibrate
from assay.models.program.graph import ProgramGraph, build_graph
from assay.models.program.links import BETWEEN, LinkParameters, ProgramNetwork
from assay.models.program.replay import NetworkParameter, Replay, largest, replay
from assay.models.program.waits import WaitStates, eager_sizes
from assay.reference.interconnects import Interconnect
from assay.trace.matching import MatchedTrace

# Of half a round trip of a short message, the processor's part at each end, where only the sum is
# known (L + 2o). LogP's machines had 10 to 40% (Culler et al. 1993, table 1).
_OVERHEAD_SHARE = 0.1
# Repetitions of a search with the order of messages at its result, and when it has settled.
_MOST_REPEATS, _SETTLED = 5, 0.01
# Above this difference between the modelled and the measured run, predictions are doubtful.
DOUBTFUL = 0.15


@dataclass(frozen=True)
class ModelledRun:
    """A traced run and its model.

    ``seconds``: measured, from the first end of MPI_Init to the last MPI_Finalize; ``modelled``:
    the same by the graph on the network that the trace shows. ``hosts``: of each rank.
    """

    matched: MatchedTrace
    calibrated: CalibratedNetwork
    eager: tuple[float, float]
    graph: ProgramGraph
    seconds: float
    modelled: Replay

    @property
    def misfit(self) -> float:
        """Relative difference of the modelled from the measured time."""
        return self.modelled.seconds / self.seconds - 1.0


@dataclass(frozen=True)
class RunTimePrediction:
    """The run time on a network: ``seconds``, ``low`` and ``high``; ``ratio`` to the measured run.

    ``communication``: s of the longest path in latency, gap and overhead between hosts.
    ``doubtful``: why, in a sentence; "" if the model gives the run itself well.
    """

    name: str
    seconds: float
    low: float
    high: float
    ratio: float
    communication: float
    doubtful: str


@dataclass(frozen=True)
class NetworkDemand:
    """Latencies (s) and gaps (s/B) between hosts that cost shares of the run time.

    Costs are above the run time on a network without latency, or gap, between hosts.
    ``latencies``, ``gaps``: by share; None: none does.
    """

    latencies: dict[float, float | None]
    gaps: dict[float, float | None]


def model_run(matched: MatchedTrace, waits: WaitStates) -> ModelledRun:
    """The model of a run.

    Raises AssayError if the calls of the trace can't have happened in any order.
    """
    calibrated = calibrate(matched, waits)
    sizes = eager_sizes(matched)
    eager = (float(sizes[0].limit), float(sizes[1].limit))
    graph = build_graph(matched, eager)
    network = calibrated.network
    trace = matched.trace
    return ModelledRun(
        matched=matched,
        calibrated=calibrated,
        eager=eager,
        graph=graph,
        seconds=trace.end - trace.begin,
        modelled=replay(with_adapters(graph, network), network),
    )


def network_of(run: ModelledRun, latency: float, bandwidth: float) -> ProgramNetwork:
    """A network between hosts by its latency (L + 2o, s) and bandwidth (B/s), memory as it is."""
    overhead = latency * _OVERHEAD_SHARE
    return ProgramNetwork(
        run.calibrated.within.parameters,
        LinkParameters(latency - 2 * overhead, 1.0 / bandwidth, overhead),
    )


def spread_over(run: ModelledRun, hosts: Sequence[str]) -> ModelledRun:
    """The same ranks on other hosts. The measured time and its model remain those of the run."""
    flat = run.matched.flat
    trace = flat.trace
    ranks = tuple(replace(rank, host=host) for rank, host in zip(trace.ranks, hosts, strict=True))
    moved = replace(run.matched, flat=replace(flat, trace=replace(trace, ranks=ranks)))
    return replace(run, graph=build_graph(moved, (run.eager[0], run.eager[0])))


def predict(run: ModelledRun, kind: Interconnect) -> RunTimePrediction:
    """The run time with a class of interconnect between hosts."""
    low, high = kind.latencies
    found = [
        _replayed(run, network_of(run, latency, kind.bandwidth))
        for latency in (kind.latency, low, high)
    ]
    return predicted(run, kind.name, found)


def predicted(run: ModelledRun, name: str, found: Sequence[Replay]) -> RunTimePrediction:
    """From replays on the network itself, and on its least and its most costly variant."""
    base = run.seconds - run.modelled.seconds
    seconds = max(found[0].seconds + base, 0.0)
    doubt = abs(run.misfit) * seconds
    slopes = found[0].slopes
    return RunTimePrediction(
        name=name,
        seconds=seconds,
        low=max(min(one.seconds for one in found) + base - doubt, 0.0),
        high=max(one.seconds for one in found) + base + doubt,
        ratio=seconds / run.seconds,
        communication=found[0].seconds - slopes.computing,
        doubtful=_doubt(run),
    )


def _replayed(run: ModelledRun, network: ProgramNetwork) -> Replay:
    return replay(with_adapters(run.graph, network), network)


def _doubt(run: ModelledRun) -> str:
    if abs(run.misfit) > DOUBTFUL:
        return (
            f"The model takes {100 * abs(run.misfit):.0f}% "
            f"{'longer' if run.misfit > 0 else 'less'} than the run that it is made from."
        )
    return ""


def demand(run: ModelledRun, shares: Sequence[float] = (0.01, 0.05, 0.1)) -> NetworkDemand:
    """What a network between hosts must give for the run to take at most these shares longer."""
    return NetworkDemand(
        {share: _largest(run, "latency", share) for share in shares},
        {share: _largest(run, "gap", share) for share in shares},
    )


def _largest(run: ModelledRun, name: NetworkParameter, share: float) -> float | None:
    """The value that costs a share, with the adapters' order of messages at that value."""
    network = run.calibrated.network.changed(**{name: 0.0})
    graph = with_adapters(run.graph, network)
    seconds = replay(graph, network).seconds * (1.0 + share)
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
    """dT/dL (messages on the longest path) and dT/dG (bytes on it) between hosts, as it ran."""
    slopes = run.modelled.slopes
    return slopes.latencies[BETWEEN], slopes.bytes[BETWEEN]
