"""Lengths of cables: racks in rows on a floor, cables along the aisles."""

from __future__ import annotations

from dataclasses import dataclass

from assay.topologies.kinds import Topology
from assay.topologies.wiring import wiring_of


@dataclass(frozen=True)
class Floor:
    """How racks stand. ``rack``, ``aisle``: distance between racks and between rows, m.

    ``slack``: m that each cable needs within racks, at both ends together. Defaults suit 19-inch
    racks, 0.6 m wide, in rows 2.4 m apart.
    """

    hosts_per_rack: int = 10
    racks_per_row: int = 12
    rack: float = 0.6
    aisle: float = 2.4
    slack: float = 2.0


def cable_lengths(topology: Topology, floor: Floor | None = None) -> list[float]:
    """Lengths of all cables in m. Hosts fill racks in order; a switch is in its hosts' middle rack.

    Switches without hosts (core, spines) are in the middle of the floor.
    """
    floor = floor or Floor()
    wiring = wiring_of(topology)
    rack = {host: number // floor.hosts_per_rack for number, host in enumerate(wiring.hosts)}
    beside: dict[str, list[int]] = {switch: [] for switch in wiring.switches}
    for cable in wiring.cables:
        for switch, host in ((cable.one, cable.other), (cable.other, cable.one)):
            if switch in beside and host in rack:
                beside[switch].append(rack[host])
    middle = max(rack.values()) // 2
    for switch, racks in beside.items():
        rack[switch] = sorted(racks)[len(racks) // 2] if racks else middle

    def length(one: str, other: str) -> float:
        (row, place), (to_row, to_place) = (
            divmod(rack[node], floor.racks_per_row) for node in (one, other)
        )
        return floor.slack + floor.rack * abs(place - to_place) + floor.aisle * abs(row - to_row)

    return [length(cable.one, cable.other) for cable in wiring.cables]
