"""Acceptance per node: wrong rejections and wrong acceptances of simulated machines.

Commitments on times, with a margin of 2%. Machines have 50 nodes with 9 launches each, unless
stated otherwise. The nodes that are not slow are exactly as promised, which is the hardest case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from acceptance import BUYER, DEPENDENT, LIMITS, MARGIN, SUPPLIER, median_of
from draws import COV, SHAPES, Rng
from rate import Rate

from assay.acceptance.node_decision import NodeDecision, decide_nodes
from assay.units import counted

NODES, OF_NODE = 50, 9


def rates(trials: int, seed: int) -> Iterable[Rate]:
    yield from _nodes(trials, seed)


@dataclass(frozen=True)
class Fleet:
    """Nodes of a simulated machine."""

    what: str
    draw: str = "normal"
    nodes: int = NODES
    sample: int = NODES
    launches: int = OF_NODE
    share: float = 1.0
    #: Number of nodes that are worse by the margin; the others are exactly as promised.
    bad: int = 0
    cov: float = 0.005

    def judge(self, rng: Rng) -> NodeDecision:
        """A random sample of its nodes."""
        slow = np.zeros(self.nodes)
        slow[: self.bad] = MARGIN
        chosen = rng.permutation(self.nodes)[: self.sample]
        draw: Callable[[Rng, int], np.ndarray] = {**SHAPES, **DEPENDENT}[self.draw]
        middle = median_of(self.draw)
        values = {
            f"n{node}": 100.0
            * (1.0 + slow[node])
            * (1.0 + (draw(rng, self.launches) / middle - 1.0) * self.cov / COV)
            for node in chosen
        }
        return decide_nodes(values, LIMITS, MARGIN, self.share, self.nodes, SUPPLIER, BUYER)


def _nodes(trials: int, seed: int) -> Iterator[Rate]:
    """Machines whose nodes are exactly at a limit, which is the hardest case."""
    fleets = [
        *(Fleet(name, name) for name in (*SHAPES, *DEPENDENT)),
        Fleet("6 launches", launches=6),
        Fleet("3 launches", launches=3),
        Fleet("6 launches", nodes=8, sample=8, launches=6),
        Fleet("24 launches", nodes=2, sample=2, launches=24),
    ]
    for number, fleet in enumerate(fleets):
        yield from _fleet(fleet, trials, (seed, 3000 + number), 0)
        yield from _fleet(_with(fleet, bad=1), trials, (seed, 4000 + number), 0)
    sampled = Fleet("80 of 400 nodes, share 95%", nodes=400, sample=80, share=0.95)
    for bad in (0, 20, 21):
        yield from _fleet(_with(sampled, bad=bad), trials // 4, (seed, 5000 + bad), 20)


def _with(fleet: Fleet, bad: int) -> Fleet:
    return Fleet(
        fleet.what, fleet.draw, fleet.nodes, fleet.sample, fleet.launches, fleet.share, bad,
        fleet.cov,
    )  # fmt: skip


def _fleet(fleet: Fleet, trials: int, seed: tuple[int, ...], allowed: int) -> Iterator[Rate]:
    rng = np.random.default_rng(seed)
    trials = max(trials, 1)
    found = [fleet.judge(rng) for _ in range(trials)]
    rejected = sum(each.outcome == "rejected" for each in found)
    accepted = sum(each.outcome == "accepted" for each in found)
    said = f"{fleet.bad} of {counted(fleet.nodes, 'node')} 2% slower, {fleet.what}, "
    said += f"CoV {fleet.cov:.1%}"
    if fleet.bad <= allowed:
        what = "a commitment per node is rejected"
        yield Rate(what, said, rejected, trials, SUPPLIER, "false alarm")
        what = "a commitment per node is accepted"
        yield Rate(what, said, accepted, trials, 0.0, "detection")
    else:
        what = "a commitment per node is accepted"
        yield Rate(what, said, accepted, trials, BUYER, "false alarm")
        what = "a commitment per node is rejected"
        yield Rate(what, said, rejected, trials, 0.0, "detection")
