"""npb.is in the catalogue."""

from __future__ import annotations

from collections.abc import Mapping

from assay.kernels.catalogue import Kernel, Work
from assay.kernels.npb.common import RATE, TIME, class_parameter, phase
from assay.plans.model import Value

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


KERNEL = Kernel(
    name="npb.is",
    title="NPB IS: ranking of integer keys",
    parameters=(class_parameter(IS_SIZES),),
    metrics=(
        TIME,
        RATE,
        phase("compute", "counting and moving keys on the rank"),
        phase("allreduce", "adding up bucket sizes"),
        phase("alltoall", "telling each other how many keys will come"),
        phase("alltoallv", "sending keys to the ranks of their buckets"),
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
)
