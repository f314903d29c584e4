"""Hosts that slow the sets of hosts they are part of, for cells that ran on several sets.

The topic of causes compares whole sets of hosts and gives the variance that they explain, but not
the effect of a single host. Sets that share hosts allow estimating it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from assay.hostnames import expand_hosts
from assay.kernels.naming import cell_title
from assay.stats.attribution.host_effects import MIN_SETS, find_host_effects
from assay.stats.repeats.repeats import Repeats
from assay.units import Interval


@dataclass(frozen=True)
class SlowHosts:
    """Hosts that slow the sets they are part of."""

    #: Their names; several if they were always in the same sets.
    hosts: tuple[str, ...]
    #: The id of the cell in which the effect is most significant.
    cell: str
    #: Its kernel, parameters and placement.
    label: str
    #: The cost of sets with these hosts over that of sets without, given the other hosts.
    ratio: float
    #: Its 95% interval.
    ci95: Interval
    #: Number of sets that they were in.
    sets: int
    #: Number of all sets.
    of_sets: int
    #: Corrected over hosts.
    p: float


@dataclass(frozen=True)
class HostEffectFindings:
    """The effects of hosts on the sets of hosts they are part of."""

    #: Hosts that slow their sets, in the order of selection, the one that explains most first.
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
    for effect in find_host_effects([each.cost for each in known], hosts):
        cell = known[effect.cell].cell
        low, high = effect.interval
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
    """Whether a cell ran on enough different sets, of which some have a host in common."""
    sets = {text for text in repeats.hosts if text}
    if len(sets) < MIN_SETS:
        return False
    hosts = [host for text in sets for host in expand_hosts(text)]
    return len(set(hosts)) < len(hosts)
