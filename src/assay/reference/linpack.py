"""Published Linpack results and their shares of limits, for comparison with one's own."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PublishedLinpack:
    """A published result; what its source does not give is None.

    ``rate``: flop/s at order ``order``; ``half``: N½. ``of_peak``: its share of the theoretical
    peak; ``of_ranks``: of DGEMM on one processor times the processors; ``of_nodes``: of DGEMM on
    one node times the nodes; ``times_node``: over Linpack on one node. ``price``: of the whole
    system, in ``currency``.
    """

    system: str
    year: int
    rate: float
    order: int
    source: str
    half: int | None = None
    of_peak: float | None = None
    of_ranks: float | None = None
    of_nodes: float | None = None
    times_node: float | None = None
    nodes: int | None = None
    price: float | None = None
    currency: str = ""


# 5.4; the price is the abstract's. 480.7 / (240 * 2.664) and 480.7 / (120 * 5.208) by its DGEMM of
# 5.3 are the two shares it gives.
SETH = PublishedLinpack(
    system="Seth",
    year=2002,
    rate=480.7e9,
    order=116_100,
    half=24_570,
    of_peak=0.601,
    of_ranks=0.752,
    of_nodes=0.769,
    times_node=110.0,
    nodes=120,
    price=500_000.0,
    currency="USD",
    source="Edmundsson et al. (2004), 5.3 and 5.4",
)
# 3.1; it gives the peak, 448.8 Gflop/s; the share of it is computed here.
HELIX = PublishedLinpack(
    system="Helix",
    year=2002,
    rate=234.8e9,
    order=82_080,
    of_peak=234.8 / 448.8,
    source="Barczak, Messom & Johnson (2003), 3.1",
)
PUBLISHED = (SETH, HELIX)
