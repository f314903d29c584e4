"""Hosts that slow the sets that contain them, for cells that ran on several sets of hosts.

The topic of causes compares whole sets of hosts and gives the variance that they explain. Sets that
share hosts make it possible to estimate the effect of a single host.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from assay.hostnames import expand_hosts
from assay.kernels.naming import cell_title
from assay.stats.attribution.host_effects import MIN_SETS, find_host_effects
from assay.stats.compare.directions import compared
from assay.stats.repeats.repeats import Repeats
from assay.units import Interval


@dataclass(frozen=True)
class SlowHosts:
    """Hosts that slow the sets that contain them."""

    #: Names of the hosts; several if they were always in the same sets.
    hosts: tuple[str, ...]
    #: Id of the cell in which the effect is most significant.
    cell: str
    #: Kernel, parameters and placement of the cell.
    label: str
    #: Cost of sets with these hosts over sets without them, while the other hosts are equal.
    ratio: float
    #: 95% interval of ``ratio``.
    ci95: Interval
    #: Number of sets that contain the hosts.
    sets: int
    #: Number of all sets.
    of_sets: int
    #: p-value, corrected over hosts.
    p: float


@dataclass(frozen=True)
class HostEffectFindings:
    """The effects of hosts on the sets that contain them."""

    #: Hosts that slow their sets, in the order of selection; the first explains most.
    slow: tuple[SlowHosts, ...]
    #: Maximum number of different sets that a cell ran on.
    sets: int


def find(repeats: Sequence[Repeats]) -> HostEffectFindings | None:
    """Find host effects; None if no cell ran on enough sets, or no two sets share a host."""
    usable = [each for each in repeats if _sets_overlap(each)]
    if not usable:
        return None
    known = [each.take([bool(hosts) for hosts in each.hosts]) for each in usable]
    hosts = [[expand_hosts(text) for text in each.hosts] for each in known]
    slow = []
    effects = find_host_effects([each.cost for each in known], hosts)
    number = len({host for each in hosts for one in each for host in one}) * len(known)
    for effect in effects:
        cell = known[effect.cell].cell
        low, high = effect.interval
        found = compared(
            math.exp(effect.effect),
            (math.exp(low), math.exp(high)),
            launches=effect.of,
            comparisons=number,
        )
        if found.direction != "more":
            continue
        slow.append(
            SlowHosts(
                hosts=effect.hosts,
                cell=cell.id,
                label=cell_title(cell),
                ratio=math.exp(effect.effect),
                ci95=(math.exp(low), math.exp(high)),
                sets=effect.sets,
                of_sets=effect.of,
                p=effect.p,
            )
        )
    return HostEffectFindings(tuple(slow), max(len(set(each.hosts)) for each in known))


def _sets_overlap(repeats: Repeats) -> bool:
    """Whether a cell ran on enough different sets, and some of them share a host."""
    sets = {text for text in repeats.hosts if text}
    if len(sets) < MIN_SETS:
        return False
    hosts = [host for text in sets for host in expand_hosts(text)]
    return len(set(hosts)) < len(hosts)
