"""Predicted times at placements that were not measured, from a few measured ones.

A contention model: cores compute, streams share memory by the saturation curve, threads have a
serial fraction (Amdahl 1967), messages cost their ping-pong times, and messages between nodes share
the node's adapter (LogGP: Alexandrov et al. 1995).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.models.placement.placed import (
    MOST,
    WAITED,
    NodeModel,
    Placed,
    computing_of,
    expected,
    far_cost,
    near_cost,
)


@dataclass(frozen=True)
class Prediction:
    """Predicted seconds of a placement by component."""

    #: Computing without contention.
    compute: float
    #: Time that sharing memory adds.
    contention: float
    #: Time that threads sharing cores add (or save, negative).
    shared: float
    #: Time that threads of a rank add over ranks of one thread.
    threads: float
    #: Time spent waiting for the slowest rank.
    imbalance: float
    #: ``within``, ``between``: communication within nodes and between them.
    within: float
    between: float

    @property
    def time(self) -> float:
        """The whole."""
        computing = self.compute + self.contention + self.shared + self.threads
        return computing + self.imbalance + self.within + self.between


@dataclass(frozen=True)
class ThreadModel:
    """The cost of threads in computing, relative to ranks of one thread on the same cores."""

    #: The serial fraction of the threads of a rank.
    serial: float | None = None
    #: Relative cost of threads on several NUMA domains. It is multiplied by 1 - 1 / domains.
    across: float | None = None
    #: Computing with shared cores over computing without. None: unknown.
    shared: float | None = None


@dataclass(frozen=True)
class ContentionModel:
    """The time of a work at any placement on the same number of nodes, fitted to a few of them.

    The share ``memory`` of computing slows down like streams that share memory; the rest scales
    with cores. Messages cost their ping-pong times (or by number, or by bytes), times ``near`` and
    ``far``; all ranks of a node share its adapter.
    """

    alone: Placed
    machine: NodeModel
    memory: float
    near: float | None
    far: float | None
    #: Maximum over mean computing of the ranks, minus 1.
    uneven: float
    #: Whether messages cost by their bytes if there is no ping-pong.
    long: bool
    threads: ThreadModel = ThreadModel()

    def predict(self, placed: Placed) -> Prediction | None:
        """The predicted time of a placement. It doesn't use the launches of ``placed``.

        None if the cost of its messages or its threads is unknown.
        """
        base = _computing(self.alone) * expected(placed, self.alone)
        slower = self.machine.slowdown_at(placed)
        contention = base * self.memory * ((placed.cores if slower is None else slower) - 1.0)
        threads = self._threads(placed, base, base + contention)
        within = near_cost(placed, self.machine, long=self.long)
        between = 0.0
        if placed.nodes > 1:
            between = far_cost(placed, self.machine, long=self.long)
        if threads is None or (within and self.near is None) or (between and self.far is None):
            return None
        sharing, serial = threads
        computing = base + contention + sharing + serial
        return Prediction(
            compute=base,
            contention=contention,
            shared=sharing,
            threads=serial,
            imbalance=computing * self.uneven if placed.ranks > 1 else 0.0,
            within=within * (self.near or 0.0),
            between=between * (self.far or 0.0),
        )

    def _threads(self, placed: Placed, base: float, ranks: float) -> tuple[float, float] | None:
        """Seconds that shared cores and threads add. ``ranks``: seconds of ranks with one
        thread."""
        model, affinity = self.threads, placed.affinity
        sharing = serial = 0.0
        if placed.shared:
            if model.shared is None:
                return None
            sharing = ranks * (model.shared - 1.0)
        if placed.threads > 1:
            if model.serial is None:
                return None
            serial = base * model.serial * (placed.threads - 1)
            if affinity is not None and affinity.domains_per_rank > 1:
                if model.across is None:
                    return None
                serial += ranks * model.across * (1.0 - 1.0 / affinity.domains_per_rank)
        return sharing, serial


# Minimum slowdown of streams with which a second placement determines the share of memory.
_MIN_SLOWDOWN = 0.05
# Message size in bytes above which the cost is by bytes, if ping-pong was not measured.
_LONG = 4096.0


def fit_contention_model(
    alone: Placed, second: Placed | None, machine: NodeModel, threaded: Sequence[Placed] = ()
) -> ContentionModel | None:
    """The model fitted to one rank per node (``alone``) and a second placement on the same number
    of nodes.

    Without a second placement the share of memory follows from the kernel's traffic formula and the
    bandwidth of one core; None if these are also unknown. ``threaded``: placements on the same
    cores as the second one, by ``calibration_placements``, for the cost of threads.
    """
    computing = _computing(alone)
    stream = machine.bandwidth(1) if 1 in machine.streams else None
    by_formula = None
    if stream is not None and computing > 0:
        by_formula = min((alone.demand.traffic or 0.0) / alone.nodes / stream / computing, 1.0)
    memory = by_formula
    if second is not None:
        base = computing * expected(second, alone)
        known = machine.slowdown_at(second)
        slower = second.cores if known is None else known
        if slower - 1.0 >= _MIN_SLOWDOWN and base > 0:
            grown = _computing(second) / base - 1.0
            memory = min(max(grown / (slower - 1.0), 0.0), 1.0)
    if memory is None:
        return None
    sending = [placed for placed in (second, alone) if placed and placed.demand.messages > 0]
    sizes = [placed.demand.sent / placed.demand.messages for placed in sending]
    long = not sizes or sizes[0] >= _LONG
    near, far, uneven = _message_factors(alone, second, machine, long=long)
    threads = ThreadModel() if second is None else _thread_model(alone, second, threaded)
    return ContentionModel(
        alone=alone,
        machine=machine,
        memory=memory,
        near=near,
        far=far,
        uneven=uneven,
        long=long,
        threads=threads,
    )


def calibration_placements(second: Placed, among: Sequence[Placed]) -> list[Placed]:
    """The placements that the cost of threads is fitted to, as far as they exist.

    They use the same cores as ``second``, whose ranks have one thread and a core each: the one with
    the most threads per rank within one NUMA domain, the one with the most across domains, and one
    with ranks of one thread that share cores.
    """
    if second.affinity is None:
        return []
    cores = second.affinity.cores_used
    found = [(one, one.affinity) for one in among if one.affinity]
    found = [(one, affinity) for one, affinity in found if affinity.cores_used == cores]
    threaded = [(one, affinity) for one, affinity in found if one.threads > 1 and not one.shared]
    near = [one for one, affinity in threaded if affinity.domains_per_rank == 1]
    across = [one for one, affinity in threaded if affinity.domains_per_rank > 1]
    most = [max(group, key=lambda one: one.threads) for group in (near, across) if group]
    return most + [one for one, _ in found if one.threads == 1 and one.shared][:1]


def _thread_model(alone: Placed, second: Placed, threaded: Sequence[Placed]) -> ThreadModel:
    serial = across = shared = None
    for placed in threaded:  # placements within one domain come first
        affinity = placed.affinity
        ranks = _computing(second) * expected(placed, second)
        base = _computing(alone) * expected(placed, alone)
        measured = _computing(placed)
        if ranks <= 0 or base <= 0 or affinity is None:
            continue
        if placed.shared:
            shared = measured / ranks
        elif affinity.domains_per_rank > 1:
            more = measured - ranks - base * (serial or 0.0) * (placed.threads - 1)
            across = max(more / ranks / (1.0 - 1.0 / affinity.domains_per_rank), 0.0)
        else:
            serial = max((measured - ranks) / base / (placed.threads - 1), 0.0)
    return ThreadModel(serial, across, shared)


def _message_factors(
    alone: Placed, second: Placed | None, machine: NodeModel, *, long: bool
) -> tuple[float | None, float | None, float]:
    """Factors of the cost of messages within nodes and between them, and ``uneven``."""
    far = 1.0 if machine.far is not None else None
    near = 1.0 if machine.near is not None else None
    uneven = 0.0
    if alone.nodes > 1:
        uneven = _uneven(alone)
        cost = far_cost(alone, machine, long=long)
        if cost > 0:
            far = _waited(alone) / cost
    if second is not None:
        uneven = _uneven(second)
        cost = near_cost(second, machine, long=long)
        rest = _waited(second)
        if second.nodes > 1:
            rest -= (far or 0.0) * far_cost(second, machine, long=long)
        if cost > 0:
            near = max(rest / cost, 0.0)
    return near, far, uneven


def _computing(placed: Placed) -> float:
    return float(computing_of(placed, placed.medians))


def _uneven(placed: Placed) -> float:
    most, mean = float(placed.medians[MOST]), _computing(placed)
    return max(most / mean - 1.0, 0.0) if np.isfinite(most) and mean > 0 else 0.0


def _waited(placed: Placed) -> float:
    """Seconds of messages, without the waiting for the slowest rank."""
    waited = float(placed.medians[WAITED]) if placed.ranks > 1 else 0.0
    return waited - min(_uneven(placed) * _computing(placed), waited)
