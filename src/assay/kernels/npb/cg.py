"""npb.cg in the catalogue."""

from __future__ import annotations

from collections.abc import Mapping

from assay.kernels.catalogue import Kernel, Work, phase
from assay.kernels.npb.common import (
    COMPUTE_SPREAD,
    MONITOR,
    RATE,
    TIME,
    WORK_UNITS,
    class_parameter,
)
from assay.kernels.npb.shared import class_table, constants, formula
from assay.model.placement import Value

# class: order, nonzeros per row, outer iterations
CG_SIZES = class_table("cg", "order", "nonzeros", "iterations")
_CONSTANTS = constants("cg")
CG_INNER_ITERATIONS: int = _CONSTANTS["kCgInnerIterations"]


def cg_nonzeros(order: int, nonzer: int) -> float:
    """Nonzeros of the matrix: a sum of ``order`` outer products of vectors of nonzer + 1 elements.

    Coincidences off the diagonal are neglected, so it is an upper bound, at most 2.5% too high
    (class S).
    """
    return order * (nonzer * (nonzer + 1.0) + 1.0)


def _index_bytes(order: int) -> int:
    """Bytes of a column index: 2 where 16 bits are enough, else 4."""
    return 2 if order <= _CONSTANTS["kCgNarrowOrder"] else 4


def _cg_work(parameters: Mapping[str, Value], ranks: int, threads: int) -> Work:
    order, nonzer, iterations = CG_SIZES[str(parameters["class"])]
    # As the NPB 2 and 3 reports' Mop/s: per unknown, nonzer (nonzer + 1) for each product with the
    # matrix and a few for the vectors; 25 inner iterations per outer one; each multiply-add counts
    # as two operations.
    product = nonzer * (nonzer + 1.0)
    per_unknown = (3.0 + product) + CG_INNER_ITERATIONS * (5.0 + product) + 3.0
    steps = CG_INNER_ITERATIONS
    products = steps + 1  # products with the matrix: one per step, and one for the residual
    nonzeros = cg_nonzeros(order, nonzer)
    # An outer iteration: products with their dot product, 8 per row of each to add up its nine
    # partial sums; per unknown 8 per step for the residual, its square, solution and direction (the
    # last step has no next direction); the first square, the residual and its square, two dot
    # products and the scaling.
    flops = products * (2.0 * nonzeros + (2.0 + 8.0) * order) + (8.0 * steps - 2.0) * order
    flops += (2.0 + 3.0 + 4.0 + 1.0) * order
    # Vectors of 8 bytes per row. A product reads the rows' starts and, on each rank, the whole
    # direction, received from the other ranks, and writes its result. A step reads 2 vectors and
    # writes 1, then reads 3 and writes 2. The other vector operations: 4, 2, 2 and 2.
    vectors = products * (1.0 + ranks + (ranks - 1.0) + 1.0) + steps * (3.0 + 5.0)
    vectors += 4.0 + 2.0 + 2.0 + 2.0
    traffic = products * nonzeros * (8.0 + _index_bytes(order)) + 8.0 * order * vectors
    sums = 2 * steps + 3 if ranks > 1 else 0
    gathers = steps + 1 if ranks > 1 else 0
    return {
        "operations": 2.0 * iterations * order * per_unknown,
        "flops": iterations * flops,
        "traffic": iterations * traffic,
        "messages": float(iterations * (sums + gathers) * ranks),
        "sent": float(iterations * (sums * 16 * ranks + gathers * 8 * order)),
    }


def _cg_memory(parameters: Mapping[str, Value], ranks: int, threads: int) -> float:
    order, nonzer, _ = CG_SIZES[str(parameters["class"])]
    need = formula("cg/memory.def", "cg")
    return need(order=order, nonzer=nonzer, ranks=ranks, threads=threads)["bytes"]


KERNEL = Kernel(
    name="npb.cg",
    title="NPB CG: smallest eigenvalue of a sparse matrix by conjugate gradients",
    parameters=(class_parameter(CG_SIZES), MONITOR),
    metrics=(
        TIME,
        RATE,
        phase("compute", "computing products with the matrix and vector operations"),
        phase("allreduce", "summing dot products over all ranks"),
        phase("allgatherv", "gathering the direction vector on all ranks"),
        *COMPUTE_SPREAD,
    ),
    work=_cg_work,
    source="Bailey et al., RNR-94-007, 2.3",
    threaded=True,
    pace=2.5e9,
    headline="rate",
    notes="Any number of ranks is allowed: ranks have blocks of rows with about equally many "
    "nonzeros. The matrix is stored; its product form is not used. Verified: zeta within "
    "1e-10 of the official one.",
    work_units=WORK_UNITS,
    formulas={
        "operations": "2 niter na (3 + nonzer (nonzer + 1) + 25 (5 + nonzer (nonzer + 1)) + 3)",
        "flops": "niter (52 nz + 468 na), nz = na (nonzer (nonzer + 1) + 1) nonzeros",
        "traffic": "niter (26 nz (8 + w) + 8 na (210 + 26 (1 + 2 ranks))), columns of w = 2 bytes "
        "up to class A, else 4: matrix and vectors are read from memory in each pass",
        "messages": "79 niter ranks: 53 allreduces and 26 allgathers; none on a single rank",
        "sent": "niter (53 * 16 ranks + 26 * 8 na): two sums each, the direction",
    },
    memory=_cg_memory,
)
