"""hpcg's entry in the catalogue."""

from __future__ import annotations

import math
from collections.abc import Mapping

from assay.kernels.catalogue import Kernel, Metric, Parameter, Work, phase
from assay.kernels.hpcg.counts import (
    LEVELS,
    bytes_per_iteration,
    cycle_flops,
    edges_of,
    grid_sizes,
    smoothing_flops,
)
from assay.model.placement import Placement, Value

#: Iterations of a set that count for the rating, however many the order of the sweeps needs.
ITERATIONS = 50
# Edges of a rank's grid are multiples of this, so that each grid has half of the finer one's edge.
_STEP = 1 << (LEVELS - 1)
# Bytes per point while the fast form is made from the plain one, as in native/hpcg/hpcg.cpp.
_PEAK_PER_POINT = 760.0
# These words appear wherever its rating is shown.
OWN_CODE = "assay's own code, not an official HPCG result"
EDGES = ("nx", "ny", "nz")
# Quantities of the work in flops: of 50 iterations, of all, and of the parts.
_FLOPS = ("flops", "done", "spmv", "mg", "symgs", "waxpby", "dot")


def _work(parameters: Mapping[str, Value], ranks: int, threads: int) -> Work:
    edges = edges_of(parameters)
    if not edges[0]:  # chosen on the machine
        return dict.fromkeys((*_FLOPS, "bytes"), 0.0)
    grids = grid_sizes(edges, ranks)
    finest = grids[0]
    done = int(parameters["iterations"]) or ITERATIONS

    def flops(iterations: int) -> float:
        return (
            2 * (iterations + 1) * finest.nonzeros
            + 4 * (3 * iterations + 1) * finest.rows
            + iterations * cycle_flops(grids)
        )

    return {
        "flops": flops(ITERATIONS),
        "done": flops(done),
        "spmv": 2 * (done + 1) * finest.nonzeros,
        "mg": done * cycle_flops(grids),
        "symgs": done * smoothing_flops(grids),
        "waxpby": 2 * (3 * done + 1) * finest.rows,
        "dot": 2 * (3 * done + 1) * finest.rows,
        "bytes": done * bytes_per_iteration(grids),
    }


def _memory(parameters: Mapping[str, Value], ranks: int, threads: int) -> float:
    return _PEAK_PER_POINT * math.prod(edges_of(parameters))


def _check(parameters: Mapping[str, Value], placement: Placement) -> str | None:
    for name in EDGES:
        if int(parameters[name]) % _STEP:
            return f"{name}={parameters[name]} must be a multiple of {_STEP}."
    if not int(parameters["nx"]) and (int(parameters["ny"]) or int(parameters["nz"])):
        return "ny and nz need nx."
    for name, most in (("fill", 0.5), ("seconds", 86_400.0)):
        if not 0.0 < float(parameters[name]) <= most:
            return f"{name}={parameters[name]:g} must be above 0 and at most {most:g}."
    return None


def _edge(name: str, default: str) -> Parameter:
    return Parameter(
        name,
        0,
        f"points of each rank's grid along {name[1]}, a multiple of {_STEP}; 0: {default}",
        low=0,
        high=1024,
    )


def _rate(name: str, meaning: str, quantity: str, series: str) -> Metric:
    return Metric(name, "flop/s", "more", meaning, series=series, quantity=quantity)


KERNELS = (
    Kernel(
        name="hpcg",
        title="HPCG: conjugate gradients with a multigrid preconditioner on a sparse matrix",
        parameters=(
            _edge("nx", "the largest cube within fill and seconds"),
            _edge("ny", "as nx"),
            _edge("nz", "as nx"),
            Parameter(
                "fill",
                0.25,
                "share of the free memory of the fullest node that the matrices and vectors take "
                "at most, if nx is 0; HPCG requires a quarter of main memory",
                low=0,
                high=0.5,
                tacit=True,
            ),
            Parameter(
                "seconds",
                20.0,
                "time limit of the plain form's 50 iterations, if nx is 0",
                unit="s",
                low=0,
                high=86_400,
                tacit=True,
            ),
            Parameter(
                "sweep",
                "auto",
                "order of the Gauss-Seidel sweeps: dependency levels, which yield the natural "
                "order's numbers; few colors, which need more iterations; auto: levels, unless a "
                "thread has fewer than 192 rows of a level",
                choices=("auto", "levels", "colors"),
            ),
            Parameter(
                "iterations",
                0,
                "iterations of a set; 0: as many as reach the residual of the plain form after 50",
                low=0,
                high=500,
                tacit=True,
            ),
        ),
        metrics=(
            Metric("time", "s", "less", "one set of iterations, slowest rank"),
            _rate(
                "rate",
                "rating: flops of 50 iterations / (time + a tenth of the time for making the "
                "problem and its fast form)",
                "flops",
                "rated",
            ),
            _rate("rate.raw", "flops of all iterations / time", "done", "time"),
            _rate("rate.spmv", "of the products of matrix and vector", "spmv", "spmv"),
            _rate("rate.mg", "of the preconditioner", "mg", "mg"),
            _rate("rate.symgs", "of the Gauss-Seidel sweeps in it", "symgs", "symgs"),
            _rate("rate.waxpby", "of the combinations of vectors", "waxpby", "waxpby"),
            _rate("rate.ddot", "of the scalar products, reductions included", "dot", "dot"),
            phase("spmv", "products of matrix and vector, with their exchange of neighbours"),
            phase("symgs", "Gauss-Seidel sweeps of all grids, with their exchanges"),
            phase("transfer", "residuals, restriction and corrections between the grids"),
            phase("waxpby", "combinations of vectors"),
            phase("dot", "scalar products"),
            Metric("mg", "s", "less", "preconditioner: symgs and transfer", series="mg"),
            Metric(
                "rated",
                "s",
                "less",
                "time of a set and the charged part of its preparation",
                series="rated",
            ),
        ),
        work=_work,
        source="Heroux, Dongarra & Luszczek, HPCG Technical Specification, SAND2013-8752 (2013); "
        "Dongarra, Heroux & Luszczek, IJHPCA 30 (2016)",
        threaded=True,
        headline="rate",
        notes=f"{OWN_CODE[0].upper()}{OWN_CODE[1:]}. One sample is one set. The 27-point stencil "
        "is stored as a general sparse matrix of 64-bit numbers and 32-bit indices; eight rows "
        "whose columns follow each other share an index. A plain form first does 50 iterations; a "
        "set has as many as reach the same residual, and 50 of them count. Sweeps use each half of "
        "the matrix no more often than the arithmetic needs "
        "(Conrad & Wallach 1979), and residuals are computed where the coarser grid needs them; "
        "the flops are HPCG's, for every entry in every step. Verified: symmetry of matrix and "
        "preconditioner, iterations on clustered eigenvalues, exact row sums, the residual "
        "against the plain form's and the recurrence's, equal residuals of all sets.",
        work_units={
            **dict.fromkeys(_FLOPS, "flop"),
            "bytes": "B",
        },
        formulas={
            "flops": "of 50 iterations: 102 z + 604 n + 50 (10 (z + z1 + z2) + 4 z3), with n rows "
            "and z, z1, z2, z3 nonzeros of the grids",
            "done": "of all k iterations: 2 (k + 1) z + 4 (3 k + 1) n + mg",
            "spmv": "2 (k + 1) z",
            "mg": "k (10 (z + z1 + z2) + 4 z3)",
            "symgs": "k (8 (z + z1 + z2) + 4 z3)",
            "waxpby": "2 (3 k + 1) n",
            "dot": "2 (3 k + 1) n",
            "bytes": "8.5 per entry and 8 per element of each part of a matrix and of each vector "
            "that a loop passes",
        },
        memory=_memory,
        check=_check,
    ),
)
