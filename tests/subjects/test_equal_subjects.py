"""Subjects state no direction where draws or ranges don't show one."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from assay.subjects.simulation.answer import answer as simulation_answer
from assay.subjects.simulation.findings import mean_interval
from assay.subjects.simulation.model import SIMULATION_SCHEMA, SimulationFindings
from equal_answers import directions_of

RUNS, DRAWS = 200, 10


def simulated(random: np.random.Generator, effect: float, spread: float) -> SimulationFindings:
    """Draws around the time with steady nodes, times the effect."""
    drawn = 100.0 * effect * (1.0 + spread * random.standard_normal(DRAWS))
    low, high = np.quantile(drawn, (0.025, 0.975))
    return SimulationFindings(
        schema=SIMULATION_SCHEMA,
        utc=1.79e9,
        program="npb.cg.A",
        cluster="Planted",
        file="cluster.toml",
        topology="fat tree",
        ranks=8,
        nodes=4,
        per_node=2,
        recorded=None,
        simulator="SimGrid 3.35",
        simulated=100.0,
        interval=(float(low), float(high)),
        mean=float(drawn.mean()),
        mean_ci95=mean_interval(drawn),
        draws=DRAWS,
        seed=1,
        closed_form=None,
        computing=None,
        factor=1.0,
        left_out=[],
        unknown=[],
    )


def test_draws_around_the_steady_time_have_no_direction() -> None:
    answers = [
        simulation_answer(simulated(np.random.default_rng(seed), 1.0, 0.05)) for seed in range(RUNS)
    ]
    assert [words for each in answers if (words := directions_of(each))] == []
    undecided = [text for each in answers for text in each.caveats if "not distinguishable" in text]
    # The mean of ten draws is more than 1% above the steady time in a quarter of the runs.
    assert 20 < len(undecided) < 90
    assert all(re.search(r"\((0\.9\d|1\.00) to 1\.\d+ times\)", text) for text in undecided)


def test_variability_that_costs_time_is_stated_with_its_interval() -> None:
    found = simulated(np.random.default_rng(1), 1.2, 0.02)
    (caveat,) = simulation_answer(found).caveats
    assert re.search(r"takes 1\.2\d?× \[1\.1\d+, 1\.2\d+\] as long on average", caveat)
    # A single draw has no interval, and its mean no direction.
    alone = replace(found, draws=1, mean_ci95=None)
    assert "too few launches for an interval" in simulation_answer(alone).caveats[0]
