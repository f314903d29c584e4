"""PriceFactors, limits and the best cluster against sums by hand and brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest

from assay.design.architecture import architectures
from assay.design.candidates import Builder, PriceFactors
from assay.design.search import search
from assay.errors import AssayError
from assay.subjects.design.bill import bill_of
from design_specs import SPEC, read


def price(node: int, adapter: int, bought: int, count: int, switches: int, cables: int, racks: int,
          units: int) -> float:  # fmt: skip
    network = adapter * bought + 400 * switches + 10 * cables
    around = 500 * racks + 100 * units + 20 * count + 50 * bought + 3000
    return node * bought + network + around


def by_name(spec):
    return {one.name: one for one in architectures(spec)}


def bill(spec, name: str, count: int):
    return Builder(spec).bill(by_name(spec)[name], np.array([count]), PriceFactors.as_quoted())


def test_a_price_is_the_sum_of_its_parts(tmp_path):
    spec = read(tmp_path)
    # 10 small nodes: 3 leaves of 4 down and 4 up, 2 spines; 10 + 12 cables; one rack; 2.3 kW
    found = bill(spec, "small, ethernet", 10)
    assert found.price[0] == price(1000, 50, 10, 10, 5, 22, 1, 1)
    assert found.power[0] == 10 * 205 + 5 * 50
    # large nodes have the adapter on board
    assert bill(spec, "large, ethernet", 4).price[0] == price(1900, 0, 4, 4, 1, 4, 1, 1)
    # 12 of 350 W draw more than one unit of 4 kW carries, and 24 units of height two racks
    assert bill(spec, "large, torus", 12).price[0] == price(1900, 300, 12, 12, 0, 24, 2, 2)


def test_spares_are_bought_and_not_used(tmp_path):
    spec = read(tmp_path, SPEC + '[choose]\nspares = "15%"\n')
    found = bill(spec, "large, ethernet", 4)
    assert found.price[0] == price(1900, 0, 5, 4, 1, 4, 1, 1)
    assert found.power[0] == 4 * 350 + 50


def test_a_small_share_of_few_nodes_buys_no_spare(tmp_path):
    spec = read(tmp_path, SPEC + '[choose]\nspares = "2%"\n')
    counts = np.array([1.0, 2.0, 24.0, 25.0, 40.0, 75.0])
    assert spec.bought(counts).tolist() == [1.0, 2.0, 24.0, 26.0, 41.0, 77.0]


@pytest.mark.parametrize("spares", ["0%", "3%"])
def test_lines_of_the_bill_add_up(tmp_path, spares):
    spec = read(tmp_path, SPEC + f'[choose]\nspares = "{spares}"\n')
    builder = Builder(spec)
    for one in architectures(spec):
        for nodes in (1, 2, 7, 30):
            whole = builder.bill(one, np.array([nodes]), PriceFactors.as_quoted()).price[0]
            lines = bill_of(spec, builder, one, nodes)
            assert sum(line.number * line.price for line in lines) == pytest.approx(whole)


LIMITS = [
    "budget = 40000",
    'budget = 40000\npower = "3 kW"',
    "budget = 90000\nfloor = 1.5",
    'budget = 90000\nracks = 2\nmemory = "200 GiB"',
    'power = "9 kW"\nmemory_per_rank = "4 GiB"',
]


@pytest.mark.parametrize("limits", LIMITS)
def test_the_search_equals_brute_force(tmp_path, limits):
    spec = read(tmp_path, SPEC.replace("budget = 40000", limits))
    builder = Builder(spec)
    found = search(spec, builder)
    expected = set()
    for index, one in enumerate(architectures(spec)):
        for nodes in range(1, 41):
            costs = builder.bill(one, np.array([nodes]), PriceFactors.as_quoted())
            fits = (
                costs.price[0] <= spec.limits.budget
                and costs.power[0] <= spec.limits.power
                and costs.floor[0] <= spec.limits.floor
                and costs.racks[0] <= spec.limits.racks
                and nodes * one.memory >= spec.limits.memory
                and one.memory / one.node.cores >= spec.limits.memory_per_rank
                and builder.fabric(one).fits[nodes]
            )
            if fits:
                rate = nodes * one.node.rates["integer"].value
                expected.add((index, nodes, round(float(costs.price[0]), 6), rate))
    assert expected
    columns = zip(found.architecture, found.count, found.price, found.score, strict=True)
    seen = {(int(a), int(n), round(float(p), 6), round(float(s), 3)) for a, n, p, s in columns}
    assert seen == {(a, n, p, round(s, 3)) for a, n, p, s in expected}
    assert found.considered == 4 * 40
    best = max(expected, key=lambda row: row[3])
    assert float(np.max(found.score)) == pytest.approx(best[3])


def test_what_a_tenth_more_money_buys(tmp_path):
    spec = read(tmp_path)
    richer = read(tmp_path, SPEC.replace("40000", "44000"))
    assert search(spec, Builder(spec)).richer == pytest.approx(
        float(np.max(search(richer, Builder(richer)).score))
    )


def test_an_impossible_budget_is_one_sentence(tmp_path):
    spec = read(tmp_path, SPEC.replace("40000", "1000"))
    with pytest.raises(AssayError) as raised:
        search(spec, Builder(spec))
    cheapest = price(1000, 50, 1, 1, 0, 0, 1, 1)
    assert (
        "'budget' excludes 160 of 160; the cheapest cluster with 1 node costs "
        f"{math.ceil(cheapest):,}" in raised.value.what
    )
    assert raised.value.where.endswith("cluster.toml:4")


def test_a_missing_rate_names_the_node(tmp_path):
    spec = read(tmp_path, SPEC.replace("integer = 1", '"npb.ep.A" = 1'))
    with pytest.raises(AssayError, match=r"'small' has no rate for 'npb\.ep\.A'") as raised:
        search(spec, Builder(spec))
    assert "parts.toml:" in raised.value.where


def test_a_misspelt_rate_is_named_where_it_stands(tmp_path):
    spec = read(tmp_path, SPEC.replace("integer = 1", "integr = 1"))
    with pytest.raises(AssayError, match="No node has a rate 'integr'") as raised:
        search(spec, Builder(spec))
    assert raised.value.where.endswith("cluster.toml:7")
    assert "integer" in raised.value.fix
