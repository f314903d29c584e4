"""Published latencies and bandwidths of messages, from the figures in ``papers/``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from assay.reference.papers.loading import figures_of


@dataclass(frozen=True)
class PublishedMessages:
    """A published ping-pong between two nodes."""

    system: str
    network: str
    year: int
    #: Bandwidth of long messages, B/s.
    bandwidth: float
    source: str
    #: Latency, s.
    latency: float | None = None


@cache
def published_messages() -> tuple[PublishedMessages, ...]:
    """Seth, Helix, The Sisters, and both networks of the PowerEdge SC1425 cluster."""
    seth, massey, dell = map(figures_of, ("edmundsson-2004", "barczak-2003", "pepper-2005"))

    def of_peak(cluster: str) -> float:
        """The paper prints bandwidths as shares of the theoretical bandwidths."""
        share, peak = massey[f"{cluster}.pingpong.of_peak"], massey[f"{cluster}.link.bandwidth"]
        return round(share.si * peak.si, 3)

    sc1425 = [
        PublishedMessages(
            system="PowerEdge SC1425",
            network=network,
            year=2005,
            latency=dell[f"sc1425.pingpong.latency.{kind}"].si,
            bandwidth=dell[f"sc1425.pingpong.bandwidth.{kind}"].si,
            source="Pepper & Gupta (2005), figures 1 and 2",
        )
        for network, kind in (("Gigabit Ethernet", "ethernet"), ("Myrinet", "myrinet"))
    ]
    return (
        PublishedMessages(
            system="Seth",
            network="SCI",
            year=2002,
            latency=seth["seth.pingpong.latency"].si,
            bandwidth=seth["seth.pingpong.bandwidth"].si,
            source="Edmundsson et al. (2004), 5.2",
        ),
        PublishedMessages(
            system="Helix",
            network="Gigabit Ethernet",
            year=2003,
            latency=massey["helix.pingpong.latency"].si,
            bandwidth=of_peak("helix"),
            source="Barczak, Messom & Johnson (2003), 3.2",
        ),
        PublishedMessages(
            system="Sisters",
            network="Fast Ethernet",
            year=2003,
            bandwidth=of_peak("sisters"),
            source="Barczak, Messom & Johnson (2003), 3.2",
        ),
        *sc1425,
    )
