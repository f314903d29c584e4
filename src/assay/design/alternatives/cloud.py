"""Rented nodes instead of bought ones: the utilisation at which both cost the same."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from assay.arrays import Floats
from assay.design.architecture import Architecture
from assay.design.candidates import Builder, PriceFactors
from assay.design.costs.ownership import HOURS_PER_YEAR, Ownership
from assay.design.decision import Draws, drawn_rates, prices_of
from assay.design.parts.model import CloudInstance
from assay.design.search import combined, scores
from assay.design.spec.model import DesignSpec


@dataclass(frozen=True)
class Rental:
    """Instances that are at least as fast as a bought cluster."""

    instance: CloudInstance
    #: Number of instances.
    number: int
    #: Price of all instances per hour.
    hour: float
    #: Share of the time for which the bought cluster would have to be used so that both cost the
    #: same; above 1 if renting is always cheaper. ``interval``: its 95% interval.
    break_even: float
    interval: tuple[float, float]
    #: Probability that buying is cheaper at the load of ``[costs]``.
    buying: float


def rented(
    spec: DesignSpec,
    builder: Builder,
    costs: Ownership,
    one: Architecture,
    nodes: int,
) -> list[Rental | CloudInstance]:
    """For each chosen instance what replaces ``nodes`` nodes of an architecture.

    An instance alone: its maximum number is slower than the cluster.
    """
    found: list[Rental | CloudInstance] = []
    rate = float(scores(spec, builder, one, np.array([nodes]))[0])
    most = max((spec.catalogue.cloud[name].most for name in spec.cloud), default=1)
    renting = Builder(replace(spec, limits=replace(spec.limits, most=most)))
    for name in spec.cloud:
        instance = spec.catalogue.cloud[name]
        node = spec.catalogue.nodes[instance.node]
        network = spec.catalogue.interconnects[instance.network]
        like = Architecture(
            node=node, host=node, accelerator=None, kit=None, disk=None, network=network
        )
        counts = np.arange(1, instance.most + 1)
        counts = counts[renting.fabric(like).fits[counts]]
        enough = np.flatnonzero(scores(spec, renting, like, counts) >= rate)
        if not enough.size:
            found.append(instance)
            continue
        number = int(counts[enough[0]])
        found.append(
            _rental(
                spec,
                costs,
                bought=(builder, one, nodes),
                like=(renting, like, number),
                instance=instance,
            )
        )
    return found


def break_even(
    costs: Ownership, *, price: Floats, power: Floats, energy: Floats, hour: Floats, month: Floats
) -> Floats:
    """The utilisation at which buying and renting cost the same; infinite if renting never costs
    more.

    ``price``, ``power`` (W): of the bought cluster. ``energy``: factor on the price of a kWh.
    ``hour``, ``month``: prices of renting what replaces the whole cluster.
    """
    idle, busy = (costs.energy_per_year(power, load) * energy for load in (0.0, 1.0))
    fixed = price / costs.worth + idle + costs.maintenance * price + costs.staff.value
    per_use = HOURS_PER_YEAR * hour - (busy - idle)
    saved = np.maximum(fixed - 12.0 * month, 0.0)
    return np.where(per_use > 0.0, saved / np.where(per_use > 0.0, per_use, 1.0), np.inf)


def _rental(
    spec: DesignSpec,
    costs: Ownership,
    *,
    bought: tuple[Builder, Architecture, int],
    like: tuple[Builder, Architecture, int],
    instance: CloudInstance,
) -> Rental:
    draws = Draws(spec.draws, spec.seed)
    builder, one, nodes = bought
    number = like[2]

    def share(factors: PriceFactors, hours: Floats, months: Floats, slower: Floats) -> Floats:
        bill = builder.bill(one, np.array([nodes]), factors)
        month = 0.0 if instance.month is None else instance.month.value
        return break_even(
            costs,
            price=bill.price,
            power=bill.power,
            energy=factors.energy,
            hour=number * instance.hour.value * hours * slower,
            month=np.asarray(month * months),
        )

    def rate(of: tuple[Builder, Architecture, int], drawn: bool) -> Floats:
        if not drawn:
            return scores(spec, of[0], of[1], np.array([of[2]]))
        many = np.full(spec.draws, of[2])
        return combined(spec, drawn_rates(spec, of[0], of[1], many, draws))

    ones = np.ones(1)
    nominal = share(
        PriceFactors.as_quoted(), ones, ones, rate(bought, drawn=False) / rate(like, drawn=False)
    )
    hours = draws.of(instance.name, "hour", instance.hour)
    months = draws.of(instance.name, "month", instance.month) if instance.month else ones
    slower = rate(bought, drawn=True) / rate(like, drawn=True)
    shares = share(prices_of(one, draws, spec), hours, months, slower)
    low, high = np.quantile(shares, [0.025, 0.975], method="inverted_cdf")
    return Rental(
        instance=instance,
        number=number,
        hour=number * instance.hour.value,
        break_even=float(nominal[0]),
        interval=(float(low), float(high)),
        buying=float(np.mean(shares < costs.load)),
    )
