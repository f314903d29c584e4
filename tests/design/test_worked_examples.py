"""The questions of the papers, answered by the designs in docs/design."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from assay.design.architecture import architectures
from assay.design.candidates import Builder
from assay.design.spec.reading import read_spec, spec_of
from assay.design.workload import times
from assay.subjects.design.findings import find
from assay.toml import parse_toml

DOCS = Path(__file__).parents[2] / "docs" / "design"


def designed(name: str):
    return find(read_spec(DOCS / f"{name}.toml"))


def test_seth_s_torus_is_faster_and_dearer_than_gigabit_ethernet():
    found = designed("torus-or-gigabit")
    torus, gigabit = found.best
    assert (torus.topology, gigabit.topology) == ("torus 6 × 5 × 4", "1 switch")
    assert torus.likely > 0.9
    assert torus.price == pytest.approx(500_000, rel=0.05)  # what the paper says it cost
    assert gigabit.price < 0.8 * torus.price
    # Published: 480.7. The coefficients were fitted without this cluster and its kin.
    assert torus.rates[0].rate == pytest.approx(480.7e9, rel=0.10)
    low, high = torus.rates[0].interval
    assert low < 480.7e9 < high


def test_the_grid_of_23_by_23_switches():
    found = designed("grid-of-switches")
    best = found.best[0]
    assert best.nodes in (528, 529)
    assert best.price == pytest.approx(1e6, rel=0.05)  # "approximately US$ 1 million"
    low, high = best.rates[0].interval
    assert low < 1.88e12 < high  # what the paper expected
    assert best.rates[0].rate == pytest.approx(1.88e12, rel=0.20)
    november = {place.date: place.rank for place in best.places}["2002-11"]
    assert 20 <= november <= 30  # the paper: 24th


def test_a_second_processor_is_worth_it_even_for_codes_bound_by_memory():
    found = designed("second-processor")
    assert "two Xeon" in found.best[0].name
    one = next(cluster for cluster in found.best if "one Xeon" in cluster.name)
    assert one.score < found.best[0].score


def test_the_interconnect_follows_from_the_grain(tmp_path):
    coarse = (DOCS / "bundle-by-grain.toml").read_text(encoding="utf-8")
    fine = coarse.replace("npb.ep.B", "npb.is.B")
    best = {}
    for name, text in (("coarse", coarse), ("fine", fine)):
        best[name] = find(spec_of(parse_toml(text, tmp_path / "spec.toml"))).best[0].name
    assert "Gigabit Ethernet" in best["coarse"]
    assert "Myrinet" in best["fine"]


def test_ratios_of_interconnects_have_the_published_order(tmp_path):
    # Pepper & Gupta (2005), figure 3: rate on Myrinet ÷ rate on Gigabit Ethernet, four nodes of one
    # process each: EP the same, CG "almost 50 percent", IS 1.75. The code is another one, so the
    # order is tested, and that IS's ratio is near.
    text = (DOCS / "bundle-by-grain.toml").read_text(encoding="utf-8")
    ratios = {}
    for workload in ("npb.ep.B", "npb.cg.B", "npb.is.B"):
        changed = text.replace("two Xeon", "one Xeon").replace("npb.ep.B", workload)
        spec = spec_of(parse_toml(changed, tmp_path / "spec.toml"))
        builder = Builder(spec)
        gigabit, myrinet = (
            float(times(workload, builder.machines(one, np.array([4]), workload)).rate[0])
            for one in architectures(spec)
        )
        ratios[workload] = myrinet / gigabit
    assert ratios["npb.ep.B"] == pytest.approx(1.0, abs=0.01)
    assert 1.05 < ratios["npb.cg.B"] < ratios["npb.is.B"]
    assert 1.3 < ratios["npb.is.B"] < 2.2


@pytest.mark.long
def test_the_jobs_of_seth_on_its_own_nodes_and_on_later_ones(tmp_path):
    found = designed("job-mix")
    assert found.best[0].name == "two Xeon 3.6 GHz, Gigabit Ethernet"
    # Seth's own 120 nodes: their 240 processors, of which the paper's users kept over 90% busy.
    text = (DOCS / "job-mix.toml").read_text(encoding="utf-8").replace("[1, 400]", "[120, 120]")
    (tmp_path / "seth-jobs.json").write_bytes((DOCS / "seth-jobs.json").read_bytes())
    own = find(spec_of(parse_toml(text, tmp_path / "own.toml")))
    rate = next(one for one in own.best if one.name == "dual Athlon MP2000+, Gigabit Ethernet")
    assert 0.9 < rate.rates[0].rate / 240 < 1.0
    assert rate.rates[0].unit == "processors"
