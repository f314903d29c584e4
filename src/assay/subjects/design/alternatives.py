"""Findings on other ways to spend the money, and on what programs need of the network."""

from __future__ import annotations

import math

import numpy as np

from assay.design.alternatives.cloud import Rental, rented
from assay.design.alternatives.lots import lot_plans
from assay.design.architecture import Architecture
from assay.design.candidates import Builder
from assay.design.parts.model import CloudInstance
from assay.design.program import DesignProgram, slowdown
from assay.design.search import Candidates
from assay.design.spec.model import DesignSpec
from assay.design.workload import times
from assay.subjects.design.model import DesignLot, NetworkNeed, NetworkWorth, RentedNodes

# Share of the computing time that messages, and bytes, may each take if a network meets the needs.
_SMALL = 0.05


def rented_nodes(
    spec: DesignSpec, builder: Builder, one: Architecture, nodes: int
) -> list[RentedNodes]:
    """Rented instances instead of ``nodes`` nodes of an architecture; none without costs."""
    if spec.costs is None:
        return []
    return [_rented(each) for each in rented(spec, builder, spec.costs, one, nodes)]


def design_lots(spec: DesignSpec, builder: Builder) -> list[DesignLot]:
    """Divisions of the budget into two lots; none if everything is bought at once."""
    if spec.later is None:
        return []
    return [
        DesignLot(plan.share, plan.first, plan.second, work=plan.work, end=plan.end)
        for plan in lot_plans(spec, spec.later, builder)
    ]


def network_needs(
    spec: DesignSpec, builder: Builder, candidates: Candidates, index: int, nodes: int
) -> list[NetworkNeed]:
    """What each profiled program needs. ``index``, ``nodes``: the best cluster."""
    return [
        _need(spec, builder, candidates, (index, nodes), name)
        for name in spec.workload
        if name in spec.programs
    ]


def _rented(one: Rental | CloudInstance) -> RentedNodes:
    if not isinstance(one, Rental):
        return RentedNodes(
            name=one.name,
            number=None,
            most=one.most,
            hour=None,
            break_even=None,
            interval=None,
            buying=None,
            where=one.hour.where,
        )

    def finite(value: float) -> float | None:
        return value if math.isfinite(value) else None

    return RentedNodes(
        name=one.instance.name,
        number=one.number,
        most=one.instance.most,
        hour=one.hour,
        break_even=finite(one.break_even),
        interval=(finite(one.interval[0]), finite(one.interval[1])),
        buying=one.buying,
        where=one.instance.hour.where,
    )


def _need(
    spec: DesignSpec, builder: Builder, candidates: Candidates, best: tuple[int, int], name: str
) -> NetworkNeed:
    program = spec.programs[name]
    one = candidates.architectures[best[0]]
    compute = _computing(program, one)
    parts = times(name, builder.machines(one, np.array([best[1]]), name))
    sending = float((parts.latency + parts.link)[0])
    beside = min(one.node.cores, program.ranks)
    alone = program.ranks <= one.node.cores
    latency = None if alone or not program.messages else _SMALL * compute / program.messages
    bandwidth = None if alone or not program.bytes else program.bytes * beside / (_SMALL * compute)
    return NetworkNeed(
        workload=name,
        grain=float(parts.compute[0]) / sending if sending else None,
        between=compute / program.messages if program.messages else None,
        latency=latency,
        bandwidth=bandwidth,
        networks=_networks(spec, builder, candidates, name=name, needs=(latency, bandwidth)),
    )


def _networks(
    spec: DesignSpec,
    builder: Builder,
    candidates: Candidates,
    *,
    name: str,
    needs: tuple[float | None, float | None],
) -> list[NetworkWorth]:
    """Each interconnect with the candidate that is best with it."""
    kinds = [one.network.name for one in candidates.architectures]
    of_row = np.array(kinds)[candidates.architecture]
    found = []
    for network in dict.fromkeys(kinds):
        rows = np.flatnonzero(of_row == network)
        if not rows.size:
            continue
        row = int(rows[np.argmax(candidates.score[rows])])
        one = candidates.architectures[candidates.architecture[row]]
        machines = builder.machines(one, np.array([candidates.count[row]]), name)
        parts = times(name, machines)
        latency, bandwidth = needs
        meets = latency is None or float(np.max(machines.latency)) <= latency
        meets = meets and (bandwidth is None or one.link >= bandwidth)
        share = 1.0 - float(parts.compute[0] / parts.total[0])
        found.append((float(parts.rate[0]), NetworkWorth(network, share, 0.0, meets)))
    top = max(rate for rate, _ in found)
    found.sort(key=lambda pair: -pair[0])
    return [NetworkWorth(worth.name, worth.share, rate / top, worth.meets) for rate, worth in found]


def _computing(program: DesignProgram, one: Architecture) -> float:
    """Computing time of a rank on a core of the node, s."""
    slower = slowdown(
        program,
        cores=np.array(float(one.node.cores)),
        dgemm=np.array(one.node.dgemm.value),
        bandwidth=np.array(one.node.bandwidth.value),
    )
    return program.computing * float(slower)
