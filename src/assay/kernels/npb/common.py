"""What the kernels of the NAS Parallel Benchmarks share in the catalogue."""

from __future__ import annotations

from collections.abc import Iterable

from assay.kernels.catalogue import Metric, Parameter

# From small to large; not every kernel has all of them.
CLASS_ORDER = ("S", "W", "A", "B", "C", "D", "E")

# What each kernel tells of its work, in one operation of all ranks together: one timed run.
WORK_UNITS = {"operations": "op", "flops": "flop", "traffic": "B", "messages": "", "sent": "B"}

TIME = Metric("time", "s", "less", "the timed part of the benchmark, slowest rank")
RATE = Metric("rate", "op/s", "more", "official operations / time", quantity="operations")

# Of several ranks: how unevenly they compute, which makes some of them wait.
COMPUTE_SPREAD = tuple(
    Metric(
        f"{which}_compute",
        "s",
        "less",
        f"computing on the rank that had {which} of it",
        series=f"{which}_compute",
        optional=True,
    )
    for which in ("least", "most")
)


def listed(values: Iterable[object]) -> str:
    """In words, for formulas: ``16, 20, 23``."""
    return ", ".join(map(str, values))


def class_parameter(classes: Iterable[str]) -> Parameter:
    """The problem class among those that the kernel has."""
    return Parameter("class", "S", "problem class", choices=tuple(classes))
