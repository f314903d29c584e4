"""Probabilities and the value of knowing a figure, against their analytic values."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest

from assay.design.architecture import architectures
from assay.design.candidates import Builder
from assay.design.decision import EQUAL, Draws, decide, drawn_rates
from assay.design.search import search
from design_specs import PARTS, SPEC, read

ONE = SPEC + '[choose]\nnodes = ["small"]\n[search]\ndraws = 20000\n'
FREE = SPEC.replace("budget = 40000\n", "").replace("[1, 40]", "[4, 4]")
PAIR = FREE + '[choose]\ninterconnects = ["ethernet"]\n[search]\ndraws = 20000\n'


def decided(spec):
    builder = Builder(spec)
    found = search(spec, builder)
    best = {}
    for index in range(len(found.architectures)):
        at = np.flatnonzero(found.architecture == index)
        if len(at):
            top = at[np.argmax(found.score[at])]
            best[index] = (int(found.count[top]), float(found.score[top]))
    return decide(spec, builder, found.architectures, best)


def rivals(tmp_path, first: str, second: str, spread: str):
    """Two nodes with these rates, each with this uncertainty; no other figure counts."""
    parts = PARTS.replace(
        'integer = "1 Gop/s"', f'integer = {{ value = "{first}", uncertainty = "{spread}" }}'
    ).replace(
        'integer = "2 Gop/s"', f'integer = {{ value = "{second}", uncertainty = "{spread}" }}'
    )
    return read(tmp_path, PAIR, parts)


def difference(spec) -> float:
    """Standard deviation of the logarithm of the ratio of the two rates."""
    one, other = (spec.catalogue.nodes[name] for name in ("small", "large"))
    # The models' errors: half of each variance with the node, half with the shared interconnect.
    model = 0.03**2 / 2.0
    return math.sqrt(
        one.rates["integer"].spread ** 2 + other.rates["integer"].spread ** 2 + 2.0 * model
    )


def test_the_better_one_is_certain_where_nothing_is_uncertain(tmp_path):
    found = decided(rivals(tmp_path, "1 Gop/s", "1.5 Gop/s", "1%"))
    likely = dict(zip(found.architectures, found.likely, strict=True))
    assert likely[1] == 1.0
    assert likely[0] == 0.0


@pytest.mark.parametrize(("first", "second"), [(1.0, 1.0), (1.0, 1.05), (1.0, 1.2)])
def test_probabilities_are_the_analytic_ones(tmp_path, first, second):
    spec = rivals(tmp_path, f"{first} Gop/s", f"{second} Gop/s", "10%")
    found = decided(spec)
    ratio = NormalDist(math.log(first / second), difference(spec))
    likely = dict(zip(found.architectures, found.likely, strict=True))
    assert likely[0] == pytest.approx(1.0 - ratio.cdf(math.log(1.0 - EQUAL)), abs=0.012)
    assert likely[1] == pytest.approx(ratio.cdf(-math.log(1.0 - EQUAL)), abs=0.012)


def test_the_value_of_knowing_a_rate_is_the_analytic_one(tmp_path):
    spec = rivals(tmp_path, "1 Gop/s", "1.05 Gop/s", "20%")
    found = decided(spec)
    values = {(value.input.part, value.input.what): value for value in found.values}
    # E[max(x, 0)] − max(E[x], 0) of the difference's part that the input explains.
    mean, spread = math.log(1.05), spec.catalogue.nodes["small"].rates["integer"].spread
    normal = NormalDist()
    expected = spread * normal.pdf(mean / spread) - mean * normal.cdf(-mean / spread)
    known = values["small", "rate of integer"]
    assert known.gain == pytest.approx(math.expm1(expected), rel=0.12)
    assert known.changes == pytest.approx(normal.cdf(-mean / spread), abs=0.08)
    worthless = values["ethernet", "model of integer"]  # the same for both
    assert worthless.gain < 0.05 * known.gain


def test_a_price_counts_through_the_nodes_that_it_allows(tmp_path):
    parts = PARTS.replace("price = 1000\n", 'price = { value = 1000, uncertainty = "20%" }\n')
    spec = read(tmp_path, ONE, parts)
    found = decided(spec)
    best = found.architectures.index(0)
    nodes = np.exp(np.log(found.scores[best]))
    model = 0.03  # the model's own error is in the scores too
    spread = spec.catalogue.nodes["small"].price.spread
    # Three quarters of this cluster's price are its nodes'.
    observed = float(np.std(np.log(nodes)))
    assert observed > model
    share = math.sqrt(observed**2 - model**2) / spread
    assert 0.6 < share < 0.95


def test_a_figure_is_drawn_once_for_all_that_use_it(tmp_path):
    spec = read(tmp_path, SPEC)
    builder, draws = Builder(spec), Draws(500, 1)
    small = [one for one in architectures(spec) if one.node.name == "small"]
    count = np.full(500, 4)
    first, second = (drawn_rates(spec, builder, one, count, draws)["integer"] for one in small)
    again = drawn_rates(spec, builder, small[0], count, Draws(500, 1))["integer"]
    assert np.array_equal(first, again)
    assert np.corrcoef(np.log(first), np.log(second))[0, 1] > 0.8
