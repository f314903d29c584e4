"""npb.cg in the catalogue."""

from __future__ import annotations

from collections.abc import Mapping

from assay.kernels.catalogue import Kernel, Work
from assay.kernels.npb.common import RATE, TIME, class_parameter
from assay.plans.model import Value

# class: order, nonzeros per row, outer iterations
CG_SIZES = {
    "S": (1400, 7, 15),
    "W": (7000, 8, 15),
    "A": (14000, 11, 15),
    "B": (75000, 13, 75),
    "C": (150000, 15, 75),
}


def _cg_work(parameters: Mapping[str, Value], ranks: int, threads: int) -> Work:
    # As the NPB 2 and 3 reports' Mop/s: per unknown, nonzer (nonzer + 1) for each product with the
    # matrix and a few for the vectors; 25 inner iterations to an outer one; every addition with its
    # multiplication.
    order, nonzer, iterations = CG_SIZES[str(parameters["class"])]
    product = nonzer * (nonzer + 1.0)
    per_unknown = (3.0 + product) + 25.0 * (5.0 + product) + 3.0
    return {"operations": 2.0 * iterations * order * per_unknown}


KERNEL = Kernel(
    name="npb.cg",
    title="NPB CG: smallest eigenvalue of a sparse matrix by conjugate gradients",
    parameters=(class_parameter(CG_SIZES),),
    metrics=(
        TIME,
        RATE,
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
)
