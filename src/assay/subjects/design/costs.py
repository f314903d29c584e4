"""The costs of a cluster's use, and how much of its price rests on assumptions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.design.costs.ownership import Ownership
from assay.subjects.design.model import BillLine, CostLine
from assay.units import format_limit, format_quantity


def cost_lines(costs: Ownership, price: float, power: float) -> list[CostLine]:
    """The costs of a cluster with this price and full power (W). They add up."""
    energy = float(costs.energy_per_year(np.array(power)))
    mean = power * (costs.idle + (1.0 - costs.idle) * costs.load)
    load = f"load {format_limit(costs.load)}"
    if costs.load_source != "stated":
        load += " by the accounts"
    used = (
        f"{format_quantity(mean, 'W')} on average ({load}, idle {format_limit(costs.idle)} of "
        f"{format_quantity(power, 'W')}), PUE {costs.pue:g}, {costs.energy.value:g} per kWh"
    )
    kept = f"{format_limit(costs.maintenance)} of the purchase"
    lines = [
        _line(costs, "energy", energy, costs.energy.kind, used),
        _line(costs, "maintenance", costs.maintenance * price, "stated", kept),
        _line(costs, "staff", costs.staff.value, costs.staff.kind, ""),
    ]
    return [line for line in lines if line.per_year > 0.0]


def assumed_share(bill: Sequence[BillLine]) -> float:
    """The share of the price that rests on assumed figures."""
    whole = sum(line.number * line.price for line in bill)
    assumed = sum(line.number * line.price for line in bill if line.kind == "assumed")
    return assumed / whole if whole else 0.0


def _line(costs: Ownership, what: str, per_year: float, kind: str, note: str) -> CostLine:
    return CostLine(what, per_year, costs.worth * per_year, kind, note)
