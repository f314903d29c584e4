"""Findings of a design from its specification."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Iterator

import numpy as np

from assay.design.architecture import Architecture
from assay.design.candidates import Builder, PriceFactors
from assay.design.decision import ArchitectureChoice, Draws, Input, decide, drawn_rates
from assay.design.figures import PartFigure
from assay.design.front import pareto_front
from assay.design.jobs import JOBS
from assay.design.search import Candidates, scores, search
from assay.design.spec.model import DesignSpec
from assay.design.workload import LINPACK, PARTS, STREAM, MachineFigures, linpack_sources, times
from assay.reference.top500 import last_within, top_lists
from assay.reference.top500_kinds import SELF_MADE, network_kind, place_among, processor_kind
from assay.subjects.design.alternatives import design_lots, network_needs, rented_nodes
from assay.subjects.design.bill import bill_of
from assay.subjects.design.costs import assumed_share, cost_lines
from assay.subjects.design.model import (
    DESIGN_SCHEMA,
    ClusterDesign,
    DesignedCluster,
    DesignPlace,
    EndingOffer,
    FrontPoint,
    OwnKindPlace,
    PredictedRate,
    RateSource,
    SharedStorage,
    UncertainInput,
)
from assay.subjects.design.sentences import sentences

# Years with a November list on which predicted rates are placed, in addition to the latest list.
_LISTS = (2002, 2012)
_LAST_RANK = 500
_MOST_FRONT = 400
_MOST_INPUTS = 12
# Days before its end at which an offer ends soon.
_SOON = 30
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
    several = len(best) > 1
    shortlist = [
        _designed(
            spec,
            builder,
            candidates.architectures[index],
            best[index][0],
            score=best[index][1] / top,
            likely=likely.get(index, 0.0) if several else None,
            draws=draws,
        )
        for index in ranked
    ]
    shortlist = _relative(shortlist, [_rate_of(spec, builder, candidates, i, best) for i in ranked])
    first = ranked[0]
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
        front=_front(candidates),
        inputs=_inputs(decision),
        more=candidates.richer / top if bounded else None,
        draws=spec.draws,
        seed=spec.seed,
        figures=len(used),
        assumed=sum(figure.kind == "assumed" for figure in used),
        unknown=sentences(spec, candidates, candidates.architectures[first], best[first][0]),
        years=None if spec.costs is None else spec.costs.years,
        objective=spec.objective,
        kinds=len(candidates.architectures),
        possible_kinds=len(best),
        rented=rented_nodes(spec, builder, candidates.architectures[first], best[first][0]),
        lots=design_lots(spec, builder),
        lot_after=None if spec.later is None else spec.later.after,
        lot_years=None if spec.later is None else spec.later.years,
        offers=_offers(spec),
        needs=network_needs(spec, builder, candidates, first, best[first][0]),
    )


def _offers(spec: DesignSpec) -> list[EndingOffer]:
    return [
        EndingOffer(offer.vendor, offer.expires.isoformat(), offer.where)
        for offer in spec.catalogue.offers
        if (offer.expires - spec.day).days <= _SOON
    ]


def _rate_of(
    spec: DesignSpec,
    builder: Builder,
    candidates: Candidates,
    index: int,
    best: dict[int, tuple[int, float]],
) -> float:
    one = candidates.architectures[index]
    return float(scores(spec, builder, one, np.array([best[index][0]]))[0])


def _relative(shortlist: list[DesignedCluster], rates: list[float]) -> list[DesignedCluster]:
    """The clusters with their rates relative to the best rate of all of them."""
    top = max(rates)
    return [
        dataclasses.replace(one, rate=rate / top)
        for one, rate in zip(shortlist, rates, strict=True)
    ]


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
    likely: float | None,
    draws: Draws,
) -> DesignedCluster:
    count = np.array([nodes])
    bill = builder.bill(one, count, PriceFactors.as_quoted())
    fabric = builder.fabric(one)
    rates = _rates(spec, builder, one, nodes, draws)
    linpack = next((rate.rate for rate in rates if rate.workload == LINPACK), None)
    dgemm = one.node.dgemm.value
    price = float(bill.price[0])
    link = one.network.bandwidth.value * one.adapters if nodes > 1 else 0.0
    power = float(bill.power[0])
    lines = bill_of(spec, builder, one, nodes)
    costs = [] if spec.costs is None else cost_lines(spec.costs, price, power)
    devices = nodes * one.accelerators
    spare_nodes = int(spec.bought(np.array(float(nodes)))) - nodes
    bought = spec.bought_accelerators(np.array(float((nodes + spare_nodes) * one.accelerators)))
    limit = spec.catalogue.room.rack_limit(one.host.cooling)
    return DesignedCluster(
        name=one.name,
        nodes=nodes,
        spares=spare_nodes,
        score=score,
        likely=likely,
        price=price,
        power=power,
        racks=int(bill.racks[0]),
        floor=float(bill.floor[0]),
        cores=nodes * one.node.cores,
        memory=nodes * one.memory,
        memory_balance=one.node.bandwidth.value / dgemm,
        network_balance=link / dgemm,
        hops=float(fabric.hops[nodes]),
        topology=fabric.extent(dataclasses.replace(one.network, adapters=one.adapters), nodes),
        rates=rates,
        bill=lines,
        price_per_gflops=None if linpack is None else price / (linpack / 1e9),
        places=[] if linpack is None else _places(linpack),
        own_kinds=[] if linpack is None else _own_kinds(linpack, one, nodes),
        yearly=None if spec.costs is None else float(bill.yearly[0]),
        total=None if spec.costs is None else float(bill.total[0]),
        costs=costs,
        accelerators=devices,
        accelerator_memory=nodes * one.accelerator_memory,
        spare_accelerators=int(bought) - devices,
        channels=one.host.channels,
        rack_power=power / float(bill.racks[0]),
        rack_limit=limit if math.isfinite(limit) else None,
        storage=_storage(builder, one, nodes),
        assumed=assumed_share(lines),
    )


def _storage(builder: Builder, one: Architecture, nodes: int) -> SharedStorage | None:
    store, number = one.storage, one.storage_number
    if store is None:
        return None
    bandwidth = float(builder.io(one, np.array([nodes]))[0])
    own = number * store.rate.value
    return SharedStorage(
        name=store.name,
        number=number,
        capacity=number * store.capacity.value,
        bandwidth=bandwidth,
        limit="the storage" if bandwidth >= own else "the nodes' adapters",
        inodes=number * store.inodes.value,
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


def _front(candidates: Candidates) -> list[FrontPoint]:
    top = float(np.max(candidates.rate))
    front = pareto_front(candidates.price, candidates.power, candidates.rate)
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
                score=float(candidates.rate[at]) / top,
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
        for part in (one.host, one.accelerator, one.kit, one.disk, one.network, one.storage):
            if part is None or id(part) in seen:
                continue
            seen.add(id(part))
            for field in dataclasses.fields(part):
                value = getattr(part, field.name)
                if isinstance(value, PartFigure):
                    yield value
                elif field.name == "rates":
                    yield from (value[name] for name in spec.workload if name in value)
