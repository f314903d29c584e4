"""The search for the best placement, on simulated machines whose best is known."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from rate import Rate

from assay.models.contention import draw_machine, explore
from assay.models.placement_search import Rule

# A search takes a second or two where a statistic takes a millisecond.
_FEWER = 10
_LEAST = 10


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
