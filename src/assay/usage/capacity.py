"""The number of processors over time, and the source of this number."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from assay.usage.jobs import MachineFacts, Outage
from assay.usage.timeline import (
    StepFunction,
    constant,
    difference,
    greatest,
    least,
    occupied,
    total,
)

CapacitySource = Literal["stated", "node events", "node counts", "header", "most in use"]


@dataclass(frozen=True)
class Capacity:
    """Processors of the machine: the most at any time, their number over time, and the number down
    over time."""

    source: CapacitySource
    processors: int
    size: StepFunction
    down: StepFunction

    def available(self, busy: StepFunction) -> StepFunction:
        """Processors that were up, or in use although recorded as down."""
        return greatest(difference(self.size, self.down), self.counted(busy))

    def counted(self, busy: StepFunction) -> StepFunction:
        """Processors in use, but not more than the machine has."""
        return least(busy, self.size)


def known_capacity(
    machine: MachineFacts, stated: int | None, last: float, per_node: int = 0
) -> Capacity | None:
    """The capacity: as stated, else from node events, else from the log's header; None without a
    source.

    ``last``: the Unix time until which nodes that are still down are counted. ``per_node``: the
    processors of a node, for events that don't state them; 0 if they are unknown.
    """
    down = _down(machine.outages, last, per_node)
    if stated is not None:
        return Capacity("stated", stated, constant(stated), down)
    sizes = sorted((each.start, each.processors) for each in machine.sizes if each.processors > 0)
    source: CapacitySource = "node events"
    if not sizes and per_node:
        sizes = sorted(
            (each.start, each.nodes * per_node) for each in machine.sizes if each.nodes > 0
        )
        source = "node counts"
    if sizes:
        levels = np.array([float(size) for _, size in sizes])
        # Before the first event, the size is assumed to be the first one.
        size = StepFunction(np.array([when for when, _ in sizes]), levels, float(levels[0]))
        return Capacity(source, int(levels.max()), size, down)
    if machine.processors:
        return Capacity("header", machine.processors, constant(machine.processors), down)
    return None


def combined(capacities: Sequence[Capacity]) -> Capacity:
    """The capacity of several clusters together."""
    sources = {each.source for each in capacities}
    size = total([each.size for each in capacities])
    return Capacity(
        sources.pop() if len(sources) == 1 else "node events",
        int(max(size.levels.max(initial=0.0), size.before)),
        size,
        total([each.down for each in capacities]),
    )


def most_in_use(machine: MachineFacts, in_use: float, last: float, per_node: int = 0) -> Capacity:
    """The most processors ever in use: the least capacity that the machine can have had."""
    most = math.ceil(in_use)
    return Capacity("most in use", most, constant(most), _down(machine.outages, last, per_node))


def _down(outages: list[Outage], last: float, per_node: int) -> StepFunction:
    """Processors down over time; overlapping events of a node count once."""
    by_node: dict[str, list[Outage]] = defaultdict(list)
    for each in outages:
        by_node[each.node].append(each)
    merged: list[tuple[float, float, int]] = []
    for events in by_node.values():
        begin = end = -math.inf
        size = 0
        for each in sorted(events, key=lambda event: event.start):
            until = each.end if math.isfinite(each.end) else max(last, each.start)
            processors = each.processors if each.processors >= 0 else per_node
            if each.start > end:
                merged.append((begin, end, size))
                begin, end, size = each.start, until, processors
            else:
                end, size = max(end, until), max(size, processors)
        merged.append((begin, end, size))
    known = [each for each in merged if math.isfinite(each[0])]
    if not known:
        return constant(0.0)
    starts, ends, sizes = (
        np.array(values, dtype=np.float64) for values in zip(*known, strict=True)
    )
    return occupied(starts, ends, sizes)
