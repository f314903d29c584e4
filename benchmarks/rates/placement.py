"""The search for the best placement, its causes and predictions, on simulated machines."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from rate import Rate

from assay.models.placement.search import SearchRule
from assay.questions.common.confidence import RATES
from contention import SimulatedMachine, draw_machine, explore
from contention_phases import (
    Named,
    known_facts,
    learned,
    plainly,
    rank_counts,
    simulated_phases,
    with_threads,
)

# A search takes a second or two where a statistic takes a millisecond.
_FEWER = 10
_LEAST = 10
# A class is right in its stated rate less this tolerance.
TOLERANCE = 0.02
# Maximum error of a prediction.
_OFF = 0.20


def rates(trials: int, seed: int) -> Iterable[Rate]:
    """How often it finds the best, and how often it is right when it reports that it did."""
    rule = SearchRule()
    machines = max(trials // _FEWER, _LEAST)
    found = settled = right = 0
    claims: dict[str, list[bool]] = {confidence: [] for confidence in RATES}
    shares = []
    for machine in range(machines):
        random = np.random.default_rng((seed, machine))
        explored = explore(draw_machine(random), seed + machine, rule)
        good = explored.loss <= rule.within
        found += good
        settled += explored.settled
        right += explored.settled and good
        classes = [name for name, least in RATES.items() if explored.probability >= least]
        if classes:
            claims[classes[0]].append(good)
        shares.append(explored.made / explored.exhaustive)
    share = float(np.median(shares))
    planted = (
        "machines of 8 to 128 cores on 1 to 16 nodes, noise 0.5% to 5% with tails; median share of "
        f"the exhaustive measurements {share:.0%}"
    )
    what = f"the choice is within {rule.within:.0%} of the best"
    yield Rate(f"{what}, after at most 25% of the measurements", planted, found, machines, 0.95,
               "detection")  # fmt: skip
    if settled:
        yield Rate(f"{what}, where the search is {rule.probability:.0%} sure", planted, right,
                   settled, rule.probability, "coverage")  # fmt: skip
    for confidence, right_ones in claims.items():
        if right_ones:
            yield Rate(f"{what}, {confidence} confidence", "the same machines", sum(right_ones),
                       len(right_ones), RATES[confidence] - TOLERANCE, "coverage")  # fmt: skip
    yield from _causes(max(trials, _LEAST), seed)
    yield from _predictions(max(trials // 4, _LEAST), seed)


def _machines(count: int, seed: int) -> list[SimulatedMachine]:
    """A machine of at most 4 nodes, so that all ranks also fit with one rank per node."""
    found: list[SimulatedMachine] = []
    number = 0
    while len(found) < count:
        machine = draw_machine(np.random.default_rng((seed, 1, number)))
        number += 1
        if machine.nodes <= 4:
            found.append(machine)
    return found


def _causes(count: int, seed: int) -> Iterable[Rate]:
    """How often the true cause of the loss with a rank on every core is named, and another one."""
    ranks, threads = Named(), Named()
    for machine in _machines(count, seed):
        random = np.random.default_rng((seed, 2, machine.seed))
        ranks.take(machine, machine.cores, random)
        others = with_threads(machine)
        threads.take(machine, others[random.integers(len(others))], random)
    of_both = "contention, imbalance or messages lead"
    yield from _of(ranks, f"{of_both} by 5% of the time")
    yield from _of(
        threads, f"threads, bindings, shared cores: these, or {of_both} by 5% of the time"
    )


def _of(counted: Named, planted: str) -> Iterable[Rate]:
    yield Rate("the cause that leads is named", planted, counted.named, counted.clear, 0.95,
               "detection")  # fmt: skip
    yield Rate("another one is named", planted, counted.wrong, counted.clear, 0.02, "false alarm")


def _predictions(count: int, seed: int) -> Iterable[Rate]:
    """How often placements that were not used for a model are as predicted."""
    for pingpong, of_threads in ((True, 0.80), (False, 0.90)):
        ranks: list[float] = []
        threads: list[float] = []
        for machine in _machines(count, seed):
            random = np.random.default_rng((seed, 3, machine.seed))
            model, left = learned(machine, known_facts(machine, pingpong=pingpong), random)
            if model is None:
                continue
            # Placements of one machine with threads are many and correlated: one per machine.
            one = [left[random.integers(len(left))]]
            for off, wheres in ((ranks, rank_counts(machine)[1:-1]), (threads, one)):
                for where in wheres:
                    predicted = model.predict(simulated_phases(machine, where, random))
                    candidate = plainly(where) if isinstance(where, int) else where
                    if predicted is not None:
                        off.append(abs(predicted.time / machine.cost(candidate) - 1.0))
        how = "with ping-pong" if pingpong else "without ping-pong"
        for off, planted, stated in (
            (ranks, "from one rank a node and one on every core", 0.90),
            (threads, "threads, bindings, shared cores: from these and the most threads per rank",
             of_threads),
        ):  # fmt: skip
            yield Rate(f"a placement's time is predicted within {_OFF:.0%}, {how}", planted,
                       sum(one <= _OFF for one in off), len(off), stated, "detection")  # fmt: skip
