"""Hosts whose messages are slow are named by the reason of the network that stands out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from assay.subjects.why.answer import answer
from simulated_mpi import LinkCost, Net, Script
from why_launches import PlantedProgram, asked

RANKS, STEPS = 4, 20
LINK = LinkCost(2e-5, 1e-9, 2e-6)


@dataclass(frozen=True)
class _Uneven(Net):
    """``slow``: whether a message from one host to another takes five times as long."""

    slow: Callable[[str, str], bool] = lambda sender, receiver: False

    def link(self, hosts: Sequence[str], one: int, other: int) -> LinkCost:
        if not self.slow(hosts[one], hosts[other]):
            return self.between
        return LinkCost(5 * LINK.latency, 5 * LINK.gap, LINK.overhead)


def _all(script: Script, random: np.random.Generator) -> None:
    """Each rank exchanges large messages with each other rank. All begin an exchange together."""
    for step in range(STEPS):
        for distance in range(1, script.size):
            script.compute(0.02 * (1.0 + 0.01 * float(random.random())))
            script.barrier(site="step")
            to, source = (script.rank + distance) % script.size, (script.rank - distance)
            script.sendrecv(to, source % script.size, 500_000 * (1 + step % 4), site="exchange")


def _ring(script: Script, random: np.random.Generator) -> None:
    for step in range(STEPS):
        script.compute(0.01 * (1.0 + 0.01 * float(random.random())))
        to, source = (script.rank + 1) % script.size, (script.rank - 1) % script.size
        script.sendrecv(to, source, 500_000 * (1 + step % 4), site="exchange")


@pytest.mark.parametrize(
    ("program", "slow", "text"),
    [
        (_ring, lambda one, _: one == "n2", "from n2 to n3"),
        (_all, lambda one, _: one == "n2", "from n2"),
        (_all, lambda _, other: other == "n1", "to n1"),
        (_all, lambda one, other: "n2" in (one, other), "from and to n2"),
    ],
)
def test_the_hosts_are_named(
    program: Callable[[Script, np.random.Generator], None],
    slow: Callable[[str, str], bool],
    text: str,
) -> None:
    net = _Uneven(LINK, collective=5e-6, slow=slow)
    found = asked(PlantedProgram(program, ranks=RANKS, net=net), launches=3)
    assert found.first in ("bandwidth", "congestion")
    first = found.reason(found.first)  # type: ignore[arg-type]
    assert f"Messages {text} take at least " in first.evidence
    ratio = float(first.evidence.partition(" at least ")[2].split()[0])
    assert ratio == pytest.approx(5.0, rel=0.25)
    assert "n" in answer(found).advice[0].split("`assay check`")[0]


def test_equal_hosts_are_not_named() -> None:
    for program in (_ring, _all):
        net = _Uneven(LINK, collective=5e-6)
        found = asked(PlantedProgram(program, ranks=RANKS, net=net), launches=3)
        assert found.first in ("bandwidth", "congestion")
        first = found.reason(found.first)  # type: ignore[arg-type]
        assert "times as long as those of the same size" not in first.evidence
