"""Two lots and renting, against brute force and hand-made sums."""

from __future__ import annotations

import numpy as np
import pytest

from assay.design.alternatives.cloud import break_even
from assay.design.alternatives.lots import lot_plans
from assay.design.architecture import architectures
from assay.design.candidates import Builder, PriceFactors
from assay.design.costs.ownership import HOURS_PER_YEAR
from assay.subjects.design.answer import answer
from assay.subjects.design.answer import break_even as break_even_text
from assay.subjects.design.findings import find
from assay.subjects.design.model import RentedNodes
from design_specs import BOTH, PARTS, SPEC, read

LARGE = '[choose]\nnodes = ["large"]\nmemory = []\ndisks = []\ninterconnects = ["ethernet"]\n'
LATER = '[later]\nafter = 1\nyears = 4\nprices = "-20%"\nrates = "+25%"\n'
COSTS = (
    '[costs]\nyears = 5\nenergy = 0.2\npue = 1.4\nload = "70%"\nmaintenance = "5%"\nstaff = 500\n'
)


def prices(spec, server: float) -> dict[int, float]:
    builder, (one,) = Builder(spec), architectures(spec)
    nodes = np.arange(1, 41)
    bill = builder.bill(one, nodes, PriceFactors.as_quoted())
    return dict(zip(nodes.tolist(), (bill.price - 3000 + server).tolist(), strict=True))


def test_divisions_of_the_budget_are_those_of_brute_force(tmp_path):
    spec = read(tmp_path, SPEC + LARGE + LATER, PARTS)
    whole, extending = prices(spec, 3000), prices(spec, 0)
    all_now = max(nodes for nodes, price in whole.items() if price <= 40_000)
    plans = lot_plans(spec, spec.later, Builder(spec))
    assert [plan.share for plan in plans] == pytest.approx([1 - part / 10 for part in range(11)])
    for plan in plans:
        now = max((n for n, p in whole.items() if p <= plan.share * 40_000), default=0)
        rest = (1 - plan.share) * 40_000 + 1e-6
        others = extending if now else whole
        then = max((n for n, p in others.items() if 0.8 * p <= rest), default=0)
        assert plan.work == pytest.approx((4 * now + 3 * 1.25 * then) / (4 * all_now))
        assert plan.end == pytest.approx((now + 1.25 * then) / all_now)


def test_without_changes_of_prices_and_rates_waiting_never_does_more(tmp_path):
    spec = read(tmp_path, SPEC + LARGE + "[later]\nafter = 1\nyears = 4\n", PARTS)
    plans = lot_plans(spec, spec.later, Builder(spec))
    assert plans[0].work == 1.0
    assert all(plan.work <= 1.0 for plan in plans)


def test_both_lots_together_keep_the_limit_of_power(tmp_path):
    text = SPEC.replace("budget = 40000", 'budget = 40000\npower = "4 kW"')
    plans = lot_plans(spec := read(tmp_path, text + LARGE + LATER), spec.later, Builder(spec))
    for plan in plans:
        nodes = [int(lot.split()[0]) for lot in (plan.first, plan.second) if lot]
        assert 350 * sum(nodes) <= 4000


def test_the_break_even_is_where_both_cost_the_same(tmp_path):
    costs = read(tmp_path, SPEC + COSTS).costs
    price, power, hour, month = (np.array(number) for number in (80_000.0, 5000.0, 6.0, 100.0))
    share = float(
        break_even(costs, price=price, power=power, energy=np.ones(1), hour=hour, month=month)[0]
    )
    mean = 5.0 * 1.4 * (0.4 + 0.6 * share)  # kW
    bought = 80_000 + 5 * (mean * HOURS_PER_YEAR * 0.2 + 0.05 * 80_000 + 500)
    rented = 5 * (share * HOURS_PER_YEAR * 6.0 + 12 * 100)
    assert 0 < share < 1
    assert bought == pytest.approx(rented)


def test_renting_for_less_than_the_energy_is_always_cheaper(tmp_path):
    costs = read(tmp_path, SPEC + COSTS).costs
    one, nothing = np.ones(1), np.zeros(1)
    power = np.array(5000.0)
    share = break_even(costs, price=one, power=power, energy=one, hour=0.1 * one, month=nothing)
    assert np.isinf(share[0])


def test_instances_are_as_many_as_the_rate_needs(tmp_path):
    """Rented nodes are large ones: 2 Gop/s each."""
    spec = read(tmp_path, SPEC.replace("[1, 40]", "[9, 9]") + LARGE + COSTS, BOTH)
    found = find(spec)
    (one,) = found.rented
    assert (one.number, one.hour) == (9, 4.5)
    assert one.interval[0] < one.break_even < one.interval[1]
    text = " ".join(answer(found).advice)
    assert "than renting 9 instances of rented above" in text


def test_more_instances_than_nodes_may_be_needed(tmp_path):
    """Rented nodes are half as fast as the bought ones, of which the specification allows 9."""
    parts = BOTH.replace('node = "large"\nnetwork', 'node = "small"\nnetwork')
    found = find(read(tmp_path, SPEC.replace("[1, 40]", "[9, 9]") + LARGE + COSTS, parts))
    assert found.rented[0].number == 18


@pytest.mark.parametrize(
    ("even", "interval", "text"),
    [
        (0.5, (0.4, 0.6), "50% [40, 60]"),
        (0.9, (0.7, 1.2), "90.0% [70.0%, above 100%]"),
        (1.4, (0.9, None), "above 100%"),
        (None, (None, None), "above 100%"),
    ],
)
def test_a_break_even_beyond_full_use_says_so(even, interval, text):
    one = RentedNodes(
        name="a", number=3, most=9, hour=1.0, break_even=even, interval=interval, buying=0.5,
        where="",
    )  # fmt: skip
    assert break_even_text(one) == text


def test_too_few_instances_are_named(tmp_path):
    spec = read(tmp_path, SPEC.replace("40000\nnodes = [1, 40]", "90000\nnodes = [35, 40]")
                + LARGE + COSTS, BOTH)  # fmt: skip
    found = find(spec)
    assert found.rented[0].number is None
    assert "rented can't replace this cluster: 30 instances are slower" in " ".join(
        answer(found).advice
    )


def test_without_costs_of_years_renting_is_not_compared(tmp_path):
    found = find(read(tmp_path, SPEC + LARGE, BOTH))
    assert found.rented == []
    assert "rented: not compared with buying" in " ".join(found.unknown)
