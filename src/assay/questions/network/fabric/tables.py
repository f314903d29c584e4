"""Tables of the fabric: the hops of each ring."""

from __future__ import annotations

from assay.questions.common.tables import Entry, Table, TableBuilder, quantity
from assay.questions.network.fabric.findings import FabricFindings
from assay.questions.network.fabric.matrices import Hop, RingHops
from assay.questions.network.fabric.ring_groups import RingGroups, hop_kind
from assay.questions.network.parameters import message_bytes
from assay.units import format_size


def tables(found: FabricFindings) -> list[Table]:
    """A table per ring, in the ring's order."""
    groups = {id(each.point): each for each in found.ring_groups}
    rings = enumerate(found.rings, 1)
    return [_hops(ring, groups.get(id(ring.point)), number) for number, ring in rings]


def _hops(ring: RingHops, groups: RingGroups | None, number: int) -> Table:
    def ratio(hop: Hop) -> Entry:
        return Entry(f"{hop.ratio:.2f}", hop.ratio, tone="warn" if hop.stands_out else "")

    size = format_size(message_bytes(ring.point))
    mode, route = ring.point.parameter("mode"), ring.point.parameter("route")
    way = "concurrent" if mode == "together" else "token"
    return (
        TableBuilder(ring.hops)
        .text("hop", "Hop", lambda hop: f"{hop.sender} → {hop.receiver}")
        .text("hosts", "Hosts", lambda hop: " → ".join(hop.hosts))
        .text("kind", "Where", lambda hop: hop_kind(hop, groups))
        .numbers(
            "time", "Median [95% interval]", lambda hop: quantity(hop.time, "s", hop.ci95), unit="s"
        )
        .numbers("ratio", "Against hops of its kind", ratio)
        .table(
            f"ring-hops-{number}",
            f"Hops of the ring, {way}, {route} order: {size}",
            caption="Hops are within a node or between nodes. Marked hops are outliers among "
            "hops of their kind.",
            folded=True,
        )
    )
