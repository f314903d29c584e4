"""The time of a work at a placement by component, from the phases that its ranks time.

Luecke, Li & Cuma (2005), section 4, name what limits the gain of more ranks per node: shared memory
(4.2), messages and the shared adapter (4.3), and effects of the size of a rank's piece, mainly of
caches (4.1). Their two comparisons separate these: the same ranks on more nodes share nothing and
have pieces of the same size; one rank per node on the same number of nodes has larger pieces.
Threads are compared with ranks of one thread on the same cores. All seconds are wall time of one
operation, mean over ranks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from assay.arrays import Floats
from assay.models.placement.components import (
    BETWEEN,
    COMPONENTS,
    MESSAGES,
    UNEXPLAINED,
    WITHIN,
    Component,
)
from assay.models.placement.placed import (
    MOST,
    TIME,
    UNKNOWN,
    WAITED,
    EqualRanks,
    NodeModel,
    Placed,
    computing_of,
    expected,
    share_within,
)
from assay.units import Interval

# Minimum share of messages within nodes, or between nodes, in the loss by all messages, for them to
# be the cause.
_MOSTLY = 2 / 3
_TAILS = (0.025, 0.975)


@dataclass(frozen=True)
class TimeEstimate:
    """A number with its 95% interval (None with too few launches)."""

    #: Seconds, or a ratio of times.
    value: float
    #: The 95% interval.
    ci95: Interval | None


@dataclass(frozen=True, eq=False)
class Split:
    """The time of a placement by ``COMPONENTS``, in s: as measured, and one row per draw."""

    placed: Placed
    #: Baseline of computing: one rank per node on the same number of nodes.
    alone: Placed | None
    #: The same number of ranks, one per node; None if not measured.
    apart: Placed | None
    #: Baseline of its threads.
    equal_ranks: EqualRanks
    seconds: Floats
    draws: Floats
    #: Whether all these placements have enough launches for intervals.
    certain: bool
    #: Whether ranks recorded how unevenly they compute. Otherwise waiting for the slowest rank
    #: counts as messages.
    imbalance_known: bool
    #: Whether messages within and between nodes are separated by their times rather than only by
    #: their bytes.
    messages_separable: bool

    @property
    def time(self) -> float:
        """The total, in s."""
        return float(self.placed.medians[TIME])

    @property
    def compared_with(self) -> list[Placed]:
        """All placements that the breakdown was computed from, its own placement first."""
        ranks = self.equal_ranks
        parts = (self.placed, self.alone, self.apart, ranks.per_thread, ranks.per_core)
        return [part for part in parts if part is not None]

    def component(self, component: Component) -> TimeEstimate:
        """Seconds of a component."""
        return self._estimate(float(self.seconds[component]), self.draws[:, component])

    def share(self, component: Component) -> TimeEstimate:
        """A component as a share of the total."""
        return self._estimate(
            float(self.seconds[component]) / self.time,
            self.draws[:, component] / self.placed.draws[:, TIME],
        )

    def _estimate(self, value: float, draws: Floats) -> TimeEstimate:
        return TimeEstimate(value, interval_of(draws) if self.certain else None)


def interval_of(draws: Floats) -> Interval:
    """The 95% interval by percentiles of draws."""
    low, high = np.quantile(draws, _TAILS)
    return float(low), float(high)


def split(
    placed: Placed,
    alone: Placed | None,
    apart: Placed | None,
    machine: NodeModel = UNKNOWN,
    equal_ranks: EqualRanks | None = None,
) -> Split:
    """The time of a placement by its components (docs/methods/placement.md).

    ``alone``: one rank of one thread per node on as many nodes, the baseline of computing; it may
    be ``placed`` itself. ``apart``: one rank per node, for as many ranks as cores in use. Without
    either, all computing is ``compute``. ``equal_ranks``: from ``equal_ranks_of``. Raises
    ValueError if threads, or threads that share cores, have no such baseline.
    """
    equal_ranks = EqualRanks() if equal_ranks is None else equal_ranks
    missing = placed.threads > 1 and equal_ranks.per_thread is None
    if missing or (placed.shared and equal_ranks.per_core is None):
        raise ValueError(f"{placed.name}: threads need a baseline of ranks on the same cores")
    parts = [placed, alone, apart, equal_ranks.per_thread, equal_ranks.per_core]
    known = bool(np.isfinite(placed.medians[MOST])) or placed.ranks == 1
    return Split(
        placed=placed,
        alone=alone,
        apart=apart,
        equal_ranks=equal_ranks,
        seconds=_components(
            placed=placed,
            alone=alone,
            apart=apart,
            machine=machine,
            equal_ranks=equal_ranks,
            of=lambda part: part.medians,
        ),
        draws=_components(
            placed=placed,
            alone=alone,
            apart=apart,
            machine=machine,
            equal_ranks=equal_ranks,
            of=lambda part: part.draws,
        ),
        certain=all(part.certain for part in parts if part is not None),
        imbalance_known=known,
        messages_separable=min(placed.nodes, placed.ppn) == 1
        or None not in (machine.near, machine.far),
    )


def _components(
    placed: Placed,
    alone: Placed | None,
    apart: Placed | None,
    machine: NodeModel,
    equal_ranks: EqualRanks,
    of: Callable[[Placed], Floats],
) -> Floats:
    times = of(placed)
    computing = computing_of(placed, times)
    waited = times[..., WAITED] if placed.ranks > 1 else np.zeros_like(computing)

    def at(other: Placed | None, without: Floats) -> Floats:
        """Computing as at another placement, scaled only by the work."""
        if other is None:
            return without
        return computing_of(other, of(other)) * expected(placed, other)

    most = np.where(np.isfinite(times[..., MOST]), times[..., MOST], computing)
    imbalance = np.clip(most - computing, 0.0, waited)
    messages = waited - imbalance
    near = share_within(placed, machine)

    # Computing of ranks with one thread: on the same hardware threads, and one per core.
    per_thread = at(equal_ranks.per_thread, computing)
    per_core = at(equal_ranks.per_core, per_thread)
    threads = computing - per_thread
    base = at(alone, per_core)
    piece = at(apart, base)
    # Smaller pieces fit into caches, or need more work on their edges. Threads that are faster than
    # ranks share data; each rank has its own copy.
    larger, saved = np.maximum(piece - base, 0.0), np.minimum(piece - base, 0.0)
    grown = per_core - piece
    saved = saved + np.minimum(grown, 0.0) + np.minimum(threads, 0.0)
    grown = np.maximum(grown, 0.0)
    # Work without memory traffic has no memory contention; nor has the only used core of a node.
    alone_there = placed.demand.traffic == 0 or placed.cores == 1
    ranks_alone = equal_ranks.per_core or equal_ranks.per_thread or placed
    bound = 1.0 if alone_there else machine.worst_slowdown(ranks_alone)
    contention = grown if bound is None else np.minimum(grown, (bound - 1.0) * piece)
    found = [
        base + larger,
        contention,
        saved,
        per_thread - per_core,
        np.maximum(threads, 0.0),
        imbalance,
        near * messages,
        (1.0 - near) * messages,
        np.zeros_like(computing),
    ]
    found[UNEXPLAINED] = times[..., TIME] - np.sum(found, axis=0)
    return np.stack(found, axis=-1)


@dataclass(frozen=True, eq=False)
class Loss:
    """The time of a placement beyond a multiple of another's time, by component."""

    split: Split
    against: Split
    #: Loss relative to the placement's own measured time; the components add up to ``whole``.
    #: ``draws``: one row per draw.
    shares: Floats
    draws: Floats
    certain: bool

    @property
    def whole(self) -> TimeEstimate:
        """The share of the time that is lost."""
        draws = self.draws.sum(axis=1)
        return TimeEstimate(float(self.shares.sum()), interval_of(draws) if self.certain else None)

    def share(self, component: Component) -> TimeEstimate:
        """A component's part of the loss, as a share of the placement's time."""
        value = float(self.shares[component])
        return TimeEstimate(value, interval_of(self.draws[:, component]) if self.certain else None)

    def cause_share(self, component: Component) -> TimeEstimate:
        """A cause's part of the loss as a share of the placement's time. ``MESSAGES`` is a cause,
        too."""
        if component is not MESSAGES:
            return self.share(component)
        draws = self.draws[:, WITHIN] + self.draws[:, BETWEEN]
        value = float(self.shares[WITHIN] + self.shares[BETWEEN])
        return TimeEstimate(value, interval_of(draws) if self.certain else None)

    def leading(self, least: float) -> Component | None:
        """The component whose loss is significantly greater than ``least`` and than any other.

        All messages count as one component. It is ``MESSAGES`` if neither messages within nodes nor
        messages between nodes prevail, or if this is unknown. None if no component is significantly
        the largest, or if the largest is the unexplained one.
        """
        if not self.certain:
            return None
        names = [one for one in COMPONENTS if one not in (WITHIN, BETWEEN)]
        names.append(MESSAGES)
        within, between = float(self.shares[WITHIN]), float(self.shares[BETWEEN])
        shares = [*self.shares, within + between]
        draws = np.column_stack([self.draws, self.draws[:, WITHIN] + self.draws[:, BETWEEN]])
        first = max(names, key=lambda one: shares[one])
        if first is UNEXPLAINED or interval_of(draws[:, first])[0] <= least:
            return None
        others = [one.index for one in names if one is not first]
        ahead = draws[:, [first.index]] - draws[:, others]
        if float(np.quantile(ahead.min(axis=1), _TAILS[0])) <= 0:
            return None
        if first is not MESSAGES or not self.split.messages_separable:
            return first
        greater = WITHIN if within > between else BETWEEN
        return greater if shares[greater] >= _MOSTLY * shares[MESSAGES] else MESSAGES


def loss_by_cores(split: Split, against: Split) -> Loss:
    """The loss of a placement against another's time scaled by the number of cores."""
    placed, other = split.placed, against.placed
    return _beyond(split, against, other.nodes * other.cores / (placed.nodes * placed.cores))


def loss_by_time(split: Split, against: Split) -> Loss:
    """The loss of a placement against another's time, independent of the number of cores."""
    return _beyond(split, against, 1.0)


def _beyond(split: Split, against: Split, part: float) -> Loss:
    placed = split.placed

    def shares(of: Floats, its: Floats, time: Floats) -> Floats:
        return np.asarray((of - part * its) / time[..., None])

    return Loss(
        split,
        against,
        shares(split.seconds, against.seconds, placed.medians[TIME]),
        shares(split.draws, against.draws, placed.draws[:, TIME]),
        split.certain and against.certain,
    )
