"""Findings of a design from its specification."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Iterator

import numpy as np

from assay.design.candidates import Architecture, Builder, PriceFactors
from assay.design.decision import ArchitectureChoice, Draws, Input, decide, drawn_rates
from assay.design.figures import PartFigure
from assay.design.front import pareto_front
from assay.design.jobs import JOBS
from assay.design.search import Candidates, search
from assay.design.spec import DesignSpec
from assay.design.workload import (
    LINPACK,
    PARTS,
    STREAM,
    MachineFigures,
    linpack_sources,
    times,
)
from assay.reference.top500 import last_within, top_lists
from assay.reference.top500_kinds import SELF_MADE, network_kind, place_among, processor_kind
from assay.subjects.design.bill import bill_of
from assay.subjects.design.model import (
    DESIGN_SCHEMA,
    ClusterDesign,
    DesignedCluster,
    DesignPlace,
    FrontPoint,
    OwnKindPlace,
    PredictedRate,
    RateSource,
    UncertainInput,
)
from assay.units import counted

# Years with a November list on which predicted rates are placed, in addition to the latest list.
_LISTS = (2002, 2012)
_LAST_RANK = 500
_MOST_FRONT = 400
_MOST_INPUTS = 12
_NAMES = {
    "compute": "the nodes",
    "latency": "latency",
    "link": "adapters",
    "bisection": "bisection",
}
# The command that measures a figure of a node or an interconnect.
_MEASURE = {
    "dgemm": "assay run quick",
    "bandwidth": "assay run quick",
    "latency": "assay run network",
}


def find(spec: DesignSpec, progress: Callable[[int, int], None] | None = None) -> ClusterDesign:
    """The findings. Raises AssayError if no cluster meets the limits."""
    builder = Builder(spec)
    candidates = search(spec, builder, progress)
    best = _best_of_each(candidates)
    decision = decide(spec, builder, candidates.architectures, best)
    top = float(np.max(candidates.score))
    ranked = _ranked(spec, builder, candidates, best)[: spec.best]
    likely = dict(zip(decision.architectures, decision.likely.tolist(), strict=True))
    draws = Draws(spec.draws, spec.seed)
    shortlist = [
        _designed(
            spec,
            builder,
            candidates.architectures[index],
            best[index][0],
            score=best[index][1] / top,
            likely=likely.get(index, 0.0),
            draws=draws,
        )
        for index in ranked
    ]
    used = list(_figures(candidates.architectures, spec))
    bounded = math.isfinite(spec.limits.budget)
    return ClusterDesign(
        schema=DESIGN_SCHEMA,
        title=spec.title,
        utc=time.time(),
        file=str(spec.document.path),
        currency=spec.catalogue.currency,
        budget=spec.limits.budget if bounded else None,
        workload=dict(spec.workload),
        considered=candidates.considered,
        possible=len(candidates.count),
        excluded=dict(candidates.excluded),
        best=shortlist,
        front=_front(candidates, top),
        inputs=_inputs(decision),
        more=candidates.richer / top if bounded else None,
        draws=spec.draws,
        seed=spec.seed,
        figures=len(used),
        assumed=sum(figure.kind == "assumed" for figure in used),
        unknown=_unknown(spec, candidates),
    )


def _best_of_each(candidates: Candidates) -> dict[int, tuple[int, float]]:
    """The best number of nodes of each architecture: the cheapest of those with the best score."""
    order = np.lexsort((candidates.price, -candidates.score, candidates.architecture))
    kinds, first = np.unique(candidates.architecture[order], return_index=True)
    chosen = order[first]
    return {
        int(kind): (int(candidates.count[at]), float(candidates.score[at]))
        for kind, at in zip(kinds, chosen, strict=True)
    }


def _ranked(
    spec: DesignSpec,
    builder: Builder,
    candidates: Candidates,
    best: dict[int, tuple[int, float]],
) -> list[int]:
    """The architectures, best score first; of equal scores the cheaper, then less power.

    Scores that differ by rounding only are equal.
    """

    def rank(index: int) -> tuple[float, float, float, int]:
        nodes, score = best[index]
        one, count = candidates.architectures[index], np.array([nodes])
        bill = builder.bill(one, count, PriceFactors.as_quoted())
        return (-float(f"{score:.9g}"), float(bill.price[0]), float(bill.power[0]), index)

    return sorted(best, key=rank)


def _designed(
    spec: DesignSpec,
    builder: Builder,
    one: Architecture,
    nodes: int,
    *,
    score: float,
    likely: float,
    draws: Draws,
) -> DesignedCluster:
    count = np.array([nodes])
    bill = builder.bill(one, count, PriceFactors.as_quoted())
    fabric = builder.fabric(one)
    rates = _rates(spec, builder, one, nodes, draws)
    linpack = next((rate.rate for rate in rates if rate.workload == LINPACK), None)
    dgemm = one.node.dgemm.value
    price = float(bill.price[0])
    link = one.network.bandwidth.value * one.network.adapters if nodes > 1 else 0.0
    return DesignedCluster(
        name=one.name,
        nodes=nodes,
        spares=int(spec.bought(np.array(float(nodes)))) - nodes,
        score=score,
        likely=likely,
        price=price,
        power=float(bill.power[0]),
        racks=int(bill.racks[0]),
        floor=float(bill.floor[0]),
        cores=nodes * one.node.cores,
        memory=nodes * one.memory,
        memory_balance=one.node.bandwidth.value / dgemm,
        network_balance=link / dgemm,
        hops=float(fabric.hops[nodes]),
        topology=fabric.extent(one.network, nodes),
        rates=rates,
        bill=bill_of(spec, builder, one, nodes),
        price_per_gflops=None if linpack is None else price / (linpack / 1e9),
        places=[] if linpack is None else _places(linpack),
        own_kinds=[] if linpack is None else _own_kinds(linpack, one, nodes),
    )


def _rates(
    spec: DesignSpec, builder: Builder, one: Architecture, nodes: int, draws: Draws
) -> list[PredictedRate]:
    count = np.array([nodes])
    drawn = drawn_rates(spec, builder, one, np.full(spec.draws, nodes), draws)
    found = []
    for name in spec.workload:
        machines = builder.machines(one, count, name)
        predicted = times(name, machines)
        total = float(predicted.total[0])
        shares = {
            _NAMES[part]: float(np.broadcast_to(getattr(predicted, part), (1,))[0]) / total
            for part in PARTS
        }
        low, high = np.quantile(drawn[name], [0.025, 0.975])
        found.append(
            PredictedRate(
                workload=name,
                unit=_unit(name),
                rate=float(predicted.rate[0]),
                interval=(float(low), float(high)),
                shares=shares,
                limit=max(shares, key=lambda part: shares[part]),
                sources=_sources(machines) if name == LINPACK else [],
            )
        )
    return found


def _sources(machines: MachineFigures) -> list[RateSource]:
    known = linpack_sources(machines)
    if known is None:
        return []
    listed, closed, bound, weight = (
        float(np.ravel(value)[0])
        for value in (known.listed, known.closed, known.bound, known.weight)
    )
    return [
        RateSource("listed systems of this kind", listed, weight),
        RateSource("closed form", closed, 1.0 - weight),
        RateSource("DGEMM of all nodes", bound, None),
    ]


def _unit(workload: str) -> str:
    if workload.startswith(JOBS):
        return "processors"
    return {LINPACK: "flop/s", STREAM: "B/s"}.get(workload, "op/s")


def _places(rate: float) -> list[DesignPlace]:
    lists = top_lists()
    chosen = [one for one in lists if one.month == 11 and one.year in _LISTS] + [lists[-1]]
    return [DesignPlace(one.date, one.place(rate)) for one in chosen]


def _own_kinds(rate: float, one: Architecture, nodes: int) -> list[OwnKindPlace]:
    last = last_within(rate, _LAST_RANK)
    if last is None:
        return []
    found = [processor_kind(f"{one.node.name} {one.node.family}")]
    if nodes > 1:
        found.append(network_kind(f"{one.network.name} {one.network.family}"))
    kinds = [kind for kind in found if kind is not None]
    places = [place_among(last, kind, rate) for kind in (*kinds, SELF_MADE)]
    return [
        OwnKindPlace(last.date, place.kind.among, place.rank, place.of, place.unknown)
        for place in places
        if place.of
    ]


def _front(candidates: Candidates, top: float) -> list[FrontPoint]:
    front = pareto_front(candidates.price, candidates.power, candidates.score)
    if len(front) > _MOST_FRONT:  # evenly by price, both ends kept
        front = front[np.unique(np.linspace(0, len(front) - 1, _MOST_FRONT).astype(int))]
    points = []
    for at in front.tolist():
        one = candidates.architectures[candidates.architecture[at]]
        points.append(
            FrontPoint(
                name=one.name,
                interconnect=one.network.name,
                nodes=int(candidates.count[at]),
                price=float(candidates.price[at]),
                power=float(candidates.power[at]),
                score=float(candidates.score[at]) / top,
            )
        )
    return points


def _inputs(decision: ArchitectureChoice) -> list[UncertainInput]:
    found = []
    for value in decision.values[:_MOST_INPUTS]:
        one = value.input
        figure = one.figure
        found.append(
            UncertainInput(
                part=one.part,
                what=one.what,
                gain=value.gain,
                changes=value.changes,
                value=None if figure is None else figure.value,
                interval=None if figure is None else figure.interval,
                kind="model" if figure is None else figure.kind,
                where="" if figure is None else figure.where,
                measure=_command(one),
            )
        )
    return found


def _command(one: Input) -> str:
    if one.what in _MEASURE:
        return _MEASURE[one.what]
    workload = one.what.rpartition(" ")[2]
    return "assay run npb" if workload.startswith("npb.") else ""


def _figures(architectures: tuple[Architecture, ...], spec: DesignSpec) -> Iterator[PartFigure]:
    """Every figure of the candidates' parts, once."""
    seen: set[int] = set()
    for one in architectures:
        for part in (one.node, one.kit, one.disk, one.network):
            if part is None or id(part) in seen:
                continue
            seen.add(id(part))
            for field in dataclasses.fields(part):
                value = getattr(part, field.name)
                if isinstance(value, PartFigure):
                    yield value
                elif field.name == "rates":
                    yield from (value[name] for name in spec.workload if name in value)


def _unknown(spec: DesignSpec, candidates: Candidates) -> list[str]:
    """Sentences on what the numbers can't say."""
    sentences = []
    at_most = int(np.sum(candidates.count == spec.limits.most))
    best = int(candidates.count[int(np.argmax(candidates.score))])
    if at_most and best == spec.limits.most:
        sentences.append(
            f"The best cluster has the maximum number of nodes considered ({best:,}); more nodes "
            "may be better. Raise [limits] nodes."
        )
    if any(name.startswith("npb.") for name in spec.workload):
        sentences.append(
            "NPB rates hold for the code with which the nodes' rates were measured. Messages "
            "and bytes come from assay's own code with one process per node."
        )
    for name in (name for name in spec.workload if name in spec.jobs):
        jobs = spec.jobs[name]
        sentences.append(
            f"Accounts don't record messages, so the rate of the {counted(jobs.jobs, 'job')} of "
            f"{name} does not depend on the interconnect."
        )
        if jobs.summary:
            sentences.append(
                f"For {name}, only the distributions of sizes and run times are known; they are "
                "sampled independently."
            )
        cores = int(candidates.count.max()) * max(
            node.cores for node in spec.catalogue.nodes.values()
        )
        if jobs.largest > cores:
            sentences.append(
                f"The largest job of {name} has {jobs.largest:,} processors. On fewer cores, its "
                "run time is assumed to grow in proportion."
            )
    return sentences
