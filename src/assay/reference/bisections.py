"""Published bisection bandwidths, for comparison."""

from __future__ import annotations

from dataclasses import dataclass

from assay.reference.papers.loading import figures_of


@dataclass(frozen=True)
class PublishedBisection:
    """Published bisection."""

    cluster: str
    interconnect: str
    #: B/s per process across the bisection, sum of both directions.
    both_ways: float
    source: str


# For a broad range of message sizes, one process per node, cut between nodes 32 and 33: half of it
# each way.
HELIX = PublishedBisection(
    cluster="Helix",
    interconnect="Gigabit Ethernet",
    both_ways=figures_of("barczak-2003")["helix.bisection.both_ways"].si,
    source="Barczak, Messom & Johnson (2003), 3.4",
)
