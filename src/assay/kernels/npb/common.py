"""Metrics, units and parameters that the catalogue's entries of the NPB share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from assay.kernels.catalogue import Metric, Parameter
from assay.model.placement import Value

# From small to large; not every kernel has all classes.
CLASS_ORDER = ("S", "W", "A", "B", "C", "D", "E")

# Quantities of work of each kernel: all ranks together, in one operation, which is one timed run.
WORK_UNITS = {"operations": "op", "flops": "flop", "traffic": "B", "messages": "", "sent": "B"}

TIME = Metric("time", "s", "less", "timed part of the benchmark, slowest rank")
RATE = Metric("rate", "op/s", "more", "official operations / time", quantity="operations")

# The shortest and the longest computation of a rank: a load imbalance makes ranks wait.
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
    """Values as text, for formulas: ``16, 20, 23``."""
    return ", ".join(map(str, values))


# Coefficients of m^3, m^2, m and 1.
Cubic = tuple[float, float, float, float]


def cubic(coefficients: Cubic, m: float) -> float:
    """The value of a polynomial of degree three."""
    value = 0.0
    for coefficient in coefficients:
        value = value * m + coefficient
    return value


def cubic_text(coefficients: Cubic) -> str:
    """``714.5 m^3 + 1567 m^2 + 463 m + 368``."""
    return " + ".join(
        f"{coefficient:g}{power}"
        for coefficient, power in zip(coefficients, (" m^3", " m^2", " m", ""), strict=True)
    )


# Which of two codes solves the problem (native/npb/common/code.hpp).
CODE = "code"
TUNED, PLAIN = "tuned", "plain"


# A parameter of the harness (native/harness/monitor.hpp).
MONITOR = Parameter(
    "monitor",
    0,
    "readings per second of a monitor in each rank, like the monitors of performance tools; it "
    "reads times, memory and I/O of the process and counters of the adapters",
    "Hz",
    low=0,
    high=10_000,
    tacit=True,
    omitted=True,
)


def code_parameter(differences: str) -> Parameter:
    """The code; ``differences``: what the plain code does differently."""
    return Parameter(
        CODE,
        TUNED,
        f"{PLAIN}: {differences}, as in users' codes, so that it scales like them; {TUNED}: "
        "assay's own code",
        choices=(TUNED, PLAIN),
        tacit=True,
        omitted=True,
    )


def is_plain(parameters: Mapping[str, Value]) -> bool:
    """Whether these are parameters of the plain code."""
    return parameters.get(CODE, TUNED) == PLAIN


def class_parameter(classes: Iterable[str]) -> Parameter:
    """The problem class, one of the kernel's classes."""
    return Parameter("class", "S", "problem class", choices=tuple(classes))
