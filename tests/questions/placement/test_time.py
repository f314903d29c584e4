"""Components of a placement's time: by hand, by properties, on machines with known causes."""

from __future__ import annotations

import dataclasses
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from assay.models.placement.components import (
    BETWEEN,
    CACHE,
    COMPONENTS,
    COMPUTE,
    CONTENTION,
    IMBALANCE,
    MESSAGES,
    UNEXPLAINED,
    WITHIN,
)
from assay.models.placement.placed import Demand, NodeModel, Placed, share_within
from assay.models.placement.prediction import fit_contention_model
from assay.models.placement.time_breakdown import Split, loss_by_cores, split
from contention import SimulatedMachine, draw_machine
from contention_phases import Named, known_facts, plainly, rank_counts, simulated_phases

# Six launches, so that there are intervals; one percent between slowest and fastest.
SPREAD = np.array([1.0, 1.004, 0.998, 1.002, 0.996, 1.001]) / 1.0005


def placed(
    nodes: int,
    ppn: int,
    time: float,
    compute: float,
    most: float,
    messages: float,
    demand: Demand | None = None,
) -> Placed:
    rows = np.outer(SPREAD, [time, compute, most, messages])
    return Placed(f"{nodes}x{ppn}", nodes, ppn, 1, demand or Demand(), rows)


def seconds(found: Split) -> list[float]:
    return [found.component(one).value for one in COMPONENTS]


ALONE = placed(1, 1, 8.0, 8.0, 8.0, 0.0)


def test_by_hand_against_one_rank_per_node() -> None:
    """4 ranks: their share of computing would be 2 s; it is 3 s, plus 0.5 s on one of them."""
    four = placed(1, 4, 4.2, 3.0, 3.5, 1.1)
    found = split(four, ALONE, None, NodeModel(streams={1: 1e10, 4: 2e10}))
    # Streams are slowed down to half: memory may cause up to 2 s.
    assert seconds(found) == pytest.approx([2.0, 1.0, 0.0, 0.0, 0.0, 0.5, 0.6, 0.0, 0.1])
    assert found.certain
    low, high = found.component(CONTENTION).ci95 or (0.0, 0.0)
    assert 0.98 < low <= 1.0 <= high < 1.02
    assert found.share(IMBALANCE).value == pytest.approx(0.5 / 4.2)


def test_time_that_memory_can_not_cause_is_unexplained() -> None:
    four = placed(1, 4, 4.2, 3.0, 3.5, 1.1)
    mild = split(four, ALONE, None, NodeModel(streams={1: 1e10, 4: 3.2e10}))
    assert mild.component(CONTENTION).value == pytest.approx(0.25 * 2.0)
    assert mild.component(UNEXPLAINED).value == pytest.approx(0.1 + 0.5)
    # Random access suffers more than streams do: that bounds it.
    patterns = NodeModel(streams={1: 1e10, 4: 3.2e10}, patterns={4: 1.4})
    assert split(four, ALONE, None, patterns).component(CONTENTION).value == pytest.approx(0.8)
    # One rank on each of two nodes shares no memory.
    two = split(placed(2, 1, 4.6, 4.5, 4.5, 0.1), ALONE, None)
    assert two.component(CONTENTION).value == 0.0
    assert two.component(UNEXPLAINED).value == pytest.approx(0.5)
    # And a kernel without traffic does not wait for memory.
    idle = dataclasses.replace(four, demand=Demand(traffic=0.0))
    assert split(idle, ALONE, None, patterns).component(CONTENTION).value == 0.0


def test_as_many_ranks_on_more_nodes_distinguish_caches_from_contention() -> None:
    four = placed(1, 4, 2.0, 2.0, 2.0, 0.0)
    alone = split(four, ALONE, None)
    assert alone.component(CONTENTION).value == alone.component(CACHE).value == 0.0
    # Each of 4 ranks on a separate node: pieces fit into caches, 1.5 s instead of 2 s.
    apart = placed(4, 1, 1.6, 1.5, 1.5, 0.1)
    found = split(four, ALONE, apart)
    assert found.component(CACHE).value == pytest.approx(-0.5)
    assert found.component(CONTENTION).value == pytest.approx(0.5)
    # There they take longer: there is more to do on the edges of small pieces.
    edges = split(four, ALONE, placed(4, 1, 2.4, 2.3, 2.3, 0.1))
    assert edges.component(COMPUTE).value == pytest.approx(2.3)
    assert edges.component(CACHE).value == pytest.approx(-0.3)


def test_additional_work_by_formula_is_computing() -> None:
    alone = dataclasses.replace(ALONE, demand=Demand(flops=1e9))
    four = placed(1, 4, 2.5, 2.5, 2.5, 0.0, Demand(flops=1.25e9))
    assert split(four, alone, None).component(COMPUTE).value == pytest.approx(2.5)


def test_messages_are_split_by_ping_pong_else_by_bytes() -> None:
    demand = Demand(messages=400.0, sent=4e8, near=0.25)
    two = placed(2, 2, 4.0, 3.0, 3.0, 1.0, demand)
    assert share_within(two, NodeModel()) == 0.25
    # 75 of a rank's messages of 1 MB cross, two concurrently over the adapter: 0.15 s; 25 stay:
    # 0.005 s.
    known = NodeModel(near=lambda size: size / 5e9, far=lambda size: size / 1e9)
    assert share_within(two, known) == pytest.approx(0.005 / 0.155)
    assert share_within(placed(1, 4, 1, 1, 1, 0, demand), known) == 1.0
    assert share_within(placed(4, 1, 1, 1, 1, 0, demand), known) == 0.0


def test_the_loss_and_its_causes() -> None:
    two = placed(2, 2, 3.0, 2.0, 2.0, 1.0, Demand(messages=40.0, sent=4e7, near=0.1))
    one = placed(2, 1, 4.4, 4.0, 4.0, 0.4, Demand(messages=20.0, sent=2e7))
    losses = loss_by_cores(split(two, one, None), split(one, one, None))
    # 3 s instead of 2.2 s: 0.1 s of messages within nodes, 0.9 s instead of 0.2 s between them.
    assert losses.whole.value == pytest.approx(0.8 / 3.0)
    assert losses.share(WITHIN).value == pytest.approx(0.1 / 3.0)
    assert losses.share(BETWEEN).value == pytest.approx(0.7 / 3.0)
    # By bytes alone: that it is between nodes is no more than likely.
    assert losses.leading(0.02) == MESSAGES
    assert losses.cause_share(MESSAGES).value == pytest.approx(0.8 / 3.0)
    known = NodeModel(near=lambda size: size / 1e10, far=lambda size: size / 1e9)
    loss = loss_by_cores(split(two, one, None, known), split(one, one, None, known))
    assert loss.leading(0.02) == BETWEEN
    alike = NodeModel(near=lambda size: size / 1e8, far=lambda size: size / 1e9)
    loss = loss_by_cores(split(two, one, None, alike), split(one, one, None, alike))
    assert loss.leading(0.02) == MESSAGES
    assert losses.leading(0.5) is None
    few = dataclasses.replace(two, launches=two.launches[:5])
    assert loss_by_cores(split(few, one, None), split(one, one, None)).leading(0.02) is None


def test_two_similar_causes_name_none() -> None:
    noisy = np.column_stack(
        [np.full(6, 4.0), [2.3, 2.6, 2.4, 2.7, 2.5, 2.5], np.full(6, np.nan), [1.5] * 6]
    )
    noisy[:, 3] = 4.0 - noisy[:, 1]
    four = dataclasses.replace(placed(1, 4, 4.0, 2.5, 2.5, 1.5), launches=noisy)
    # Half a second of contention, one and a half of messages: surely the messages.
    assert (
        loss_by_cores(split(four, ALONE, None), split(ALONE, ALONE, None)).leading(0.02) == WITHIN
    )
    noisy = noisy + np.array([0.0, 0.5, 0.0, -0.5])
    four = dataclasses.replace(four, launches=noisy)
    assert loss_by_cores(split(four, ALONE, None), split(ALONE, ALONE, None)).leading(0.02) is None


TIMES = st.floats(0.0, 100.0)


@settings(deadline=None, max_examples=60)
@given(
    alone=TIMES, apart=st.none() | TIMES, compute=TIMES, more=TIMES, messages=TIMES,
    slower=st.floats(1.0, 8.0), near=st.floats(0.0, 1.0), other=st.floats(0.0, 10.0),
)  # fmt: skip
def test_the_parts_add_up_to_the_whole(
    alone: float, apart: float | None, compute: float, more: float, messages: float,
    slower: float, near: float, other: float,
) -> None:  # fmt: skip
    time = compute + messages + other
    here = placed(2, 4, time, compute, compute + more, messages, Demand(near=near))
    base = placed(2, 1, alone, alone, alone, 0.0)
    far = None if apart is None else placed(8, 1, apart, apart, apart, 0.0)
    machine = NodeModel(streams={1: 1.0, 4: 4.0 / slower})
    found = split(here, base, far, machine)
    assert float(found.seconds.sum()) == pytest.approx(time, abs=1e-9)
    assert np.allclose(found.draws.sum(axis=1), here.draws[:, 0], atol=1e-9)
    assert found.seconds[CACHE] <= 0
    for number in (COMPUTE, CONTENTION, IMBALANCE, WITHIN, BETWEEN):
        assert found.seconds[number] >= -1e-9
    # What phases don't account for is at least what the timers missed.
    assert found.seconds[UNEXPLAINED] >= other - 1e-9


def test_intervals_cover_the_truth_at_the_stated_rate() -> None:
    """Of 6 launches a bootstrap of medians is narrow by nature: nine in ten at least."""
    random = np.random.default_rng(11)
    trials, hit = 200, 0
    for trial in range(trials):
        noise = random.lognormal(0.0, 0.02, size=(2, 6, 1))
        one = dataclasses.replace(
            ALONE, name=f"a{trial}", launches=noise[0] * np.array([[8.0, 8.0, 8.0, 0.0]])
        )
        four = dataclasses.replace(
            placed(1, 4, 4.0, 3.0, 3.0, 1.0),
            name=f"b{trial}",
            launches=noise[1] * np.array([[4.0, 3.0, 3.0, 1.0]]),
        )
        low, high = split(four, one, None).component(CONTENTION).ci95 or (0.0, 0.0)
        hit += low <= 1.0 <= high
    # 0.1% quantile of the binomial if it were 90%.
    assert hit >= binom.ppf(0.001, trials, 0.90)


# ---- Machines with known causes ------------------------------------------------------------------


@cache
def machines(count: int) -> list[SimulatedMachine]:
    """Of at most 4 nodes."""
    drawn = (draw_machine(np.random.default_rng((8, seed))) for seed in range(10 * count))
    return [machine for machine in drawn if machine.nodes <= 4][:count]


def test_the_cause_that_dominates_is_found() -> None:
    """Of causes that lead by a twentieth of the time most are named, and few others."""
    of = Named()
    for machine in machines(120):
        of.take(machine, machine.cores, np.random.default_rng((9, machine.seed)))
    assert of.clear >= 60
    # 0.1% quantiles: at least 95% are named, no more than 2% are wrong.
    assert of.named >= binom.ppf(0.001, of.clear, 0.95), of
    assert of.wrong <= binom.ppf(0.999, of.clear, 0.02), of


@pytest.mark.parametrize("pingpong", [True, False])
def test_placements_between_are_predicted(pingpong: bool) -> None:
    """From one rank per node and from all cores: 20% off at most in nine cases of ten."""
    good = cases = 0
    for machine in machines(120):
        random = np.random.default_rng((10, machine.seed))
        measured = {ppn: simulated_phases(machine, ppn, random) for ppn in rank_counts(machine)}
        model = fit_contention_model(
            measured[1], measured[machine.cores], known_facts(machine, pingpong=pingpong)
        )
        assert model is not None
        for ppn in rank_counts(machine)[1:-1]:
            predicted = model.predict(measured[ppn])
            if predicted is None:
                continue
            cases += 1
            good += abs(predicted.time / machine.cost(plainly(ppn)) - 1.0) <= 0.20
    assert cases > 200
    # Cases of one machine are correlated: a hundred and twenty of them count.
    assert good / cases >= binom.ppf(0.001, 120, 0.90) / 120, (good, cases)


def test_one_placement_suffices_if_all_else_is_known() -> None:
    """A program half bound by memory, on cores that share it; one message per step over a link."""
    machine = NodeModel(
        {1: 1e10, 2: 2e10, 4: 2e10},
        near=lambda size: 1e-6 + size / 5e9,
        far=lambda size: 1e-5 + size / 1e9,
    )
    alone = placed(2, 1, 8.01, 8.0, 8.0, 0.011, Demand(1e9, 8e10, 20.0, 2e7))
    model = fit_contention_model(alone, None, machine)
    assert model is not None and model.memory == pytest.approx(0.5)
    four = placed(2, 4, 1, 1, 1, 1, Demand(1e9, 8e10, 80.0, 8e7, near=0.5))
    found = model.predict(four)
    assert found is not None
    assert (found.compute, found.contention) == (pytest.approx(2.0), pytest.approx(1.0))
    # 10 messages of 1 MB of each rank; those that cross, four concurrently. One takes 1.01 ms by
    # ping-pong, 10 of them 10.1 ms; 11 ms were measured. What stays is copied
    # through a memory that halves what each of four gets.
    assert found.within == pytest.approx(0.5 * 10 * (1e-6 + 2 * 2e-4))
    assert found.between == pytest.approx(0.5 * 10 * (1e-5 + 4e-3) * 0.011 / 0.0101)


def test_two_placements_determine_memory_and_messages() -> None:
    """By hand: half of computing is memory; messages cost twice what ping-pong says between nodes,
    and three times within."""
    machine = NodeModel(
        {1: 1e10, 2: 2e10, 4: 2.5e10},
        near=lambda size: size / 5e9,
        far=lambda size: size / 1e9,
    )
    alone = placed(2, 1, 8.2, 8.0, 8.0, 0.2, Demand(1e9, None, 20.0, 2e8))
    # 10 messages of 10 MB of each rank: 0.1 s by ping-pong. With 4 ranks 40% stay, and share a
    # memory that gives each 1/1.6 of what one had.
    four_asks = Demand(1e9, None, 80.0, 8e8, near=0.4)
    near, far = 0.4 * 10 * 1.6 * 1e7 / 5e9, 0.6 * 10 * 4 * 1e7 / 1e9
    compute = 2.0 * (1 + 0.5 * 0.6)
    waited = 3 * near + 2 * far
    four = placed(2, 4, compute + waited, compute, compute, waited, four_asks)
    model = fit_contention_model(alone, four, machine)
    assert model is not None
    assert model.memory == pytest.approx(0.5)
    assert (model.far, model.near) == (pytest.approx(2.0), pytest.approx(3.0))
    two = model.predict(placed(2, 2, 1, 1, 1, 1, Demand(1e9, None, 40.0, 4e8, near=0.3)))
    assert two is not None
    assert two.contention == 0.0 and two.compute == pytest.approx(4.0)
    assert two.within == pytest.approx(3 * 0.3 * 10 * 1e7 / 5e9)
    assert two.between == pytest.approx(2 * 0.7 * 10 * 2 * 1e7 / 1e9)
    # The imbalance of ranks is taken from the larger placement.
    uneven = placed(2, 4, 4.0, 2.0, 2.5, 1.0, four_asks)
    model = fit_contention_model(alone, uneven, machine)
    assert model is not None and model.uneven == pytest.approx(0.25)


def test_without_a_curve_or_a_ping_pong_nothing_is_assumed() -> None:
    assert fit_contention_model(ALONE, None, NodeModel()) is None
    alone = placed(1, 1, 8, 8, 8, 0, Demand(1e9, 1e9))
    model = fit_contention_model(alone, None, NodeModel({1: 1e10}))
    assert model is not None
    assert model.predict(placed(1, 2, 1, 1, 1, 1, Demand(messages=10.0, sent=1e5, near=1))) is None
    assert model.predict(placed(1, 2, 1, 1, 1, 1)) is not None
