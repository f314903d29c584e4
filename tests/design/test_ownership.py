"""Costs of years: sums by hand, limits, loads from accounts."""

from __future__ import annotations

import json

import numpy as np
import pytest

from assay.design.architecture import architectures
from assay.design.candidates import Builder, PriceFactors
from assay.design.costs.ownership import HOURS_PER_YEAR
from assay.design.search import search
from assay.errors import AssayError
from assay.subjects.design.findings import find
from design_specs import SPEC, read
from usage_logs import SWF

COSTS = """
[costs]
years = 4
energy = 0.3
pue = 1.5
load = "50%"
idle = "40%"
maintenance = "5%"
staff = 1000
"""


def test_costs_are_the_sum_of_energy_maintenance_and_staff(tmp_path):
    found = find(read(tmp_path, SPEC + COSTS))
    best = found.best[0]
    energy = best.power * 1.5 * (0.4 + 0.6 * 0.5) / 1000 * HOURS_PER_YEAR * 0.3
    assert [line.what for line in best.costs] == ["energy", "maintenance", "staff"]
    assert [line.per_year for line in best.costs] == pytest.approx(
        [energy, 0.05 * best.price, 1000]
    )
    assert best.yearly == pytest.approx(energy + 0.05 * best.price + 1000)
    assert best.total == pytest.approx(best.price + 4 * best.yearly)
    assert sum(line.whole for line in best.costs) + best.price == pytest.approx(best.total)


def test_a_discount_counts_each_year_from_its_middle(tmp_path):
    plain = find(read(tmp_path, SPEC + COSTS)).best[0]
    later = find(read(tmp_path, SPEC + COSTS + 'discount = "10%"\n')).best[0]
    worth = sum(1.1 ** -(year + 0.5) for year in range(4))
    assert later.total == pytest.approx(plain.price + worth * plain.yearly)


def test_part_of_a_year_costs_its_part(tmp_path):
    best = find(read(tmp_path, SPEC + COSTS.replace("years = 4", "years = 2.5"))).best[0]
    assert best.total == pytest.approx(best.price + 2.5 * best.yearly)


def test_a_limit_of_the_total_cost_is_met_by_all_and_only_by_all(tmp_path):
    text = SPEC.replace("budget = 40000", "total_cost = 60000") + COSTS
    spec = read(tmp_path, text)
    builder = Builder(spec)
    found = search(spec, builder)
    expected = {
        (index, nodes)
        for index, one in enumerate(architectures(spec))
        for nodes in range(1, 41)
        if builder.bill(one, np.array([nodes]), PriceFactors.as_quoted()).total[0] <= 60_000
        and builder.fabric(one).fits[nodes]
    }
    assert {*zip(found.architecture.tolist(), found.count.tolist(), strict=True)} == expected
    assert 0 < len(expected) < 160


def test_the_objective_of_rate_per_cost_is_the_best_quotient(tmp_path):
    spec = read(tmp_path, 'objective = "rate per cost"\n' + SPEC + COSTS)
    found = find(spec)
    builder = Builder(spec)
    quotients = [
        nodes * one.node.rates["integer"].value / bill.total[0]
        for one in architectures(spec)
        for nodes in range(1, 41)
        if (bill := builder.bill(one, np.array([nodes]), PriceFactors.as_quoted())).price[0]
        <= 40_000
        and builder.fabric(one).fits[nodes]
    ]
    best = found.best[0]
    assert best.score == 1.0
    assert best.rates[0].rate / best.total == pytest.approx(max(quotients))


@pytest.mark.parametrize("kind", ["json", "log"])
def test_the_load_comes_from_accounts(tmp_path, kind):
    if kind == "json":
        text = json.dumps({"sizes": [], "run": {}, "utilisation": {"value": 0.62}})
        (tmp_path / "accounts").write_text(text, encoding="utf-8")
    else:
        (tmp_path / "accounts").write_text(SWF, encoding="utf-8")
    costs = COSTS.replace('load = "50%"', 'accounts = "accounts"')
    load = read(tmp_path, SPEC + costs).costs.load
    assert load == pytest.approx(0.62) if kind == "json" else 0.0 < load < 1.0


def test_accounts_without_a_load_are_refused_where_they_are_named(tmp_path):
    text = json.dumps({"sizes": [], "run": {}, "utilisation": {"value": None}})
    (tmp_path / "accounts").write_text(text, encoding="utf-8")
    with pytest.raises(AssayError, match="don't say how busy") as raised:
        read(tmp_path, SPEC + COSTS.replace('load = "50%"', 'accounts = "accounts"'))
    assert raised.value.where.endswith("cluster.toml:13")


def test_dearer_energy_prefers_the_node_with_less_power(tmp_path):
    """Per rate, large nodes draw 175 W and small ones 200 W; small ones are cheaper to buy."""
    text = 'objective = "rate per cost"\n' + SPEC.replace("[1, 40]", "[8, 8]")
    best = {}
    for price in ("0.01", "40"):
        costs = COSTS.replace("energy = 0.3", f"energy = {price}")
        best[price] = find(read(tmp_path, text + costs)).best[0]
    watts = {price: one.power / one.rates[0].rate for price, one in best.items()}
    assert watts["40"] <= watts["0.01"]
    assert "large" in best["40"].name
