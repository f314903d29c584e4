"""The clusters of the papers as described machines, from what the papers state of their parts."""

from __future__ import annotations

from assay.topologies.kinds import RowsColumns, Single, Topology, Torus
from described.figure import assumed, quoted
from described.machine import DescribedMachine, Interconnect, MachineNode

_SETH = "Edmundsson et al. (2004)"
_HELIX = "Barczak, Messom & Johnson (2003)"
# Share of the peak that DGEMM reaches on both processors of a node of Athlons: 5.208 of 6.667.
_ATHLON = 5.208 / 6.667


def seth() -> DescribedMachine:
    """120 dual Athlon MP 2000+ and SCI in a torus of 6 x 4 x 5."""
    return DescribedMachine(
        "Seth",
        MachineNode(
            processors=2,
            peak=quoted(6.667e9, f"{_SETH}, 2.1: 1.667 GHz, two flop per cycle", spread=0.0),
            dgemm=quoted(5.208e9, f"{_SETH}, 5.3", spread=0.01),
            memory=quoted(1.0 * 2**30, f"{_SETH}, 2.1: 1 to 3 Gbytes"),
            stream=quoted(964e6, f"{_SETH}, 5.1"),
            stream_one=quoted(769e6, f"{_SETH}, 5.1"),
        ),
        Interconnect(
            "SCI",
            latency=quoted(3.7e-6, f"{_SETH}, 5.2"),
            rate=quoted(230e6, f"{_SETH}, 5.2"),
        ),
        Torus((6, 4, 5)),
    )


def helix(topology: Topology | None = None) -> DescribedMachine:
    """66 dual Athlon MP 2100+ and two Gigabit adapters each; by default the machine as built.

    22 x 3 is the grid with the bisection that the paper measured (3.4).
    """
    return DescribedMachine(
        "Helix",
        MachineNode(
            processors=2,
            peak=quoted(4 * 1.733e9, "MP 2100+: 1.733 GHz, two flop per cycle", spread=0.0),
            dgemm=assumed(_ATHLON * 4 * 1.733e9, f"share of peak as {_SETH}, 5.3", spread=0.03),
            memory=quoted(2.0**30, f"{_HELIX}, 2.2"),
            stream=assumed(964e6, f"as {_SETH}, 5.1"),
            stream_one=assumed(769e6, f"as {_SETH}, 5.1"),
        ),
        Interconnect(
            "Gigabit Ethernet",
            latency=quoted(35e-6, f"{_HELIX}, 3.2"),
            # Messages of 64 KB reach 59% of the maximum (3.2); as with the other networks, the
            # rate is that of a stream.
            rate=quoted(850e6 / 8, f"{_HELIX}, table 1: 64 bit (100 MHz)", spread=0.10),
            # Of two adapters; "two cards cannot achieve their maximum bandwidth" at once (4).
            adapters=1,
        ),
        topology or RowsColumns(22, 3),
    )


def helix_test() -> DescribedMachine:
    """The two nodes that were compared before the purchase: Athlon."""
    return helix(Single(2))


def xeon_test(dgemm: float) -> DescribedMachine:
    """The two nodes that were compared before the purchase: dual Xeon 2.0 GHz.

    ``dgemm``: share of peak.
    """
    athlon = helix_test()
    return DescribedMachine(
        "dual Xeon 2.0 GHz",
        MachineNode(
            processors=2,
            peak=quoted(8e9, "2.0 GHz, two flop per cycle", spread=0.0),
            dgemm=assumed(dgemm * 8e9, "fitted to the TOP500's Xeons", spread=0.05),
            memory=assumed(2.0**30, "as the Athlon nodes"),
            stream=assumed(1.5e9, "typical of two channels of RDRAM or DDR"),
            stream_one=assumed(1.2e9, "typical"),
        ),
        athlon.interconnect,
        Single(2),
    )
