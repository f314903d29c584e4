"""Published effects of using both processors of a node, by benchmark."""

from __future__ import annotations

from dataclasses import dataclass

from assay.reference.papers.loading import figures_of


@dataclass(frozen=True)
class PublishedRatio:
    """Performance with two processes per node over performance with one, on one cluster."""

    kernel: str
    machine: str
    #: ``low``, ``high``: range over numbers of processes, for the same processes on half the nodes.
    #: None if the source states no number.
    low: float | None
    high: float | None
    #: The source's statement on twice the number of processes on the same nodes.
    same_nodes: str


# Section 3, class B, 2 to 256 processes. Xeon: dual 3.2 GHz, Opteron: dual 1.4 GHz, both Myrinet.
# Figures 1.B.a to 6.B.c of the paper have no numbers. These come from its text: "a 37% to 50%
# decrease in performance" is a ratio of 0.50 to 0.63.
SOURCE = "Luecke, Li & Cuma (2005), section 3, class B"
# The source cites its reference 2 and names no version.
CODE = "NASA's NPB for MPI, version not stated"
MACHINES = ("Xeon", "Opteron")
_CLUSTERS = {"Xeon": "tungsten", "Opteron": "delicatearch"}
# For EP the text says "the 2 ppn performance is nearly the same as the 1 ppn performance".
_SAME_NODES = {
    ("npb.cg", "Xeon"): "more on 2, 4 and 8 nodes, less on 16 to 128",
    ("npb.cg", "Opteron"): "more on 2 to 64 nodes, less on 128",
    ("npb.ep", "Xeon"): "nearly the same per process",
    ("npb.ep", "Opteron"): "nearly the same per process",
    ("npb.mg", "Xeon"): "slightly more on 2 to 16 nodes",
    ("npb.mg", "Opteron"): "significantly more on all",
    ("npb.ft", "Xeon"): "more on all",
    ("npb.ft", "Opteron"): "more on all, and by more",
    ("npb.lu", "Xeon"): "gains less from the second processor",
    ("npb.lu", "Opteron"): "gains significantly more",
    ("npb.is", "Xeon"): "gains less from the second processor",
    ("npb.is", "Opteron"): "gains significantly more",
}


def _ratio(kernel: str, machine: str, same_nodes: str) -> PublishedRatio:
    loss = figures_of("luecke-2005").get(f"{_CLUSTERS[machine]}.{kernel}.loss")
    if loss is None or loss.si_upper is None:
        return PublishedRatio(kernel, machine, None, None, same_nodes)
    low, high = round(1.0 - loss.si_upper, 4), round(1.0 - loss.si, 4)
    return PublishedRatio(kernel, machine, low, high, same_nodes)


PUBLISHED = tuple(_ratio(*key, same_nodes) for key, same_nodes in _SAME_NODES.items())


def published(kernel: str, machine: str) -> PublishedRatio | None:
    """The published ratio of a benchmark on a cluster; None if it was not run there."""
    return next((r for r in PUBLISHED if (r.kernel, r.machine) == (kernel, machine)), None)
