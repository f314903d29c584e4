"""The search for the best placement, its causes and predictions, on machines of formulas."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import numpy as np
from rate import Rate

from assay.models.contention import SimulatedMachine, draw_machine, explore
from assay.models.contention_phases import (
    causes_of,
    known_facts,
    lead_of,
    named_rightly,
    plainly,
    rank_counts,
    told_phases,
    true_losses,
)
from assay.models.placement_prediction import learn
from assay.models.placement_search import Rule
from assay.models.placement_time import lost, split

# A search takes a second or two where a statistic takes a millisecond.
_FEWER = 10
_LEAST = 10
# What a cause leads by, and what it takes at least, of the time, where it is to be named.
_LEADS, _TAKES = 0.05, 0.07
# How far a prediction may be off.
_OFF = 0.20


def rates(trials: int, seed: int) -> Iterable[Rate]:
    """How often it finds what it is to find, and how often it is right when it says that it did."""
    rule = Rule()
    machines = max(trials // _FEWER, _LEAST)
    found = settled = right = 0
    shares = []
    for machine in range(machines):
        random = np.random.default_rng((seed, machine))
        explored = explore(draw_machine(random), seed + machine, rule)
        good = explored.loss <= rule.within
        found += good
        settled += explored.settled
        right += explored.settled and good
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
    yield from _causes(max(trials, _LEAST), seed)
    yield from _predictions(max(trials // 4, _LEAST), seed)


def _machines(count: int, seed: int) -> list[SimulatedMachine]:
    """Of at most 4 nodes, so that as many ranks with one a node are none too many."""
    found: list[SimulatedMachine] = []
    number = 0
    while len(found) < count:
        machine = draw_machine(np.random.default_rng((seed, 1, number)))
        number += 1
        if machine.nodes <= 4:
            found.append(machine)
    return found


def _causes(count: int, seed: int) -> Iterable[Rate]:
    """How often what truly slows a rank on every core is named, and something else is."""
    clear = named = wrong = 0
    for machine in _machines(count, seed):
        random = np.random.default_rng((seed, 2, machine.seed))
        ppn = machine.cores
        one, full = told_phases(machine, 1, random), told_phases(machine, ppn, random)
        spread = dataclasses.replace(machine, nodes=machine.nodes * ppn)
        facts = known_facts(machine, pingpong=True)
        apart = told_phases(spread, 1, random)
        found = lost(split(full, one, apart, facts), split(one, one, None, facts)).leading(0.02)
        truth = true_losses(machine, ppn)
        if lead_of(truth) < _LEADS or max(causes_of(truth).values()) < _TAKES:
            continue
        clear += 1
        if found is not None:
            right = named_rightly(found, truth)
            named, wrong = named + right, wrong + (not right)
    planted = "contention, imbalance or messages leads by 5% of the time"
    yield Rate("the cause that leads is named", planted, named, clear, 0.95, "detection")
    yield Rate("another one is named", planted, wrong, clear, 0.02, "false alarm")


def _predictions(count: int, seed: int) -> Iterable[Rate]:
    """How often placements between the fewest and the most ranks come out as predicted."""
    for pingpong in (True, False):
        good = cases = 0
        for machine in _machines(count, seed):
            random = np.random.default_rng((seed, 3, machine.seed))
            spots = {ppn: told_phases(machine, ppn, random) for ppn in rank_counts(machine)}
            facts = known_facts(machine, pingpong=pingpong)
            model = learn(spots[1], spots[machine.cores], facts)
            for ppn in rank_counts(machine)[1:-1]:
                predicted = model.predict(spots[ppn]) if model is not None else None
                if predicted is not None:
                    cases += 1
                    good += abs(predicted.time / machine.cost(plainly(ppn)) - 1.0) <= _OFF
        how = "with ping-pong" if pingpong else "without ping-pong"
        yield Rate(f"a placement's time is predicted within {_OFF:.0%}, {how}",
                   "from one rank a node and one on every core", good, cases, 0.90,
                   "detection")  # fmt: skip
