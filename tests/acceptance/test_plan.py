"""Plans: the launches that they name hold the risks, and earlier runs give the variation."""

from __future__ import annotations

from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest

from acceptance_runs import contract, filed_run, normal_times
from assay.acceptance.boundaries import decision_chances, looks_of, required_counts
from assay.acceptance.contract import PromisedRange
from assay.acceptance.decision import Dependence, decide
from assay.acceptance.measured import items_of, read_measured
from assay.acceptance.plan import AcceptancePlan, launches_needed, plan_of
from assay.hostnames import expand_hosts
from records_builder import make_cell

LATENCY = '[[commitment]]\ncells = "network.pingpong"\nat_most = "2 us"\n'


def planned(text: str) -> AcceptancePlan:
    agreed = contract(text)
    return plan_of(agreed, items_of(agreed, []))


@pytest.mark.parametrize("variation", [0.004, 0.01, 0.02])
def test_the_planned_launches_decide_simulated_machines(variation: float) -> None:
    found = launches_needed(variation, 0.02, 0.05, 0.05, 0.05)
    assert found is not None
    rng = np.random.default_rng(1)
    outcomes: dict[float, list[str]] = {100.0: [], 98.0: []}
    used = []
    for median, seen in outcomes.items():
        for _ in range(400):
            values = median * np.exp(variation * rng.standard_normal(found[0]))
            decision = decide(
                values=values,
                limits=PromisedRange(100.0, None),
                margin=0.02,
                dependence=lambda size: Dependence(9.0, 0.0),
                supplier=0.05,
                buyer=0.05,
                launches=found[0],
            )
            seen.append(decision.outcome)
            if median == 100.0:
                used.append(decision.used)
    assert outcomes[100.0].count("accepted") >= 0.92 * 400
    assert outcomes[98.0].count("rejected") >= 0.92 * 400
    assert np.mean(used) == pytest.approx(found[1], rel=0.1)


def test_fewer_launches_would_not_hold_the_risks() -> None:
    found = launches_needed(0.01, 0.02, 0.05, 0.05, 0.05)
    assert found is not None
    apart = NormalDist().cdf(2.02)
    for most in range(6, found[0] - 2):
        needs = required_counts(looks_of(most), 0.05)
        good = decision_chances(looks_of(most), needs, needs, 1 - apart, apart - 0.5)
        if good[1] >= 0.95:
            pytest.fail(f"{most} launches accept it")


def test_a_variation_that_hides_the_margin_says_what_it_would_take() -> None:
    found = planned(f'{LATENCY}margin = "1%"\nvariation = "30%"')
    (each,) = found.commitments
    assert each.launches is None
    assert not found.decidable
    assert "1,000 launches can't find 1.0% with a variation of 30.00%" in each.sentence
    assert launches_needed(0.30, 0.5, 0.05, 0.05, 0.05) is not None


def test_more_launches_than_the_contract_allows_are_not_decidable() -> None:
    found = planned(f'[risks]\nlaunches = 12\n{LATENCY}variation = "2%"')
    assert not found.decidable
    assert "The contract allows 12" in found.commitments[0].sentence


def test_the_source_of_the_variation_is_said() -> None:
    assert planned(LATENCY).commitments[0].source == "assumed"
    stated = planned(f'{LATENCY}variation = "3%"').commitments[0]
    assert (stated.source, stated.variation) == ("assumed in the contract", 0.03)


def test_an_earlier_run_gives_variation_and_time(tmp_path: Path) -> None:
    cell = make_cell("network.pingpong", bytes=8)
    run = filed_run(tmp_path, [(cell, normal_times(1, 1e-3, cov=0.01))])
    agreed = contract(f'{LATENCY}variation = "30%"')
    found = plan_of(agreed, items_of(agreed, read_measured(tmp_path, [run.name])))
    (each,) = found.commitments
    assert each.variation == pytest.approx(0.01, rel=0.3)
    assert each.source == "measured, 30 launches"
    assert each.launches is not None
    assert each.seconds == pytest.approx(each.launches * 3e-3, rel=0.1)
    assert each.node_hours == pytest.approx((each.seconds or 0.0) / 3600)


def test_the_sampled_nodes_are_named_and_the_same_for_both_sides() -> None:
    text = f'[machine]\nhosts = "n[1-400]"\n{LATENCY}per = "node"\nshare = "98%"'
    (each,) = planned(text).commitments
    assert each.nodes == 134
    hosts = expand_hosts(each.sample)
    assert len(set(hosts)) == 134
    assert set(hosts) <= set(expand_hosts("n[1-400]"))
    assert planned(text).commitments[0].sample == each.sample
    assert planned(f"{text}\nweight = 2").commitments[0].sample != each.sample
    assert "with 95% confidence at most 2.0% of the 400 nodes are worse" in each.sentence


def test_all_nodes_are_measured_if_each_must_meet_it() -> None:
    (each,) = planned(f'[machine]\nhosts = "n[1-9]"\n{LATENCY}per = "node"').commitments
    assert (each.nodes, each.sample, each.sentence) == (9, "", "All nodes must be measured.")
