"""What a work takes at placements that were not measured, from a few that were.

A contention model: cores compute, streams share memory as the saturation curve says, threads leave
a part of the work to one of them (Amdahl 1967), messages cost what ping-pong says, and those that
leave a node share its adapter (LogGP: Alexandrov et al. 1995).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.models.placed import (
    MOST,
    WAITED,
    Machine,
    Placed,
    computing_of,
    expected,
    far_cost,
    near_cost,
)


@dataclass(frozen=True)
class Prediction:
    """Seconds that a placement is to take, by what they are spent on.

    ``shared``: what threads that share cores add, or save; ``threads``: what threads of a rank take
    longer than ranks of one thread would.
    """

    compute: float
    contention: float
    shared: float
    threads: float
    imbalance: float
    within: float
    between: float

    @property
    def time(self) -> float:
        """The whole."""
        computing = self.compute + self.contention + self.shared + self.threads
        return computing + self.imbalance + self.within + self.between


@dataclass(frozen=True)
class ThreadModel:
    """What threads do to computing, beyond what as many ranks on their cores would take.

    ``serial``: the share of a work that the threads of a rank don't divide. ``across``: what its
    threads take longer, relatively, the more NUMA domains they are on: times 1 - 1 / domains.
    ``shared``: computing where threads share cores over that where none do. None: not known.
    """

    serial: float | None = None
    across: float | None = None
    shared: float | None = None


@dataclass(frozen=True)
class ContentionModel:
    """What a work takes at any placement on as many nodes, learned from a few of them.

    Of computing, the share ``memory`` goes as streams do when cores share them, the rest as cores.
    Messages cost what ping-pong says (or as messages or bytes), times ``near`` and ``far``; all
    ranks of a node share its adapter. ``uneven``: what the rank that computes most does more than
    the mean. ``long``: where no ping-pong tells, whether messages cost by their bytes.
    """

    alone: Placed
    machine: Machine
    memory: float
    near: float | None
    far: float | None
    uneven: float
    long: bool
    threads: ThreadModel = ThreadModel()

    def predict(self, placed: Placed) -> Prediction | None:
        """What a placement is to take: of ``placed`` all but its launches is looked at.

        None where nothing measured tells what its messages or its threads cost.
        """
        base = _computing(self.alone) * expected(placed, self.alone)
        slower = self.machine.slowed(placed)
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
            base,
            contention,
            sharing,
            serial,
            computing * self.uneven if placed.ranks > 1 else 0.0,
            within * (self.near or 0.0),
            between * (self.far or 0.0),
        )

    def _threads(self, placed: Placed, base: float, ranks: float) -> tuple[float, float] | None:
        """Seconds for sharing cores and for being threads; ``ranks``: what ranks of one take."""
        model, seats = self.threads, placed.seats
        sharing = serial = 0.0
        if placed.shared:
            if model.shared is None:
                return None
            sharing = ranks * (model.shared - 1.0)
        if placed.threads > 1:
            if model.serial is None:
                return None
            serial = base * model.serial * (placed.threads - 1)
            if seats is not None and seats.reach > 1:
                if model.across is None:
                    return None
                serial += ranks * model.across * (1.0 - 1.0 / seats.reach)
        return sharing, serial


# Below this slowdown of streams a second placement says nothing of the share that memory has.
_TELLING = 0.05
# From this size in bytes on a message's time is its bytes', where no ping-pong tells.
_LONG = 4096.0


def learn(
    alone: Placed, second: Placed | None, machine: Machine, threaded: Sequence[Placed] = ()
) -> ContentionModel | None:
    """The model from one rank a node (``alone``), and another placement on as many nodes.

    Without a second placement the share of memory is what the kernel's formula of its traffic and
    the stream on one core say; None where that stream isn't known either. ``threaded``: placements
    on the same cores as the second one, by ``teachers``, which say what threads cost.
    """
    computing = _computing(alone)
    stream = machine.bandwidth(1) if 1 in machine.streams else None
    by_formula = None
    if stream is not None and computing > 0:
        by_formula = min((alone.demand.traffic or 0.0) / alone.nodes / stream / computing, 1.0)
    memory = by_formula
    if second is not None:
        base = computing * expected(second, alone)
        known = machine.slowed(second)
        slower = second.cores if known is None else known
        if slower - 1.0 >= _TELLING and base > 0:
            grown = _computing(second) / base - 1.0
            memory = min(max(grown / (slower - 1.0), 0.0), 1.0)
    if memory is None:
        return None
    talking = [placed for placed in (second, alone) if placed and placed.demand.messages > 0]
    sizes = [placed.demand.sent / placed.demand.messages for placed in talking]
    long = not sizes or sizes[0] >= _LONG
    near, far, uneven = _message_factors(alone, second, machine, long=long)
    threads = ThreadModel() if second is None else _thread_model(alone, second, threaded)
    return ContentionModel(alone, machine, memory, near, far, uneven, long, threads)


def teachers(second: Placed, among: Sequence[Placed]) -> list[Placed]:
    """Of placements on the same cores as ``second``, ranks of one thread with a core each: those
    that say what threads cost.

    The most threads a rank that stay in one NUMA domain, the most that don't, and ranks of one
    thread that share cores; as far as there are any.
    """
    if second.seats is None:
        return []
    fit = [other for other in among if other.seats and other.seats.busy == second.seats.busy]
    threaded = [other for other in fit if other.threads > 1 and not other.shared]
    near = [other for other in threaded if other.seats and other.seats.reach == 1]
    across = [other for other in threaded if other.seats and other.seats.reach > 1]
    found = [max(group, key=lambda one: one.threads) for group in (near, across) if group]
    return found + [other for other in fit if other.threads == 1 and other.shared][:1]


def _thread_model(alone: Placed, second: Placed, threaded: Sequence[Placed]) -> ThreadModel:
    serial = across = shared = None
    for placed in threaded:  # the ones that stay in a domain come first
        seats = placed.seats
        ranks = _computing(second) * expected(placed, second)
        base = _computing(alone) * expected(placed, alone)
        measured = _computing(placed)
        if ranks <= 0 or base <= 0 or seats is None:
            continue
        if placed.shared:
            shared = measured / ranks
        elif seats.reach > 1:
            more = measured - ranks - base * (serial or 0.0) * (placed.threads - 1)
            across = max(more / ranks / (1.0 - 1.0 / seats.reach), 0.0)
        else:
            serial = max((measured - ranks) / base / (placed.threads - 1), 0.0)
    return ThreadModel(serial, across, shared)


def _message_factors(
    alone: Placed, second: Placed | None, machine: Machine, *, long: bool
) -> tuple[float | None, float | None, float]:
    """Factors of what messages cost within nodes and between them, and how uneven ranks compute."""
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
    """Seconds of messages, without what ranks wait for the slowest."""
    waited = float(placed.medians[WAITED]) if placed.ranks > 1 else 0.0
    return waited - min(_uneven(placed) * _computing(placed), waited)
