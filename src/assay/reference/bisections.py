"""Published bisection bandwidths, to set one's own beside."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PublishedBisection:
    """``both_ways``: B/s that a processor exchanges across the middle, in and out together."""

    cluster: str
    interconnect: str
    both_ways: float
    source: str


# "approx. 220 Mbps for a broad range of message sizes", one process a node, cut at nodes 32 and 33:
# about 110 Mbit/s each way.
HELIX = PublishedBisection(
    cluster="Helix",
    interconnect="Gigabit Ethernet",
    both_ways=220e6 / 8,
    source="Barczak, Messom & Johnson (2003), 3.4",
)
