"""Checks of nodes whose common speed moves within an hour, with baselines of few sessions.

The speed of all nodes is an Ornstein-Uhlenbeck process with a time constant of 30 minutes in each
of three components, or falls by 11% for 20 minutes at a time, in 5% of the time. Baselines are
learned from sessions of two learning checks per node, 3 to 20 hours apart. With fewer than eight
sessions slowness can't drain. Healthy nodes are then checked 40 times, half of the fleets 20 times
a day and half ten times as often. Slow nodes are checked 20 times a day for a week. Nodes scatter
by 0.5%, checks by 1%.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
from node_checks import FALSE, WEEK, NodeChecks
from rate import Rate

from assay.check.baseline.learn import Learning, learn
from assay.check.baseline.model import Baseline
from assay.check.baseline.samples import LearningCheck
from assay.check.model import Reading
from check_fleets import JOBS, NAMES, FleetDraw, FleetShape, Nodes, draw_checks, draw_nodes

COMPONENTS = ("product", "stream", "latency")
PLACES = [NAMES.index(name) for name in COMPONENTS]
DAY, STEP, CONSTANT = 86400.0, 300.0, 1800.0
# Checks of a node, and how much more often than 20 times a day.
CHECKS, FAST = 40, 10.0
SIZES = (0.05, 0.1, 0.2)
# Time that a course covers: the sessions, then a week and more.
HORIZON = 40.0 * DAY
# Only the host of virtual machines slows all of them by a tenth for some minutes.
VIRTUAL = "virtual machines, 11% slower in 5% of the time"


def ornstein(deviation: float) -> Callable[[np.random.Generator], np.ndarray]:
    """Courses [step, component] of an Ornstein-Uhlenbeck process with this standard deviation."""

    def draw(rng: np.random.Generator) -> np.ndarray:
        stay = np.exp(-STEP / CONSTANT)
        steps = int(HORIZON / STEP) + 1
        noise = np.sqrt(1.0 - stay**2) * rng.standard_normal((steps, len(COMPONENTS)))
        noise[0] = rng.standard_normal(len(COMPONENTS))
        found = np.empty_like(noise)
        value = noise[0]
        for place in range(steps):
            value = stay * value + noise[place] if place else noise[0]
            found[place] = value
        return deviation * found

    return draw


def episodes(rng: np.random.Generator) -> np.ndarray:
    """Courses that are 11% slower for 20 minutes at a time, in 5% of the time."""
    steps, lasting = int(HORIZON / STEP) + 1, 4
    begins = rng.random((steps, len(COMPONENTS))) < 0.05 / lasting
    slow = np.zeros((steps, len(COMPONENTS)), dtype=bool)
    for late in range(lasting):
        slow[late:] |= begins[: steps - late]
    return 0.11 * slow


COURSES: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
    "SD 3%": ornstein(0.03),
    "SD 5%": ornstein(0.05),
    VIRTUAL: episodes,
}


@dataclass
class MovingFleet:
    """A fleet whose speed moves, and its baseline."""

    rng: np.random.Generator
    shape: FleetShape
    nodes: Nodes
    course: np.ndarray
    #: When its baseline was learned, s.
    until: float
    baseline: Baseline | None = None

    def draw(self, count: int, pace: float, plant: float = 0.0) -> FleetDraw:
        """Further checks of all nodes; ``plant``: by how much all are slower in one component."""
        gaps = self.rng.exponential(DAY / (JOBS * pace), (self.shape.nodes, count))
        drawn = moved(self, self.until + np.cumsum(gaps, axis=1))
        drawn.deviations[:, :, PLACES[0]] += plant
        return drawn


def moved(fleet: MovingFleet, utc: np.ndarray, rounds: int = 2) -> FleetDraw:
    """Checks at these times [node, check], with the course of the speed."""
    drawn = draw_checks(fleet.rng, fleet.shape, fleet.nodes, utc, rounds)
    place = np.minimum((utc / STEP).astype(int), fleet.course.shape[0] - 1)
    drawn.deviations[:, :, PLACES] += fleet.course[place][..., None]
    return drawn


def moving_fleet(nodes: int, sessions: int, course: str, seed: tuple[int, ...]) -> MovingFleet:
    """A fleet learned from in this number of sessions."""
    rng = np.random.default_rng(seed)
    shape = FleetShape("moving", nodes=nodes, checks=0.01)
    begin = np.cumsum(rng.uniform(3.0, 20.0, sessions)) * 3600.0
    fleet = MovingFleet(
        rng=rng,
        shape=shape,
        nodes=draw_nodes(rng, shape),
        course=COURSES[course](rng),
        until=float(begin[-1]) + 7200.0,
    )
    utc = np.repeat(begin, 2)[None, :] + rng.uniform(0.0, 180.0, (nodes, 2 * sessions))
    drawn = moved(fleet, utc, rounds=3)
    checks = [
        LearningCheck(
            host=f"n{node}",
            utc=float(utc[node, check]),
            rounds=[chosen(drawn, node, check, number) for number in range(3)],
        )
        for node in range(nodes)
        for check in range(2 * sessions)
    ]
    virtual = course == VIRTUAL
    fleet.baseline = learn(Learning(kind="k", program="p", checks=checks, virtual=virtual))
    return fleet


def chosen(drawn: FleetDraw, node: int, check: int, number: int) -> dict[str, Reading]:
    """The readings of the components that are simulated."""
    readings = drawn.readings(node, check, number)
    return {name: readings[name] for name in COMPONENTS}


@dataclass
class Counts:
    """Checks of healthy nodes, and slow nodes by size."""

    checks: int = 0
    drains: int = 0
    #: Slow nodes that were drained, and all, by size.
    found: list[int] = field(default_factory=lambda: [0] * len(SIZES))
    slow: list[int] = field(default_factory=lambda: [0] * len(SIZES))

    def add(self, fleet: MovingFleet, number: int, slow: int) -> None:
        """Check the fleet, and ``slow`` of its nodes by every size."""
        baseline, pace = fleet.baseline, FAST if number % 2 else 1.0
        assert baseline is not None
        drawn = fleet.draw(CHECKS, pace)
        for node in range(fleet.shape.nodes):
            each = NodeChecks(components=COMPONENTS)
            for check in range(CHECKS):
                outcome, _ = each.check(baseline, drawn, node, check)
                self.checks += 1
                self.drains += outcome == "unhealthy"
        for place, size in enumerate(SIZES if slow else ()):
            planted = fleet.draw(WEEK, 1.0, plant=-np.log1p(-size))
            for node in range(min(slow, fleet.shape.nodes)):
                each = NodeChecks(components=COMPONENTS)
                outcomes = (each.check(baseline, planted, node, check)[0] for check in range(WEEK))
                self.found[place] += "unhealthy" in outcomes
                self.slow[place] += 1

    def rows(self, said: str) -> Iterator[Rate]:
        """The rates; nothing is stated for slow nodes."""
        what = "a check drains a good node of a moving fleet"
        yield Rate(what, said, self.drains, self.checks, FALSE, "false alarm")
        for size, found, of in zip(SIZES, self.found, self.slow, strict=True):
            if of:
                what = f"a node of a moving fleet is {size:.0%} slower: drained within a week"
                yield Rate(what, said, found, of, 0.0, "detection")


def rates(trials: int, seed: int) -> Iterable[Rate]:
    """With 1,000 trials about 800,000 checks of good nodes."""
    for place, course in enumerate(COURSES):
        for sessions in (1, 2, 3, 5, 10, 20):
            for nodes in (1, 2, 4, 50):
                few = sessions < 8
                fleets = max(trials * (10 if few else 400) // (1000 * min(nodes, 10)), 2)
                counts = Counts()
                for number in range(fleets):
                    fleet = moving_fleet(nodes, sessions, course, (seed, place, sessions, number))
                    counts.add(fleet, number, 2 if not few and number % 4 == 0 else 0)
                said = f"{course}, baseline of {sessions} session{'s' * (sessions > 1)}, "
                yield from counts.rows(f"{said}{nodes} node{'s' * (nodes > 1)}")
