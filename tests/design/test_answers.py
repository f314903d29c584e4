"""What the answer says of costs, of choices that were none, of assumed prices, and of chances."""

from __future__ import annotations

import re

import pytest

from assay.subjects.design.answer import answer
from assay.subjects.design.findings import find
from assay.subjects.design.tables import tables
from assay.units import format_chance
from design_specs import PARTS, SPEC, read

PROGRAM = """
[[program]]
name = "model"
ranks = 32
node = "small"
computing = "100 s"
messages = {messages}
bytes = "{bytes}"
"""


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (3.47e-19, "< 0.1%"),
        (0.0, "< 0.1%"),
        (0.001, "0.1%"),
        (0.8034, "80.3%"),
        (0.9995, "> 99.9%"),
        (1.0, "> 99.9%"),
        (1.5, "150.0%"),
    ],
)
def test_a_chance_has_the_digits_that_draws_support(share, text):
    assert format_chance(share) == text


def test_one_architecture_is_no_choice(tmp_path):
    one = '[choose]\nnodes = ["large"]\ninterconnects = ["ethernet"]\n'
    found = find(read(tmp_path, SPEC + one))
    said = answer(found)
    assert found.best[0].likely is None
    assert "no choice was made: the specification allows one architecture only" in said.verdict
    assert said.confidence == "medium"
    assert "%" not in said.verdict.rpartition(";")[2]


def test_one_architecture_that_meets_the_limits_is_no_choice(tmp_path):
    text = SPEC.replace("budget = 40000", 'budget = 40000\nmemory_per_rank = "5 GiB"')
    parts = PARTS.replace('memory = "32 GiB"', 'memory = "64 GiB"', 1)
    said = answer(find(read(tmp_path, text + '[choose]\ninterconnects = ["torus"]\n', parts)))
    assert "of 2 architectures, this one alone meets the limits" in said.verdict


def test_a_price_that_is_assumed_gives_low_confidence(tmp_path):
    quoted = answer(find(read(tmp_path)))
    assert quoted.confidence in ("high", "medium")
    assumed = answer(find(read(tmp_path, parts=PARTS.replace('"quoted"', '"assumed"'))))
    assert assumed.confidence == "low"
    assert "100% of the price is assumed" in assumed.confidence_why


def test_no_share_of_draws_is_shown_with_more_digits_than_it_has(tmp_path):
    """Every share in tables and texts is at least 0.1%, or said to be below."""
    said = find(read(tmp_path, parts=PARTS.replace('integer = "1 Gop/s"', 'integer = "0.1 Gop/s"')))
    shown = [entry.text for table in tables(said) for row in table.rows for entry in row]
    shown += [answer(said).verdict, answer(said).confidence_why, *answer(said).advice]
    assert not [text for text in shown if re.search(r"\d\.0\d{3,}%", text)]
    assert any(text == "< 0.1%" for text in shown)


def test_the_verdict_states_purchase_year_and_total(tmp_path):
    costs = '[costs]\nyears = 5\nenergy = 0.2\npue = 1.4\nload = "70%"\n'
    found = find(read(tmp_path, SPEC + costs))
    best = found.best[0]
    said = answer(found)
    assert (
        f"{best.price:,.0f} USD to buy and {best.yearly:,.0f} USD per year, "
        f"{best.total:,.0f} USD in 5 years" in said.verdict
    )
    assert "contain no maintenance" in " ".join(said.caveats)
    (table,) = (one for one in tables(found) if one.id == "design-costs")
    assert [row[0].text for row in table.rows] == ["purchase", "energy", "together"]


def needs(tmp_path, messages: float, size: str):
    text = SPEC.replace("integer", '"program.model"')
    found = find(read(tmp_path, text + PROGRAM.format(messages=messages, bytes=size)))
    return found, {network.name: network for network in found.needs[0].networks}


def test_a_program_of_many_messages_pays_for_the_low_latency(tmp_path):
    """100 s with a million messages: 5 µs each cost 5%; ethernet has 30 µs, the torus 4 µs."""
    found, networks = needs(tmp_path, 1e6, "1 MB")
    need = found.needs[0]
    assert need.latency == pytest.approx(5e-6)
    assert need.between == pytest.approx(1e-4)
    assert (networks["ethernet"].meets, networks["torus"].meets) == (False, True)
    assert networks["ethernet"].share > networks["torus"].share
    advice = " ".join(answer(found).advice)
    assert "needs a latency up to 5.00 µs" in advice
    assert "of the networks here, torus meets this" in advice
    # With three times as many, the best cluster with the torus is the faster one.
    _, networks = needs(tmp_path, 3e6, "1 MB")
    assert networks["torus"].rate == 1.0 > networks["ethernet"].rate


def test_a_program_of_few_messages_pays_for_no_faster_network(tmp_path):
    found, networks = needs(tmp_path, 100, "1 MB")
    assert networks["ethernet"].meets
    assert networks["torus"].meets
    assert found.needs[0].grain > 100
    assert "ethernet, torus meet this" in " ".join(answer(found).advice)


def test_a_program_within_a_node_needs_no_network(tmp_path):
    text = SPEC.replace("integer", '"program.model"')
    program = PROGRAM.format(messages=1e6, bytes="1 GB").replace("ranks = 32", "ranks = 4")
    said = answer(find(read(tmp_path, text + program)))
    assert "program.model sends nothing between nodes" in " ".join(said.advice)
