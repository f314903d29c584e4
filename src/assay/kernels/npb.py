"""Kernels of the NAS Parallel Benchmarks (Bailey et al., RNR-94-007)."""

from __future__ import annotations

from collections.abc import Mapping

from assay.kernels.catalogue import Kernel, Metric, Parameter, Work
from assay.plans.model import Value

# From small to large; not every kernel has all of them.
CLASS_ORDER = ("S", "W", "A", "B", "C", "D", "E")
CLASSES = CLASS_ORDER[:5]
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
    # The official Mop/s counts random numbers, two a pair, and nothing else.
    return {"operations": 2.0 ** (EP_LOG2_PAIRS[str(parameters["class"])] + 1)}


def _cg_work(parameters: Mapping[str, Value], ranks: int, threads: int) -> Work:
    # As the NPB 2 and 3 reports' Mop/s: per unknown, nonzer (nonzer + 1) for each product with the
    # matrix and a few for the vectors; 25 inner iterations to an outer one; every addition with its
    # multiplication.
    order, nonzer, iterations = CG_SIZES[str(parameters["class"])]
    product = nonzer * (nonzer + 1.0)
    per_unknown = (3.0 + product) + 25.0 * (5.0 + product) + 3.0
    return {"operations": 2.0 * iterations * order * per_unknown}


# class: log2 of the keys, log2 of what they are below
IS_SIZES = {
    "S": (16, 11),
    "W": (20, 16),
    "A": (23, 19),
    "B": (25, 21),
    "C": (27, 23),
    "D": (31, 27),
}
IS_ITERATIONS = 10


def _is_work(parameters: Mapping[str, Value], ranks: int, threads: int) -> Work:
    # The official Mop/s counts keys ranked.
    return {"operations": IS_ITERATIONS * 2.0 ** IS_SIZES[str(parameters["class"])][0]}


def _is_memory(parameters: Mapping[str, Value], ranks: int, threads: int) -> float:
    keys, greatest = IS_SIZES[str(parameters["class"])]
    moved = 2.25 if ranks > 1 else 0.0
    return (1.0 + moved) * 4.0 * 2.0**keys / ranks + 4.0 * 2.0**greatest * threads


def _phase(name: str, meaning: str) -> Metric:
    return Metric(name, "s", "less", f"{meaning}, mean over ranks", series=name, optional=True)


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
        notes="An operation is one random number. Any number of ranks. Verified: both sums within "
        "1e-8 of the official ones.",
        work_units={"operations": "op"},
        formulas={"operations": "2^(m + 1), m = 24, 25, 28, 30, 32 for S, W, A, B, C"},
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
        notes="Blocks of rows with equal nonzeros on any number of ranks; the matrix is stored, "
        "its product form is not used. Verified: zeta within 1e-10 of the official one.",
        work_units={"operations": "op"},
        formulas={
            "operations": "2 niter na (3 + nonzer (nonzer + 1) + 25 (5 + nonzer (nonzer + 1)) + 3)"
        },
    ),
    Kernel(
        name="npb.is",
        title="NPB IS: ranking of integer keys",
        parameters=(Parameter("class", "S", "problem class", choices=tuple(IS_SIZES)),),
        metrics=(
            Metric("time", "s", "less", "the timed part of the benchmark, slowest rank"),
            _RATE,
            _phase("compute", "counting and moving keys on the rank"),
            _phase("allreduce", "adding up bucket sizes"),
            _phase("alltoall", "telling each other how many keys will come"),
            _phase("alltoallv", "sending keys to the ranks of their buckets"),
        ),
        work=_is_work,
        source="Bailey et al., RNR-94-007, 2.5",
        threaded=True,
        headline="rate",
        notes="An operation is one key ranked. Any number of ranks: buckets are dealt out so that "
        "each has about as many keys. Verified: the official ranks of five keys in each iteration, "
        "and after the last all keys put where their ranks say are in order.",
        work_units={"operations": "op"},
        formulas={"operations": "10 * 2^m, m = 16, 20, 23, 25, 27, 31 for S, W, A, B, C, D"},
        memory=_is_memory,
    ),
)
