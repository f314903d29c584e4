"""Kernels of the NAS Parallel Benchmarks (Bailey et al., RNR-94-007)."""

from __future__ import annotations

from collections.abc import Mapping

from assay.kernels.catalogue import Kernel, Metric, Parameter, Work
from assay.plans.model import Value

CLASSES = ("S", "W", "A", "B", "C")
EP_LOG2_PAIRS = {"S": 24, "W": 25, "A": 28, "B": 30, "C": 32}
# class: order, nonzeros per row, outer iterations
CG_SIZES = {
    "S": (1400, 7, 15),
    "W": (7000, 8, 15),
    "A": (14000, 11, 15),
    "B": (75000, 13, 75),
    "C": (150000, 15, 75),
}


def _ep_work(parameters: Mapping[str, Value], ranks: int, threads: int) -> Work:
    # The official Mop/s counts random numbers: two a pair.
    return {"operations": 2.0 ** (EP_LOG2_PAIRS[str(parameters["class"])] + 1)}


def _cg_work(parameters: Mapping[str, Value], ranks: int, threads: int) -> Work:
    order, nonzer, iterations = CG_SIZES[str(parameters["class"])]
    per_inner = 3.0 + nonzer * (nonzer + 1)
    return {
        "operations": 2.0
        * iterations
        * order
        * (per_inner + 25.0 * (5.0 + nonzer * (nonzer + 1)) + 3.0)
    }


_CLASS = Parameter("class", "S", "problem class", choices=CLASSES)
_RATE = Metric("rate", "op/s", "more", "official operations / time", quantity="operations")

KERNELS = (
    Kernel(
        name="npb.ep",
        title="NPB EP: embarrassingly parallel Gaussian deviates",
        parameters=(_CLASS,),
        metrics=(
            Metric("time", "s", "less", "the timed part of the benchmark, slowest rank"),
            _RATE,
        ),
        work=_ep_work,
        source="Bailey et al., RNR-94-007, 2.1",
        threaded=True,
        headline="rate",
        work_units={"operations": "op"},
    ),
    Kernel(
        name="npb.cg",
        title="NPB CG: smallest eigenvalue of a sparse matrix by conjugate gradients",
        parameters=(_CLASS,),
        metrics=(
            Metric("time", "s", "less", "the timed part of the benchmark, slowest rank"),
            _RATE,
        ),
        work=_cg_work,
        source="Bailey et al., RNR-94-007, 2.3",
        threaded=True,
        headline="rate",
        work_units={"operations": "op"},
    ),
)
