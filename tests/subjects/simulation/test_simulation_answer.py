"""The answer of a simulation: signed differences, intervals with the model's error, confidence."""

from __future__ import annotations

from dataclasses import replace

import pytest

from assay.subjects.simulation.answer import answer
from assay.subjects.simulation.model import SIMULATION_SCHEMA, SimulationFindings

# npb.cg.A with 16 ranks on the example's torus: the closed form is longer.
CG = SimulationFindings(
    schema=SIMULATION_SCHEMA, utc=1.79e9, program="npb.cg.A", cluster="120 nodes in a torus",
    file="seth.toml", topology="torus", ranks=16, nodes=8, per_node=2, recorded=None,
    simulator="SimGrid 3.32", simulated=0.524, interval=(0.39, 0.70), mean=None, draws=0, seed=1,
    closed_form=0.705, computing=0.31, factor=1.0, left_out=[], unknown=[],
    closed_interval=(0.5, 1.0), error_runs="CG, class W, on labs with two or four hosts",
    error_rows=9, error_ranks=4, error_held=0.909,
    error_held_of=99,
)  # fmt: skip


def test_a_closed_form_that_is_longer_is_called_longer() -> None:
    (caveat,) = answer(CG).caveats
    assert caveat.startswith(
        "The closed form is 34.5% longer than the simulation with equal, steady nodes (705 ms "
        "instead of 524 ms): it adds up the messages"
    )
    assert "shorter" not in caveat


def test_a_closed_form_that_is_shorter_is_called_shorter() -> None:
    (caveat,) = answer(replace(CG, simulated=0.705, closed_form=0.524)).caveats
    assert caveat.startswith(
        "The closed form is 25.7% shorter than the simulation with equal, steady nodes (524 ms "
        "instead of 705 ms): waiting and shared links take time"
    )
    assert "longer" not in caveat


@pytest.mark.parametrize("closed", [0.524 * 1.149, 0.524 * 0.851])
def test_a_small_difference_is_not_stated(closed: float) -> None:
    assert answer(replace(CG, closed_form=closed)).caveats == []


def test_the_verdict_has_both_intervals() -> None:
    assert answer(CG).verdict == (
        "npb.cg.A with 16 ranks on 120 nodes in a torus: 524 ms [390, 700] by SimGrid 3.32, "
        "705 ms [500, 1000] by the closed form."
    )
    assert "90% intervals. They contain the error of the model." in answer(CG).method[-1]


def test_the_draws_have_their_own_range_without_the_error_of_the_model() -> None:
    drawn = replace(CG, draws=10, mean=0.524, drawn_interval=(0.51, 0.54))
    first, last = answer(drawn).method
    assert "The middle 95% of the draws is from 510 ms to 540 ms, without the model's error." in (
        first
    )
    assert "the error of the model and the spread of the draws" in last


def test_confidence_is_the_rate_at_which_intervals_hold() -> None:
    near = replace(CG, ranks=8)
    assert answer(near).confidence == "medium"
    assert (
        "hold for 91% of 99 runs, with 9 of this kind: CG, class W" in answer(near).confidence_why
    )
    cases = {
        "the largest of 9 runs (CG, class W, on labs with two or four hosts) has 4 ranks, "
        "the simulated program 16": CG,
        "the interval is wider than ±50%": replace(near, interval=(0.2, 1.0)),
        "such intervals hold for 89% of 99 runs": replace(near, error_held=0.89),
        "the trace is doubtful, because ranks had no CPU": replace(
            near, doubt="ranks had no CPU for 50.0% of their time"
        ),
        "was compared with a simulation": replace(near, error_runs=None),
    }
    for reason, found in cases.items():
        said = answer(found)
        assert said.confidence == "low"
        assert reason.lower() in said.confidence_why.lower()


def test_without_a_simulator_the_interval_is_that_of_the_closed_form() -> None:
    alone = replace(CG, ranks=4, simulator=None, simulated=None, interval=None)
    said = answer(alone)
    assert "705 ms [500, 1000] by the closed form; not simulated" in said.verdict
    assert said.confidence == "medium"
    assert answer(replace(alone, closed_interval=(0.3, 1.2))).confidence == "low"
