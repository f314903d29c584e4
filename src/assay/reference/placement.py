"""Published effects of using both processors of a node, by benchmark."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PublishedRatio:
    """Performance with two processes per node over that with one, on one cluster.

    ``low``, ``high``: the range over numbers of processes, as many processes on half the nodes;
    None where the source gives no number. ``same_nodes``: its statement on twice the processes on
    as many nodes.
    """

    kernel: str
    machine: str
    low: float | None
    high: float | None
    same_nodes: str


# G. R. Luecke, Y. Li, M. Cuma: Using nodes in a cluster efficiently (2005), section 3, class B, 2
# to 256 processes. Xeon: dual 3.2 GHz, Opteron: dual 1.4 GHz, both Myrinet. Its figures 1.B.a to
# 6.B.c hold no numbers; these are the statements of its text: "a 37% to 50% decrease in
# performance" is a ratio from 0.50 to 0.63.
SOURCE = "Luecke, Li & Cuma (2005), section 3, class B"
PUBLISHED = (
    PublishedRatio("npb.cg", "Xeon", 0.65, 0.80, "more on 2, 4 and 8 nodes, less on 16 to 128"),
    PublishedRatio("npb.cg", "Opteron", 0.77, 1.0, "more on 2 to 64 nodes, less on 128"),
    PublishedRatio("npb.ep", "Xeon", None, None, "nearly the same per process"),
    PublishedRatio("npb.ep", "Opteron", None, None, "nearly the same per process"),
    PublishedRatio("npb.mg", "Xeon", 0.50, 0.63, "slightly more on 2 to 16 nodes"),
    PublishedRatio("npb.mg", "Opteron", 0.83, 1.0, "significantly more on all"),
    PublishedRatio("npb.ft", "Xeon", 0.67, 0.80, "more on all"),
    PublishedRatio("npb.ft", "Opteron", 0.77, 0.95, "more on all, and by more"),
    PublishedRatio("npb.lu", "Xeon", 0.57, 0.75, "gains less from the second processor"),
    PublishedRatio("npb.lu", "Opteron", 0.94, 1.0, "gains significantly more"),
    PublishedRatio("npb.is", "Xeon", 0.53, 0.92, "gains less from the second processor"),
    PublishedRatio("npb.is", "Opteron", 0.72, 0.98, "gains significantly more"),
)
# Of EP the text says "the 2 ppn performance is nearly the same as the 1 ppn performance".
MACHINES = ("Xeon", "Opteron")


def published(kernel: str, machine: str) -> PublishedRatio | None:
    """The published ratio of a benchmark on a cluster; None for what was not run there."""
    return next((r for r in PUBLISHED if (r.kernel, r.machine) == (kernel, machine)), None)
