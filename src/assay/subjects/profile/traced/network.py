"""The network that a traced program needs, and its run time and granularity on other networks."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from assay.models.program.adapters import with_adapters
from assay.models.program.calibration import LinkEstimate
from assay.models.program.granularity import COARSE, FINE, NEAR, GrainModel, grain_model
from assay.models.program.links import BETWEEN
from assay.models.program.prediction import (
    ModelledRun,
    demand,
    network_of,
    predict,
    sensitivity,
    spread_over,
)
from assay.models.program.replay import replay
from assay.reference.interconnects import InterconnectClass, interconnects
from assay.subjects.profile.traced.model import (
    GrainCurvePoint,
    LatencyPoint,
    LinkFound,
    NeededNetwork,
    NetworkSensitivity,
    RunTimeOn,
)

_SHARES = (0.01, 0.05, 0.1)
_LATENCIES = np.geomspace(1e-6, 1e-2, 9)
# Ranks and problem sizes of the curves of granularity, as multiples of the run's.
_RANKS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
_SIZES = (1.0, 8.0)


def sensitivity_of(run: ModelledRun, own: Sequence[InterconnectClass] = ()) -> NetworkSensitivity:
    """The results of a modelled run. A run on one host is modelled with a host per rank.

    ``own``: the user's networks, in addition to the known ones.
    """
    trace = run.matched.trace
    spread = len(set(trace.hosts)) == 1
    # Ranks of an adapter share its bandwidth.
    per_host = 1.0 if spread else len(trace.ranks) / len(set(trace.hosts))
    if spread:
        run = spread_over(run, [f"host {rank.rank}" for rank in trace.ranks])
    messages, size = sensitivity(run)
    needed = demand(run, _SHARES)
    kinds = (*interconnects(), *own)
    models = {kind.name: _grain(run, kind) for kind in kinds}
    predictions = [_prediction(run, kind, models[kind.name]) for kind in kinds]
    return NetworkSensitivity(
        spread=spread,
        messages=messages,
        bytes=size,
        misfit=run.misfit,
        doubt=run.doubt,
        links=[
            _link("within a host", run.calibrated.within),
            _link("between hosts", run.calibrated.between),
        ],
        needed=[
            NeededNetwork(share, needed.latencies[share], _bandwidth(needed.gaps[share], per_host))
            for share in _SHARES
        ],
        predictions=predictions,
        latencies=_latencies(run),
        grains=_curves(models),
        algorithms=_algorithms(run),
        iterations=run.iterations,
    )


def _link(name: str, found: LinkEstimate) -> LinkFound:
    of = found.parameters
    return LinkFound(
        link=name,
        latency=of.latency,
        overhead=of.overhead,
        bandwidth=1.0 / of.gap if of.gap > 0.0 else None,
        observations=found.observations,
        scatter=found.scatter,
    )


def _bandwidth(gap: float | None, per_host: float) -> float | None:
    return None if gap is None or gap <= 0.0 else 1.0 / gap / per_host


def _grain(run: ModelledRun, kind: InterconnectClass) -> GrainModel:
    return grain_model(run, network_of(run, kind.latency, kind.bandwidth))


def _prediction(run: ModelledRun, kind: InterconnectClass, model: GrainModel) -> RunTimeOn:
    found = predict(run, kind)
    here = model.at(model.ranks)
    return RunTimeOn(
        interconnect=kind.name,
        latency=kind.latency,
        bandwidth=kind.bandwidth,
        seconds=found.seconds,
        low=found.low,
        high=found.high,
        doubt="" if run.doubt else found.doubtful,
        ratio=found.ratio,
        grain=here.grain,
        computing_ratio=here.ratio if math.isfinite(here.ratio) else None,
        fine_from=model.crossing(FINE),
        medium_from=model.crossing(COARSE),
        source=kind.source,
        own=kind.own,
    )


def _latencies(run: ModelledRun) -> list[LatencyPoint]:
    network = run.calibrated.network
    points = []
    for latency in _LATENCIES.tolist():
        changed = network.changed(latency=latency)
        found = replay(with_adapters(run.graph, changed), changed)
        messages = run.factor * found.slopes.latencies[BETWEEN]
        points.append(LatencyPoint(latency, run.on(found), messages))
    return points


def _curves(models: dict[str, GrainModel]) -> list[GrainCurvePoint]:
    points = []
    for name, model in models.items():
        for size in _SIZES:
            for factor in _RANKS:
                ranks = model.ranks * factor
                if ranks < 2:
                    continue
                at = model.at(ranks, size)
                if math.isfinite(at.high):
                    points.append(
                        GrainCurvePoint(
                            interconnect=name,
                            ranks=ranks,
                            size=size,
                            ratio=at.ratio,
                            low=at.low,
                            high=at.high,
                            extrapolated=max(factor, 1.0 / factor, size) > NEAR,
                        )
                    )
    return points


def _algorithms(run: ModelledRun) -> str:
    text = (
        "Collectives are modelled by dissemination (barrier), binomial trees, recursive doubling, "
        "rings and pairwise exchange; the MPI may use others."
    )
    if run.graph.unknown:
        text += f" {', '.join(run.graph.unknown)} keep their measured time."
    return text
