"""What a work takes at placements that were not measured, from one or two that were.

A contention model: cores compute, streams share memory as the saturation curve says, messages cost
what ping-pong says, and those that leave a node share its adapter (LogGP: Alexandrov et al. 1995).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.models.placement_time import (
    MEAN,
    MOST,
    WAITED,
    Machine,
    Placed,
    expected,
    far_cost,
    near_cost,
)


@dataclass(frozen=True)
class Prediction:
    """Seconds that a placement is to take, by what they are spent on."""

    compute: float
    contention: float
    imbalance: float
    within: float
    between: float

    @property
    def time(self) -> float:
        """The whole."""
        return self.compute + self.contention + self.imbalance + self.within + self.between


@dataclass(frozen=True)
class ContentionModel:
    """What a work takes at any placement on as many nodes, learned from one or two of them.

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

    def predict(self, placed: Placed) -> Prediction | None:
        """What a placement is to take: of ``placed`` all but its launches is looked at.

        None where nothing measured tells what its messages cost.
        """
        base = float(self.alone.medians[MEAN]) * expected(placed, self.alone)
        slower = self.machine.slowdown(placed.cores)
        contention = base * self.memory * ((placed.cores if slower is None else slower) - 1.0)
        within = near_cost(placed, self.machine, long=self.long)
        between = 0.0
        if placed.nodes > 1:
            between = far_cost(placed, self.machine, long=self.long)
        if (within and self.near is None) or (between and self.far is None):
            return None
        return Prediction(
            base,
            contention,
            (base + contention) * self.uneven if placed.ranks > 1 else 0.0,
            within * (self.near or 0.0),
            between * (self.far or 0.0),
        )


# Below this slowdown of streams a second placement says nothing of the share that memory has.
_TELLING = 0.05
# From this size in bytes on a message's time is its bytes', where no ping-pong tells.
_LONG = 4096.0


def learn(alone: Placed, second: Placed | None, machine: Machine) -> ContentionModel | None:
    """The model from one rank a node (``alone``), and another placement on as many nodes.

    Without a second placement the share of memory is what the kernel's formula of its traffic and
    the stream on one core say; None where that stream isn't known either.
    """
    computing = float(alone.medians[MEAN])
    stream = machine.bandwidth(1) if 1 in machine.streams else None
    by_formula = None
    if stream is not None and computing > 0:
        by_formula = min((alone.demand.traffic or 0.0) / alone.nodes / stream / computing, 1.0)
    memory = by_formula
    if second is not None:
        base = computing * expected(second, alone)
        known = machine.slowdown(second.cores)
        slower = second.cores if known is None else known
        if slower - 1.0 >= _TELLING and base > 0:
            grown = float(second.medians[MEAN]) / base - 1.0
            memory = min(max(grown / (slower - 1.0), 0.0), 1.0)
    if memory is None:
        return None
    talking = [placed for placed in (second, alone) if placed and placed.demand.messages > 0]
    sizes = [placed.demand.sent / placed.demand.messages for placed in talking]
    long = not sizes or sizes[0] >= _LONG
    near, far, uneven = _message_factors(alone, second, machine, long=long)
    return ContentionModel(alone, machine, memory, near, far, uneven, long)


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


def _uneven(placed: Placed) -> float:
    most, mean = float(placed.medians[MOST]), float(placed.medians[MEAN])
    return max(most / mean - 1.0, 0.0) if np.isfinite(most) and mean > 0 else 0.0


def _waited(placed: Placed) -> float:
    """Seconds of messages, without what ranks wait for the slowest."""
    waited = float(placed.medians[WAITED])
    return waited - min(_uneven(placed) * float(placed.medians[MEAN]), waited)
