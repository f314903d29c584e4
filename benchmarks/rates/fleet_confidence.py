"""Claims about nodes of a fleet, by the stated confidence.

Fleets of 50 nodes with all distributions of ``fleet_draws``, every second one with a node that is
6% slow. A named node is claimed with high confidence if at most 1% of clean fleets have a node as
far beyond the others. Without a named node, the report states the size from which on 95% of slow
nodes would have been named.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from fleet_draws import CELLS, RESERVED, SECOND, TAILS, named, natural, slowed
from rate import Rate

from assay.stats.fleet.judgement import judge, smallest_seen
from assay.subjects.nodes.answer import SURE_BEYOND

SIZE = 0.06


def rates(trials: int, seed: int) -> Iterable[Rate]:
    right, of = [0, 0], [0, 0]
    missed = sizes = 0
    tails = (*TAILS, SECOND, *RESERVED)
    for trial in range(max(trials // 6, 20)):
        rng = np.random.default_rng((seed, 11, trial))
        turn = trial // len(tails)
        costs = natural(rng, 50, 6, tails[trial % len(tails)], same=bool(turn // 2 % 2))
        bad = {49} if turn % 2 else set()
        judged = judge(slowed(costs, bad, SIZE), CELLS)
        for node in judged.named:
            sure = int(judged.beyond[node] <= SURE_BEYOND)
            of[sure] += 1
            right[sure] += node in bad
        if not bad and not judged.named and trial % 4 == 0:
            seen = smallest_seen(costs, CELLS, judged)
            if np.isfinite(seen):
                sizes += 1
                missed += 49 not in named(slowed(costs, {49}, float(np.expm1(seen))))
    said = "50 nodes, 4 cells x 6 launches, CoV 1%, nodes differ by 0.5%, all distributions"
    for sure, stated in ((1, 0.95), (0, 0.9)):
        if of[sure]:
            what = f"a named node is slow, {'high' if sure else 'medium'} confidence"
            yield Rate(what, said, right[sure], of[sure], stated, "coverage")
    if sizes:
        what = "no node is slower by the stated size, though one is"
        yield Rate(what, said, missed, sizes, 0.1, "false alarm")
