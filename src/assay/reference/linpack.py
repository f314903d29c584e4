"""Published Linpack results, with their shares of limits, for comparison."""

from __future__ import annotations

from dataclasses import dataclass

from assay.reference.papers.loading import figures_of


@dataclass(frozen=True)
class PublishedLinpack:
    """A published result. Values are None if the source doesn't state them."""

    system: str
    year: int
    #: Rate at order ``order``, flop/s.
    rate: float
    order: int
    source: str
    #: Program that was run.
    code: str
    #: N½ of the run.
    half: int | None = None
    #: Rate as a share of the theoretical peak.
    of_peak: float | None = None
    #: Rate as a share of DGEMM on one processor times the number of processors.
    of_ranks: float | None = None
    #: Rate as a share of DGEMM on one node times the number of nodes.
    of_nodes: float | None = None
    #: Speedup over Linpack on one node.
    times_node: float | None = None
    nodes: int | None = None
    #: Price of the whole system, in ``currency``.
    price: float | None = None
    currency: str = ""


def _seth() -> PublishedLinpack:
    """Section 5.4. The DGEMM rates for the two shares of DGEMM come from 5.3."""
    figures = figures_of("edmundsson-2004")

    def value(name: str) -> float:
        return figures[f"seth.{name}"].si

    return PublishedLinpack(
        system="Seth",
        year=2002,
        rate=value("linpack.rate"),
        order=int(value("linpack.order")),
        half=int(value("linpack.half")),
        of_peak=value("linpack.of_peak"),
        of_ranks=value("linpack.of_processors"),
        of_nodes=value("linpack.of_nodes"),
        times_node=value("linpack.times_node"),
        nodes=int(value("nodes")),
        price=value("price.usd"),
        currency="USD",
        source="Edmundsson et al. (2004), 5.3 and 5.4",
        code="HPL",
    )


def _helix() -> PublishedLinpack:
    """Section 3.1. It states the theoretical peak, from which the share is computed here."""
    figures = figures_of("barczak-2003")
    rate = figures["helix.linpack.rate"].si
    return PublishedLinpack(
        system="Helix",
        year=2002,
        rate=rate,
        order=int(figures["helix.linpack.order"].si),
        of_peak=rate / figures["helix.peak"].si,
        source="Barczak, Messom & Johnson (2003), 3.1",
        code="Linpack, program not stated",
    )


SETH = _seth()
HELIX = _helix()
PUBLISHED = (SETH, HELIX)
