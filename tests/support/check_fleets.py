"""Simulated fleets whose nodes are checked: levels, modes, tails, racks, the day and a decline."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.check.baseline.samples import LearningCheck
from assay.check.components import BY_NAME, COMPONENTS, CORE, OF_DEVICES
from assay.check.model import Reading

Array = np.ndarray
Draw = Callable[[np.random.Generator, tuple[int, ...]], Array]
# The nodes have no accelerators.
NAMES = tuple(each.name for each in COMPONENTS if each.name not in OF_DEVICES)
# Usual values in SI units, in the order of the components.
USUAL = (5.5e9, 2.4e12, 222e9, 98e-9, 1.1e9, 1.9e9, 1.6e-6, 24e9)
CPUS, JOBS, ROUNDS = 16, 20, 2
# Deviations of a CPU from its node: its own, and in a reading.
CPU_OWN, CPU_READING = 0.002, 0.002
_DAY = 86400.0
# When learning checks are made: sessions of the whole fleet, at these hours. Three are a beginning,
# and eight on three days are enough for slowness to drain.
SESSIONS = (8.0, 15.0, 37.0)
ENOUGH_SESSIONS = (8.0, 15.0, 22.0, 33.0, 37.0, 45.0, 51.0, 60.0)


def _lognormal(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return np.asarray((rng.lognormal(0.0, 0.5, shape) - 1.1331) / 0.6039)


def _outliers(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """One value in a hundred is five deviations slower."""
    return np.asarray(
        (rng.standard_normal(shape) + 5.0 * (rng.random(shape) < 0.01)) / np.sqrt(1.2475)
    )


# Deviations of a check, with a deviation of 1; positive is slower.
TAILS: dict[str, Draw] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "lognormal, sigma 0.5": _lognormal,
    "t with 3": lambda rng, shape: rng.standard_t(3, shape) / np.sqrt(3.0),
    "1% outliers": _outliers,
    "Laplace": lambda rng, shape: rng.laplace(size=shape) / np.sqrt(2.0),
    "gamma with 2": lambda rng, shape: (rng.gamma(2.0, size=shape) - 2.0) / np.sqrt(2.0),
}


@dataclass(frozen=True)
class FleetShape:
    """How the nodes of a fleet scatter. Deviations are of logarithms."""

    name: str
    nodes: int = 500
    tail: str = "normal"
    #: Standard deviations between nodes, between checks of a node, and between rounds of a check.
    between: float = 0.005
    checks: float = 0.005
    rounds: float = 0.002
    #: A share of 20% of checks is in a mode that is slower, so that the modes have 90% of the
    #: variance of checks; it lasts for so many checks on average; 0: no modes.
    lasting: float = 0.0
    #: Standard deviation of racks of 20 nodes; amplitude of the day; decline of all per day.
    racks: float = 0.0
    rhythm: float = 0.0
    decline: float = 0.0
    #: Share of a check's deviation that all components have in common.
    common: float = 0.3


@dataclass(frozen=True)
class FleetDraw:
    """Deviations of a fleet: [node, check, component, round], and of CPUs."""

    shape: FleetShape
    #: Unix time of each check [node, check], s.
    utc: Array
    deviations: Array
    #: [node, check, round, CPU]
    cpus: Array

    def readings(self, node: int, check: int, round_: int) -> dict[str, Reading]:
        """One round of a check."""
        values = (USUAL_VALUES * np.exp(SIGNS * self.deviations[node, check, :, round_])).tolist()
        found = {}
        for name, value in zip(NAMES, values, strict=True):
            if name == CORE:
                cores = (value * np.exp(-self.cpus[node, check, round_])).tolist()
                found[name] = Reading(component=name, values=cores, cpus=ALL_CPUS)
            else:
                found[name] = Reading(component=name, values=[value])
        return found


USUAL_VALUES = np.array(USUAL)
SIGNS = np.array([-1.0 if BY_NAME[name].better == "more" else 1.0 for name in NAMES])
ALL_CPUS = list(range(CPUS))


@dataclass(frozen=True)
class Nodes:
    """What is lasting of the nodes of a fleet."""

    #: [node, component], and [node, CPU].
    levels: Array
    cpus: Array


def draw_nodes(rng: np.random.Generator, shape: FleetShape) -> Nodes:
    """The nodes' own levels, with their racks'."""
    count = (shape.nodes, len(NAMES))
    levels = shape.between * rng.standard_normal(count)
    racks = -(-shape.nodes // 20)
    rack = shape.racks * rng.standard_normal((racks, len(NAMES)))
    levels += np.repeat(rack, 20, axis=0)[: shape.nodes]
    cpus = CPU_OWN * rng.standard_normal((shape.nodes, CPUS))
    return Nodes(levels, cpus)


def draw_checks(
    rng: np.random.Generator, shape: FleetShape, nodes: Nodes, utc: Array, rounds: int = ROUNDS
) -> FleetDraw:
    """Checks of healthy nodes at these times [node, check]."""
    count = (*utc.shape, len(NAMES))
    draw = TAILS[shape.tail]
    scatter = shape.checks
    deviations = np.zeros(count)
    if shape.lasting:
        slow = _states(rng, (*utc.shape, len(NAMES)), shape.lasting, utc)
        # A share of 0.2 at a distance of d has the variance 0.16 d^2.
        distance = np.sqrt(0.9 / 0.16) * scatter
        deviations += distance * slow
        scatter *= np.sqrt(0.1)
    shared = np.sqrt(shape.common) * draw(rng, utc.shape)
    alone = np.sqrt(1.0 - shape.common) * draw(rng, count)
    deviations += scatter * (shared[..., None] + alone)
    deviations += nodes.levels[:, None, :]
    day = shape.rhythm * np.sin(2.0 * np.pi * utc / _DAY) + shape.decline * utc / _DAY
    deviations += day[..., None]
    noise = shape.rounds * rng.standard_normal((*count, rounds))
    cpus = CPU_READING * rng.standard_normal((*utc.shape, rounds, CPUS))
    cpus += nodes.cpus[:, None, None, :]
    return FleetDraw(shape, utc, deviations[..., None] + noise, cpus)


def _states(rng: np.random.Generator, count: tuple[int, ...], lasting: float, utc: Array) -> Array:
    """Which checks are in the slow mode: 20%, for ``lasting`` checks at a time on average."""
    slow = np.zeros(count, dtype=bool)
    slow[:, 0] = rng.random((count[0], count[2])) < 0.2
    for check in range(1, count[1]):
        # A pause of more than two days forgets the state.
        apart = (utc[:, check] - utc[:, check - 1])[:, None] / (_DAY / JOBS)
        stays = rng.random((count[0], count[2])) < np.exp(-apart / lasting) * (lasting > 1.0)
        fresh = rng.random((count[0], count[2])) < 0.2
        slow[:, check] = np.where(stays, slow[:, check - 1], fresh)
    return slow


def learning_checks(
    rng: np.random.Generator,
    shape: FleetShape,
    nodes: Nodes,
    sessions: Sequence[float] = SESSIONS,
) -> list[LearningCheck]:
    """Sessions of all nodes at these hours, with three rounds each."""
    calm = replace(shape, decline=0.0)
    at = 3600.0 * np.array(sessions) + 60.0 * rng.random((shape.nodes, len(sessions)))
    drawn = draw_checks(rng, calm, nodes, at, rounds=3)
    return [
        LearningCheck(
            host=f"n{node}",
            utc=float(at[node, check]),
            rounds=[drawn.readings(node, check, number) for number in range(3)],
        )
        for node in range(shape.nodes)
        for check in range(len(sessions))
    ]


def job_times(rng: np.random.Generator, nodes: int, checks: int) -> Array:
    """Times of the checks of jobs, 20 a day, from the third day on."""
    gaps = rng.exponential(_DAY / JOBS, (nodes, checks))
    return 3.0 * _DAY + np.cumsum(gaps, axis=1)


def each_check(drawn: FleetDraw) -> Iterator[tuple[int, int]]:
    """Node and number of each check, the nodes one after another."""
    for node in range(drawn.utc.shape[0]):
        for check in range(drawn.utc.shape[1]):
            yield node, check
