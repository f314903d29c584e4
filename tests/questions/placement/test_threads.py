"""Components of the time of ranks × threads: by hand, and on machines with known causes."""

from __future__ import annotations

import dataclasses
from functools import cache

import numpy as np
import pytest
from scipy.stats import binom

from assay.models.placement.components import COMPONENTS, CONTENTION, SHARED, THREADS, UNEXPLAINED
from assay.models.placement.placed import (
    Demand,
    EqualRanks,
    NodeModel,
    Placed,
    ThreadAffinity,
    equal_ranks_of,
    near_cost,
)
from assay.models.placement.prediction import calibration_placements, fit_contention_model
from assay.models.placement.search import PlacementCandidate
from assay.models.placement.time_breakdown import loss_by_cores, loss_by_time, split
from contention import SimulatedMachine, draw_machine
from contention_phases import (
    Named,
    known_facts,
    learned,
    on_same_cores,
    plainly,
    simulated_phases,
    with_threads,
)

# Six launches, so that there are intervals; one percent between slowest and fastest.
SPREAD = np.array([1.0, 1.004, 0.998, 1.002, 0.996, 1.001]) / 1.0005


def seats(*rows: tuple[int, ...], per_domain: int = 4) -> ThreadAffinity:
    return ThreadAffinity(rows, tuple(tuple(core // per_domain for core in row) for row in rows))


def placed(
    where: ThreadAffinity,
    time: float,
    compute: float,
    messages: float = 0.0,
    demand: Demand | None = None,
) -> Placed:
    rows = np.outer(SPREAD, [time, compute, compute, messages])
    ppn, threads = len(where.cores), len(where.cores[0])
    return Placed(f"{where}", 1, ppn, threads, demand or Demand(), rows, where)


def ranks(*cores: int) -> ThreadAffinity:
    return seats(*((core,) for core in cores))


ALONE = placed(ranks(0), 8.0, 8.0)
FOUR = placed(ranks(0, 1, 2, 3), 3.5, 3.0, 0.5)
TWO_BY_TWO = placed(seats((0, 1), (2, 3)), 3.8, 3.6, 0.2)
# Two domains of four cores: one has the bandwidth of two cores, however many draw on it.
MACHINE = NodeModel(
    streams={1: 1e10, 2: 2e10, 4: 2e10, 8: 4e10}, domain={1: 1e10, 2: 2e10, 4: 2e10}, domains=2
)


# ---- Affinity ------------------------------------------------------------------------------------


def test_seats_show_shared_resources() -> None:
    apart = seats((0, 1), (4, 5))
    assert apart.cores_used == {0, 1, 4, 5} and apart.used_by_domain == {0: 2, 1: 2}
    assert not apart.shared and apart.domains_per_rank == 1.0
    across = seats((0, 4), (1, 5))
    assert across.used_by_domain == {0: 2, 1: 2} and across.domains_per_rank == 2.0
    double = ThreadAffinity(((0, 0), (1, 1)), ((0, 0), (0, 0)))
    assert double.shared and double.used_by_domain == {0: 2}
    # Two ranks on one core, and one rank of two threads there.
    assert placed(double, 1.0, 1.0).cores == 2
    assert seats((0, 1), (2, 3)).cores_of_threads == ranks(3, 1, 2, 0).cores_of_threads


def test_streams_slow_down_by_the_domain_that_is_busiest() -> None:
    compact, spread = placed(ranks(0, 1, 2, 3), 1, 1), placed(ranks(0, 2, 4, 6), 1, 1)
    assert MACHINE.slowdown_at(compact) == pytest.approx(2.0)
    assert MACHINE.slowdown_at(spread) == 1.0
    # Three in one domain and one in the other: 1.5, 1.5, 1.5 and 1 in the mean.
    assert MACHINE.slowdown_at(placed(ranks(0, 1, 2, 4), 1, 1)) == pytest.approx(5.5 / 4)
    # Threads of a rank wait for the slowest: both ranks have one in the busy domain.
    both = placed(seats((0, 4), (1, 2)), 1, 1)
    assert MACHINE.slowdown_at(both) == pytest.approx(1.5)
    # Messages are copied by the first thread of each rank: cores 0 and 1 there.
    assert MACHINE.copy_slowdown_at(both) == 1.0
    assert MACHINE.copy_slowdown_at(TWO_BY_TWO) == 1.0
    assert MACHINE.copy_slowdown_at(compact) == pytest.approx(2.0)
    assert MACHINE.copy_slowdown_at(dataclasses.replace(TWO_BY_TWO, affinity=None)) == 1.0
    # If domains aren't known, the first cores are used instead.
    assert dataclasses.replace(MACHINE, domain={}).slowdown_at(spread) == pytest.approx(2.0)
    # Other patterns: as if all domains were as busy as the busiest.
    patterns = dataclasses.replace(MACHINE, patterns={8: 3.1})
    assert patterns.worst_slowdown(compact) == pytest.approx(3.1)
    assert patterns.worst_slowdown(spread) == pytest.approx(1 + 2.1 * 3 / 7)


def test_ranks_copy_messages_by_one_thread_each() -> None:
    """10 messages of 1 MB of each of two ranks, whose memory is shared by two cores alone."""
    quick = dataclasses.replace(MACHINE, near=lambda size: size / 1e9)
    demand = Demand(messages=20.0, sent=2e7, near=1.0)
    of_threads = placed(seats((0, 1), (2, 3)), 1, 1, demand=demand)
    assert near_cost(of_threads, quick) == pytest.approx(10 * 1e-3)
    four = placed(ranks(0, 1, 2, 3), 1, 1, demand=dataclasses.replace(demand, messages=40.0))
    assert near_cost(four, quick) == pytest.approx(10 * 2 * 0.5e-3)


def test_the_rank_placements_compared_use_the_same_cores() -> None:
    spread = placed(ranks(0, 2, 4, 6), 1, 1)
    assert equal_ranks_of(TWO_BY_TWO, [ALONE, spread, FOUR]) == EqualRanks(per_thread=FOUR)
    assert equal_ranks_of(TWO_BY_TWO, [ALONE, spread]) is None
    assert equal_ranks_of(spread, []) == EqualRanks()
    unknown = dataclasses.replace(TWO_BY_TWO, affinity=None)
    assert equal_ranks_of(unknown, [FOUR]) is None
    # Four ranks on two cores, and the placements for comparison.
    double = placed(ThreadAffinity(((0,), (0,), (1,), (1,)), ((0,),) * 4), 1, 1)
    two = placed(ranks(0, 1), 1, 1)
    assert equal_ranks_of(double, [two]) == EqualRanks(per_core=two)
    assert equal_ranks_of(double, [placed(ranks(2, 3), 1, 1)]) is None
    wide = placed(ThreadAffinity(((0, 0, 1, 1),), ((0,) * 4,)), 1, 1)
    assert equal_ranks_of(wide, [two]) is None
    assert equal_ranks_of(wide, [two, double]) == EqualRanks(double, two)
    elsewhere = dataclasses.replace(FOUR, nodes=2)
    assert equal_ranks_of(TWO_BY_TWO, [elsewhere]) is None


# ---- By hand -------------------------------------------------------------------------------------


def parts(found: object) -> dict[str, float]:
    components = {str(one): found.component(one).value for one in COMPONENTS}  # type: ignore[attr-defined]
    return {name: value for name, value in components.items() if abs(value) > 1e-9}


def test_the_cost_of_threads_is_their_time_beyond_ranks_on_the_same_cores() -> None:
    """8 s of work on 4 cores; ranks wait 1 s for memory, threads another 0.6 s for each other."""
    found = split(TWO_BY_TWO, ALONE, None, MACHINE, EqualRanks(per_thread=FOUR))
    assert parts(found) == pytest.approx(
        {"compute": 2.0, "memory contention": 1.0, "threads": 0.6, "messages within nodes": 0.2}
    )
    low, high = found.component(THREADS).ci95 or (0.0, 0.0)
    assert low < 0.6 < high and high - low < 0.1
    with pytest.raises(ValueError, match="baseline of ranks on the same cores"):
        split(TWO_BY_TWO, ALONE, None, MACHINE)
    # Fewer ranks have fewer messages: that is what it saves against four.
    more = loss_by_time(found, split(FOUR, ALONE, None, MACHINE))
    assert more.whole.value == pytest.approx(0.3 / 3.8)
    assert more.share(THREADS).value == pytest.approx(0.6 / 3.8)
    assert more.leading(0.02) == THREADS
    back = loss_by_time(split(FOUR, ALONE, None, MACHINE), found)
    assert back.whole.value == pytest.approx(-0.3 / 3.5)


def test_waits_of_a_single_rank_are_for_its_own_threads() -> None:
    wide = placed(seats((0, 1, 2, 3)), 4.0, 3.2, 0.8)
    found = split(wide, ALONE, None, MACHINE, EqualRanks(per_thread=FOUR))
    assert parts(found) == pytest.approx({"compute": 2.0, "memory contention": 1.0, "threads": 1.0})


def test_threads_faster_than_ranks_share_data() -> None:
    quick = placed(seats((0, 1), (2, 3)), 2.9, 2.7, 0.2)
    found = split(quick, ALONE, None, MACHINE, EqualRanks(per_thread=FOUR))
    assert parts(found) == pytest.approx({
        "compute": 2.0, "memory contention": 1.0, "cache effect": -0.3,
        "messages within nodes": 0.2,
    })  # fmt: skip


def test_a_binding_changes_the_possible_effect_of_memory() -> None:
    """Four ranks that compute for 2.6 s: memory can be the cause in one domain, not over two."""
    for cores, part in (((0, 1, 2, 3), CONTENTION), ((0, 2, 4, 6), UNEXPLAINED)):
        found = split(placed(ranks(*cores), 2.6, 2.6), ALONE, None, MACHINE)
        assert found.component(part).value == pytest.approx(0.6)


def test_hardware_threads_fill_gaps_or_get_in_each_others_way() -> None:
    two = placed(ranks(0, 1), 4.4, 4.4)
    for compute, change in ((3.6, -0.8), (5.0, 0.6)):
        double = placed(ThreadAffinity(((0,), (0,), (1,), (1,)), ((0,),) * 4), compute, compute)
        found = split(double, ALONE, None, MACHINE, EqualRanks(per_core=two))
        assert found.component(SHARED).value == pytest.approx(change)
        assert found.component(THREADS).value == 0.0
        assert float(found.seconds.sum()) == pytest.approx(compute)
        # Losses are by cores: 8 s on 2 of them are 4 s.
        whole = loss_by_cores(found, split(ALONE, ALONE, None)).whole.value
        assert whole == pytest.approx(1 - 4.0 / compute)


def test_the_cost_of_threads_is_learned_and_predicted() -> None:
    """Amdahl: of 8 s a tenth is for one thread alone; domains that a rank spans cost a half more
    at two; hardware threads that share cores save a fifth."""
    full = placed(ranks(*range(8)), 1.0, 1.0)
    within = placed(seats((0, 1, 2, 3), (4, 5, 6, 7)), 1.3, 1.0 + 0.1 * 3)
    across = placed(seats(tuple(range(8))), 1.0 * (1 + 0.5 / 2) + 0.7, 1.0 * (1 + 0.5 / 2) + 0.7)
    twice = ThreadAffinity(tuple((core,) for core in (*range(8), *range(8))), ((0,),) * 16)
    double = placed(twice, 0.8, 0.8)
    pairs = placed(seats((0, 1), (2, 3), (4, 5), (6, 7)), 1.0, 1.0)
    known = calibration_placements(full, [pairs, double, across, within])
    assert known == [within, across, double]
    model = fit_contention_model(ALONE, full, NodeModel({1: 1.0, 8: 8.0}), known)
    assert model is not None
    assert (model.threads.serial, model.threads.across, model.threads.shared) == pytest.approx(
        (0.1, 0.5, 0.8)
    )
    found = model.predict(pairs)
    assert found is not None and found.time == pytest.approx(1.0 + 0.1)
    both = placed(seats((0, 4), (1, 5), (2, 6), (3, 7)), 1.0, 1.0)
    reaching = model.predict(both)
    assert reaching is not None and reaching.threads == pytest.approx(0.1 + 0.25)
    sharing = model.predict(double)
    assert sharing is not None and sharing.shared == pytest.approx(-0.2)
    # Unlearned components are not predicted.
    blind = fit_contention_model(ALONE, full, NodeModel({1: 1.0, 8: 8.0}), [within])
    assert blind is not None
    assert blind.predict(pairs) is not None
    assert blind.predict(both) is None and blind.predict(double) is None
    none = fit_contention_model(ALONE, full, NodeModel({1: 1.0, 8: 8.0}))
    assert none is not None and none.predict(pairs) is None


# ---- Machines with known causes ------------------------------------------------------------------


@cache
def machines(count: int) -> list[SimulatedMachine]:
    """Of at most 4 nodes."""
    drawn = (draw_machine(np.random.default_rng((12, seed))) for seed in range(10 * count))
    return [machine for machine in drawn if machine.nodes <= 4][:count]


def some_of(machine: SimulatedMachine, random: np.random.Generator) -> list[PlacementCandidate]:
    others = with_threads(machine)
    return [others[place] for place in random.choice(len(others), 2, replace=False)]


def test_the_simulated_parts_are_those_of_the_whole() -> None:
    """The simulation itself: seats by the rule that kernels pin by, and parts that add up."""
    machine = dataclasses.replace(machines(1)[0], cores=8, domains=2, hardware_threads=2)

    def words(binding: str, sharing: str = "own") -> tuple[str, ...]:
        return (binding, "block", "default", sharing)

    two = machine.seats(PlacementCandidate((2, 2), words("spread")))
    assert two.cores == ((0, 2), (4, 6)) and two.used_by_domain == {0: 2, 1: 2}
    full = machine.seats(PlacementCandidate((2, 8), words("compact", "shared")))
    assert full.cores[0] == (0, 0, 1, 1, 2, 2, 3, 3) and full.domains_per_rank == 1.0
    assert machine.stream(6) == pytest.approx(4 * machine.given(4) + 2 * machine.given(2))
    # A rank of many threads has what ranks have, and its own.
    wide = PlacementCandidate((1, 8), words("compact"))
    (seated,) = on_same_cores(machine, wide)
    assert seated == plainly(8)
    assert machine.parts(wide).computing > machine.parts(seated).computing
    assert machine.parts(wide).unshared <= machine.parts(wide).computing


@pytest.mark.long
def test_the_cause_that_dominates_is_found_with_threads_and_bindings() -> None:
    of = Named()
    for machine in machines(120):
        random = np.random.default_rng((13, machine.seed))
        for where in some_of(machine, random):
            of.take(machine, where, random)
    assert of.clear >= 80
    # 0.1% quantiles: at least 95% are named, no more than 2% are wrong.
    assert of.named >= binom.ppf(0.001, of.clear, 0.95), of
    assert of.wrong <= binom.ppf(0.999, of.clear, 0.02), of


@pytest.mark.parametrize(
    ("pingpong", "stated"), [(True, 0.80), pytest.param(False, 0.90, marks=pytest.mark.long)]
)
def test_threads_and_bindings_are_predicted(pingpong: bool, stated: float) -> None:
    """20% off at most, at the stated rate, for placements that were not used for learning."""
    good = cases = 0
    for machine in machines(60):
        random = np.random.default_rng((14, machine.seed))
        model, left = learned(machine, known_facts(machine, pingpong=pingpong), random)
        assert model is not None
        for where in left[:: max(len(left) // 8, 1)]:
            predicted = model.predict(simulated_phases(machine, where, random))
            if predicted is None:
                continue
            cases += 1
            good += abs(predicted.time / machine.cost(where) - 1.0) <= 0.20
    assert cases > 200
    # Cases of one machine are correlated: sixty of them count.
    assert good / cases >= binom.ppf(0.001, 60, stated) / 60, (good, cases)
