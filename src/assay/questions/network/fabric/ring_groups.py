"""Whether the hops of a ring show the groups of nodes that all pairs show.

Zaki et al. (1999) saw the switches of a cluster in the timeline of a ring; Barczak, Messom &
Johnson (2003, 3.3) did not. Here pairs determine the groups, and the ring is compared with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from assay.questions.common.selection import Point
from assay.questions.network.fabric.matrices import Hop, LaunchRatio, RingHops, over_launches

Groups = tuple[tuple[str, ...], ...]
Shown = Literal["shows", "hidden", "undecided"]
# Least ratio of hops between groups to hops within groups that programs notice.
NOTICED = 1.1


@dataclass(frozen=True)
class RingGroups:
    """The hops of a ring between nodes, within groups and between groups."""

    #: Time of a round.
    point: Point
    #: Hosts of each group.
    groups: Groups
    #: ``within``, ``between``: median time of hops between nodes of one group and of different
    #: groups, in s.
    within: float
    between: float
    #: ``between`` over ``within``.
    times: LaunchRatio
    #: Whether the topology shows in the ring: "shows" if the ratio is above 1.1 beyond the range of
    #: its launches, "hidden" if the 95% interval is below, else "undecided".
    shown: Shown
    #: Message size of the pairs that determine the groups, in bytes.
    pair_bytes: int


def ring_groups(
    ring: RingHops, groups: Groups, pair_bytes: int, rings: int = 1
) -> RingGroups | None:
    """The comparison, one of ``rings``.

    None if the ring lacks hops between nodes of a group, or between groups.
    """
    place = {host: number for number, members in enumerate(groups) for host in members}
    inside: list[Hop] = []
    outside: list[Hop] = []
    for hop in ring.hops:
        one, other = (place.get(host) for host in hop.hosts)
        if hop.crosses and one is not None and other is not None:
            (inside if one == other else outside).append(hop)
    if not inside or not outside:
        return None
    within, between = _median(inside), _median(outside)
    times = _ratio(inside, outside, between / within)
    return RingGroups(
        point=ring.point,
        groups=groups,
        within=within,
        between=between,
        times=times,
        shown=_shown(times, rings),
        pair_bytes=pair_bytes,
    )


def _median(hops: Sequence[Hop]) -> float:
    return float(np.median([hop.time for hop in hops]))


def _ratio(inside: Sequence[Hop], outside: Sequence[Hop], otherwise: float) -> LaunchRatio:
    """Across launches, since every launch has all hops."""
    counts = {len(hop.times) for hop in (*inside, *outside)}
    if len(counts) > 1:
        return LaunchRatio(otherwise, None)
    launches = range(counts.pop())
    return over_launches(
        [
            float(np.median([hop.times[k] for hop in outside]))
            / float(np.median([hop.times[k] for hop in inside]))
            for k in launches
        ],
        otherwise,
    )


def _shown(times: LaunchRatio, rings: int) -> Shown:
    if times.ci95 is None:
        return "undecided"
    if times.compared(comparisons=rings, equal=NOTICED).direction == "more":
        return "shows"
    return "hidden" if times.ci95[1] < NOTICED else "undecided"


def hop_kind(hop: Hop, found: RingGroups | None) -> str:
    """The kind of a hop: within a node or between nodes; with known groups also within a group."""
    if not hop.crosses:
        return "within a node"
    place = {host: k for k, members in enumerate(found.groups if found else ()) for host in members}
    one, other = (place.get(host) for host in hop.hosts)
    if one is None or other is None:
        return "between nodes"
    return "within a group" if one == other else "between groups"
