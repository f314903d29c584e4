"""Phases that ranks of a simulated program report, and the true causes of their losses.

Splits of a placement's time, causes and predictions are tested against them: nothing here describes
a real machine.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from assay.models.placement.components import (
    BETWEEN,
    CONTENTION,
    IMBALANCE,
    MESSAGES,
    SHARED,
    THREADS,
    WITHIN,
    Component,
)
from assay.models.placement.placed import Demand, NodeModel, Placed, equal_ranks_of
from assay.models.placement.prediction import (
    ContentionModel,
    calibration_placements,
    fit_contention_model,
)
from assay.models.placement.search import PlacementCandidate
from assay.models.placement.time_breakdown import Loss, loss_by_cores, split
from contention import SimulatedMachine

LAUNCHES = 6
# Minimum lead of a cause, and minimum share of the time, for a cause that must be named.
LEADS, TAKES = 0.05, 0.07
# A named cause that is truly less than this share of the greatest one is wrong.
_NEARLY = 0.7


def plainly(ppn: int) -> PlacementCandidate:
    """This many ranks per node of one thread, with default placement otherwise."""
    return PlacementCandidate((ppn, 1), ("compact", "block", "default", "own"))


def rank_counts(machine: SimulatedMachine) -> list[int]:
    """The tested numbers of ranks per node: powers of 2, and one rank on every core."""
    powers = [1 << power for power in range(machine.cores.bit_length())]
    return sorted({*(power for power in powers if power <= machine.cores), machine.cores})


def with_threads(machine: SimulatedMachine) -> list[PlacementCandidate]:
    """All placements with threads, spread or on shared cores: in block order, over the adapter of
    the default placement.
    """
    found = {
        PlacementCandidate(candidate.counts, (binding, "block", "default", sharing))
        for candidate in machine.candidates
        for binding, _, _, sharing in [candidate.words]
    }
    plain = {plainly(ppn) for ppn, _ in (candidate.counts for candidate in found)}
    return sorted(found - plain, key=lambda one: (one.counts, one.words))


def on_same_cores(
    machine: SimulatedMachine, candidate: PlacementCandidate
) -> list[PlacementCandidate]:
    """Placements of one-thread ranks on its cores: one per thread, and one per core."""
    (ppn, threads), (binding, order, adapter, sharing) = candidate.counts, candidate.words
    seated = PlacementCandidate((ppn * threads, 1), candidate.words)
    if sharing == "own":
        return [seated]
    cores = len(machine.seats(candidate).cores_used)
    return [seated, PlacementCandidate((cores, 1), (binding, order, adapter, "own"))]


def simulated_phases(
    machine: SimulatedMachine, where: int | PlacementCandidate, random: np.random.Generator
) -> Placed:
    """Phases that ranks report at a placement in six launches: with noise, without causes.

    A number means ranks per node with default placement.
    """
    candidate = plainly(where) if isinstance(where, int) else where
    ppn, threads = candidate.counts
    parts = machine.parts(candidate)
    waited = parts.near + parts.far + parts.imbalance
    most = parts.computing + parts.imbalance
    truth = np.array([parts.computing + waited, parts.computing, most, waited]) * parts.factor
    noise = np.exp(random.normal(0.0, machine.noise, size=(LAUNCHES, 1)))
    ranks = machine.nodes * ppn
    return Placed(
        name=f"{machine.seed}/{machine.nodes}/{candidate}",
        nodes=machine.nodes,
        ppn=ppn,
        threads=threads,
        demand=Demand(
            flops=machine.work,
            traffic=machine.traffic,
            messages=machine.steps * ranks if ranks > 1 else 0.0,
            sent=machine.surface * ranks ** (1 / 3) * machine.steps if ranks > 1 else 0.0,
            near=1.0 if machine.nodes == 1 else 1.0 - 1.0 / ppn ** (1 / 3),
        ),
        launches=truth * noise,
        affinity=machine.seats(candidate),
    )


def known_facts(machine: SimulatedMachine, *, pingpong: bool) -> NodeModel:
    """Its saturation curves, and the ping-pong results of its memory and its adapter."""
    streams = {n: machine.stream(n) for n in rank_counts(machine)}
    per_domain = machine.cores // machine.domains
    domain = {n: n * machine.given(n) for n in {*streams, per_domain} if n <= per_domain}
    facts = NodeModel(streams, domain=domain, domains=machine.domains)
    if not pingpong:
        return facts
    return dataclasses.replace(
        facts,
        near=lambda size: machine.latency + size / (machine.bandwidth / 4),
        far=lambda size: machine.latency + size / machine.adapter_rates[0],
    )


def simulated_loss(
    machine: SimulatedMachine, where: int | PlacementCandidate, random: np.random.Generator
) -> Loss:
    """The estimated loss of a placement against one rank per node, with ping-pong."""
    facts = known_facts(machine, pingpong=True)
    one, here = simulated_phases(machine, 1, random), simulated_phases(machine, where, random)
    spread = dataclasses.replace(machine, nodes=machine.nodes * here.cores)
    apart = simulated_phases(spread, 1, random)
    same_cores = None
    if not isinstance(where, int):
        beside = [simulated_phases(machine, same, random) for same in on_same_cores(machine, where)]
        same_cores = equal_ranks_of(here, beside)
    return loss_by_cores(split(here, one, apart, facts, same_cores), split(one, one, None, facts))


def learned(
    machine: SimulatedMachine, facts: NodeModel, random: np.random.Generator
) -> tuple[ContentionModel | None, list[PlacementCandidate]]:
    """The model fitted to one rank per node, one rank on every core, and a thread placement.

    Also returns the placements with threads that were not used for the fit.
    """
    one, full = (
        simulated_phases(machine, 1, random),
        simulated_phases(machine, machine.cores, random),
    )
    simulated = {where: simulated_phases(machine, where, random) for where in with_threads(machine)}
    given = calibration_placements(full, list(simulated.values()))
    left = [where for where, placed in simulated.items() if placed not in given]
    return fit_contention_model(one, full, facts, given), left


def causes_of(losses: Mapping[Component, float]) -> dict[Component, float]:
    """The same by causes that may be named: each cause, and all messages together."""
    return {**losses, MESSAGES: losses[WITHIN] + losses[BETWEEN]}


def named_rightly(cause: Component, losses: Mapping[Component, float]) -> bool:
    """Whether a cause is the greatest; for messages, whether those named are the greater part."""
    reach = cause in (WITHIN, BETWEEN)
    if reach and losses[cause] < max(losses[WITHIN], losses[BETWEEN]) / 2:
        return False
    found = causes_of(losses)
    return found[MESSAGES if reach else cause] >= _NEARLY * max(found.values())


def lead_of(losses: Mapping[Component, float]) -> float:
    """The lead of the greatest cause as a share of the time, with all messages as one cause."""
    others = {n: share for n, share in causes_of(losses).items() if n not in (WITHIN, BETWEEN)}
    first, second = sorted(others.values(), reverse=True)[:2]
    return first - second


def true_losses(
    machine: SimulatedMachine, where: int | PlacementCandidate
) -> Mapping[Component, float]:
    """The loss of a placement against one rank per node, by cause, as shares of its time."""
    candidate = plainly(where) if isinstance(where, int) else where
    one, all_ = machine.parts(plainly(1)), machine.parts(candidate)
    same_cores = [machine.parts(same) for same in on_same_cores(machine, candidate)]
    seated, separate = same_cores[0], same_cores[-1]
    scale = one.factor / len(machine.seats(candidate).cores_used) / all_.factor
    whole = all_.time / all_.factor
    return {
        CONTENTION: (separate.computing - separate.unshared) / whole,
        SHARED: (seated.computing - separate.computing) / whole,
        THREADS: (all_.computing - seated.computing) / whole,
        IMBALANCE: (all_.imbalance - scale * one.imbalance) / whole,
        WITHIN: (all_.near - scale * one.near) / whole,
        BETWEEN: (all_.far - scale * one.far) / whole,
    }


@dataclasses.dataclass
class Named:
    """How many losses had a clear cause; for how many it was named, and for how many another.

    A cause is clear if it leads by at least ``LEADS`` of the time and takes at least ``TAKES`` of
    it.
    """

    clear: int = 0
    named: int = 0
    wrong: int = 0

    def take(
        self,
        machine: SimulatedMachine,
        where: int | PlacementCandidate,
        random: np.random.Generator,
    ) -> None:
        """Count the estimated loss of a placement against one rank per node."""
        found = simulated_loss(machine, where, random).leading(0.02)
        truth = true_losses(machine, where)
        if lead_of(truth) < LEADS or max(causes_of(truth).values()) < TAKES:
            return
        self.clear += 1
        if found is not None:
            right = named_rightly(found, truth)
            self.named, self.wrong = self.named + right, self.wrong + (not right)
