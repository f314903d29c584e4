"""Two lots: how much to buy now, and how much later at other prices and rates."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from assay.design.candidates import Builder
from assay.design.search import Candidates, search
from assay.design.spec.model import DesignSpec, LaterLot
from assay.units import counted

# Shares of the budget that are spent now.
_SHARES = tuple(part / 10 for part in range(10, -1, -1))


@dataclass(frozen=True)
class LotPlan:
    """A division of the budget. ``first``, ``second``: clusters; "" if nothing is bought."""

    #: Share of the budget for the first lot.
    share: float
    first: str
    second: str
    #: Work done until both lots go, relative to buying everything now.
    work: float
    #: Rate of both lots when they go, relative to buying everything now.
    end: float


def lot_plans(spec: DesignSpec, later: LaterLot, builder: Builder) -> list[LotPlan]:
    """What each division of the budget does, the whole budget now first.

    The lots work side by side, so their rates add up. The second lot extends the first, whose
    storage and servers it uses. Both together must meet the limit of power.
    """
    every = _candidates(spec, later, builder)
    whole = every.first.best(spec.limits.budget, math.inf)
    assert whole is not None, "the search has found a cluster within the budget"
    reference = float(every.first.found.rate[whole])
    plans = []
    for part in _SHARES:
        first = every.first.best(part * spec.limits.budget, math.inf)
        used = 0.0 if first is None else float(every.first.found.power[first])
        # Without a first lot, the second one is the whole cluster.
        others = every.first if first is None else every.second
        money = (1.0 - part) * spec.limits.budget / later.prices
        second = others.best(money, spec.limits.power - used)
        one = 0.0 if first is None else float(every.first.found.rate[first])
        two = 0.0 if second is None else later.rates * float(others.found.rate[second])
        work = one * later.years + two * (later.years - later.after)
        plans.append(
            LotPlan(
                share=part,
                first=every.first.name(first),
                second=others.name(second),
                work=work / (reference * later.years),
                end=(one + two) / reference,
            )
        )
    return plans


@dataclass(frozen=True)
class _Choice:
    """Candidates of one lot."""

    found: Candidates

    def best(self, money: float, power: float) -> int | None:
        """Row of the fastest cluster for this price and power; None if there is none."""
        fits = (self.found.price <= money * (1.0 + 1e-12)) & (self.found.power <= power)
        at = np.flatnonzero(fits)
        return int(at[np.argmax(self.found.rate[at])]) if at.size else None

    def name(self, row: int | None) -> str:
        """Number of nodes and name of the cluster in a row; "" for None."""
        if row is None:
            return ""
        one = self.found.architectures[self.found.architecture[row]]
        return f"{counted(int(self.found.count[row]), 'node')} of {one.name}"


@dataclass(frozen=True)
class _Choices:
    """Candidates of both lots: a whole cluster, or one that extends a cluster."""

    first: _Choice
    second: _Choice


def _candidates(spec: DesignSpec, later: LaterLot, builder: Builder) -> _Choices:
    limits = replace(
        spec.limits, budget=spec.limits.budget / min(later.prices, 1.0), total_cost=math.inf
    )
    whole = replace(spec, limits=limits)
    none = replace(spec.catalogue.room.server, value=0.0)
    room = replace(spec.catalogue.room, server=none)
    extending = replace(
        whole,
        limits=replace(limits, least=1, memory=0.0, accelerator_memory=0.0),
        require=replace(spec.require, capacity=0.0, bandwidth=0.0, inodes=0.0),
        storage=(),
        catalogue=replace(spec.catalogue, room=room),
    )
    second = Builder(extending)
    return _Choices(_Choice(search(whole, builder)), _Choice(search(extending, second)))
