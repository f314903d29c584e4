"""Published bisection bandwidths, for comparison."""

from __future__ import annotations

from dataclasses import dataclass

from assay.reference.papers.loading import figures_of


@dataclass(frozen=True)
class PublishedBisection:
    """A published bisection bandwidth."""

    cluster: str
    interconnect: str
    #: Bandwidth across the bisection per process, sum of both directions, B/s.
    both_ways: float
    source: str


# The value holds for a broad range of message sizes, one process per node, and a cut between nodes
# 32 and 33. Half of it flows each way.
HELIX = PublishedBisection(
    cluster="Helix",
    interconnect="Gigabit Ethernet",
    both_ways=figures_of("barczak-2003")["helix.bisection.both_ways"].si,
    source="Barczak, Messom & Johnson (2003), 3.4",
)
