"""What the ranks of a simulated program would tell of their phases, and what truly slows them.

Splits of a placement's time, causes and predictions are held against it: nothing here describes a
real machine.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from assay.models.contention import SimulatedMachine
from assay.models.placement_search import Candidate
from assay.models.placement_time import (
    BETWEEN,
    CONTENTION,
    IMBALANCE,
    MESSAGES,
    WITHIN,
    Demand,
    Machine,
    Placed,
)

LAUNCHES = 6
# A cause that is truly less than this of the greatest one is a wrong one.
_NEARLY = 0.7


def plainly(ppn: int) -> Candidate:
    """So many ranks a node of one thread, placed the plainest way."""
    return Candidate((ppn, 1), ("compact", "block", "default", "own"))


def rank_counts(machine: SimulatedMachine) -> list[int]:
    """Ranks a node that are tried: powers of 2, and one on every core."""
    powers = [1 << power for power in range(machine.cores.bit_length())]
    return sorted({*(power for power in powers if power <= machine.cores), machine.cores})


def told_phases(machine: SimulatedMachine, ppn: int, random: np.random.Generator) -> Placed:
    """What ranks tell at a placement in six launches: phases with noise, and no causes."""
    parts = machine.parts(plainly(ppn))
    waited = parts.near + parts.far + parts.imbalance
    most = parts.computing + parts.imbalance
    truth = np.array([parts.computing + waited, parts.computing, most, waited]) * parts.factor
    noise = np.exp(random.normal(0.0, machine.noise, size=(LAUNCHES, 1)))
    ranks = machine.nodes * ppn
    return Placed(
        name=f"{machine.seed}/{machine.nodes}/{ppn}",
        nodes=machine.nodes,
        ppn=ppn,
        threads=1,
        demand=Demand(
            flops=machine.work,
            traffic=machine.traffic,
            messages=machine.steps * ranks,
            sent=machine.surface * ranks ** (1 / 3) * machine.steps,
            near=1.0 if machine.nodes == 1 else 1.0 - 1.0 / ppn ** (1 / 3),
        ),
        launches=truth * noise,
    )


def known_facts(machine: SimulatedMachine, *, pingpong: bool) -> Machine:
    """Its saturation curve, and what ping-pong over its memory and its adapter would say."""
    per_domain = machine.cores // machine.domains
    streams = {n: machine.stream(n, -(-n // per_domain)) for n in rank_counts(machine)}
    if not pingpong:
        return Machine(streams)
    return Machine(
        streams,
        near=lambda size: machine.latency + size / (machine.bandwidth / 4),
        far=lambda size: machine.latency + size / machine.adapter_rates[0],
    )


def causes_of(losses: Mapping[int, float]) -> dict[int, float]:
    """The same by what may be named: each cause, and all messages together."""
    return {**losses, MESSAGES: losses[WITHIN] + losses[BETWEEN]}


def named_rightly(cause: int, losses: Mapping[int, float]) -> bool:
    """Whether a cause is the greatest; of messages, whether those named are not the lesser part."""
    reach = cause in (WITHIN, BETWEEN)
    if reach and losses[cause] < max(losses[WITHIN], losses[BETWEEN]) / 2:
        return False
    found = causes_of(losses)
    return found[MESSAGES if reach else cause] >= _NEARLY * max(found.values())


def lead_of(losses: Mapping[int, float]) -> float:
    """By how much of the time the greatest cause leads, with all messages as one."""
    others = {n: share for n, share in causes_of(losses).items() if n not in (WITHIN, BETWEEN)}
    first, second = sorted(others.values(), reverse=True)[:2]
    return first - second


def true_losses(machine: SimulatedMachine, ppn: int) -> Mapping[int, float]:
    """What a placement loses against one rank a node, by cause, as shares of its time."""
    one, all_ = machine.parts(plainly(1)), machine.parts(plainly(ppn))
    scale = one.factor / ppn / all_.factor
    whole = all_.time / all_.factor
    return {
        CONTENTION: (all_.computing - all_.unshared) / whole,
        IMBALANCE: (all_.imbalance - scale * one.imbalance) / whole,
        WITHIN: (all_.near - scale * one.near) / whole,
        BETWEEN: (all_.far - scale * one.far) / whole,
    }
