"""npb.lu in the catalogue."""

from __future__ import annotations

from collections.abc import Mapping

from assay.kernels.catalogue import Kernel, Peers, Work, phase
from assay.kernels.npb.common import COMPUTE_SPREAD, RATE, TIME, WORK_UNITS, class_parameter, listed
from assay.kernels.npb.grid import block_pairs, choose_grid, cutting_of, inner, share_of
from assay.kernels.npb.shared import class_table, constants, formula
from assay.model.placement import Value

# class: points along each side, steps
LU_SIZES = class_table("lu", "points", "steps")

_CONSTANTS = constants("cfd", "lu")
_GHOSTS: int = _CONSTANTS["kGhosts"]
_STATE = 8.0 * _CONSTANTS["kComponents"]  # bytes of a point
_LANES = 8  # of the widest vectors

# Floating-point operations at a point, counted in the sources: 23 for velocities, pressure and
# energy and 278 for the operator (native/npb/cfd/operator.cpp); the sweeps
# (native/npb/lu/sweep.cpp); squares for the norm.
_FLOPS_OPERATOR = 301.0
_FLOPS_LOWER = 201.0
_FLOPS_UPPER = 225.0
_FLOPS_NORM = 10.0


def lu_grid(points: int, ranks: int) -> tuple[int, int]:
    """Blocks along x and y; their product is the number of ranks that work."""
    cutting = cutting_of(_CONSTANTS["kLuCutting"], (points, points, points))
    x, y, _ = choose_grid(cutting, ranks)
    return x, y


def lu_planes_per_message(points: int) -> int:
    """Planes whose sums go in one message: as many as fill 2 kB across the whole cube."""
    return int(formula("lu/message.def", "cfd", "lu")(points=points)["planes"])


def _lu_work(parameters: Mapping[str, Value], ranks: int, threads: int) -> Work:
    n, steps = LU_SIZES[str(parameters["class"])]
    inner = n - 2
    x, y = lu_grid(n, ranks)
    a_step = _FLOPS_OPERATOR + _FLOPS_LOWER + _FLOPS_UPPER
    batches = -(-inner // lu_planes_per_message(n))
    interfaces = (x - 1) * y + x * (y - 1)
    layers = (x - 1) + (y - 1)  # of n by n points, between all blocks together
    return {
        "operations": steps * (1984.77 * n**3 - 10923.3 * n**2 + 27770.9 * n - 144010.0),
        "flops": inner**3 * (steps * a_step + _FLOPS_OPERATOR + _FLOPS_NORM),
        "traffic": _STATE * n**3 * (6.0 * steps + 4.0),
        "messages": interfaces * (2.0 * (steps + 1) + 2.0 * steps * batches) + x * y,
        "sent": _STATE
        * (layers * (2.0 * _GHOSTS * n**2 * (steps + 1) + 2.0 * inner**2 * steps) + x * y),
    }


def lu_memory(points: int, ranks: int, threads: int, lanes: int) -> float:
    """Bytes that a rank allocates, the greatest of all, with vectors of so many ``lanes``."""
    x, y = lu_grid(points, ranks)
    need = formula("lu/memory.def", "cfd", "lu")
    return float(need(points=points, x=x, y=y, threads=threads, lanes=lanes)["bytes"])


def _lu_memory(parameters: Mapping[str, Value], ranks: int, threads: int) -> float:
    return lu_memory(LU_SIZES[str(parameters["class"])][0], ranks, threads, _LANES)


def _lu_peers(parameters: Mapping[str, Value], ranks: int, threads: int) -> Peers:
    """Halos both ways at the start and in each step; in each step a sweep one way and one back."""
    n, steps = LU_SIZES[str(parameters["class"])]
    blocks = (*lu_grid(n, ranks), 1)
    found = {}
    for one, other, dimension, at in block_pairs(blocks):
        across, parts = at[1 - dimension], blocks[1 - dimension]
        halo = _GHOSTS * len(share_of(n, across, parts)) * n * (steps + 1)
        sums = inner(n, across, parts) * (n - 2) * steps
        found[one, other] = found[other, one] = _STATE * (halo + sums)
    return found


KERNEL = Kernel(
    name="npb.lu",
    title="NPB LU: symmetric successive over-relaxation for a flow problem",
    parameters=(class_parameter(LU_SIZES),),
    metrics=(
        TIME,
        RATE,
        phase("compute", "right-hand sides and triangular sweeps on the rank"),
        phase("halo", "bringing the neighbours' outermost points"),
        phase("pipeline", "waiting in sweeps for ranks and threads before, and sending on"),
        phase("allreduce", "adding up the norm of the residual"),
        *COMPUTE_SPREAD,
    ),
    work=_lu_work,
    source="Bailey et al., RNR-94-007, 3.5; NPB 3.4",
    threaded=True,
    pace=6e10,
    headline="rate",
    notes="An operation is one as officially counted. Any number of ranks: blocks along x and y, "
    "sweeps as a pipeline of planes; ranks beyond the last block stay idle (fact working_ranks). "
    "No Jacobian block is formed, so far fewer operations are done than counted officially. "
    "Verified: norms of residual and error and the surface integral, each within 1e-8.",
    work_units=WORK_UNITS,
    formulas={
        "operations": "steps (1984.77 n^3 - 10923.3 n^2 + 27770.9 n - 144010), n = "
        f"{listed(n for n, _ in LU_SIZES.values())} points a side for S to E",
        "flops": "(n - 2)^3 (727 steps + 311)",
        "traffic": "40 n^3 (6 steps + 4): a step reads u, forcing and v, u again, and writes v, u",
        "messages": "for each of (x - 1) y + x (y - 1) pairs of x by y blocks 2 (steps + 1) in "
        "halos and 2 steps ceil((n - 2) / planes) in sweeps; x y in the reduction",
        "sent": "40 ((x + y - 2) (4 n^2 (steps + 1) + 2 (n - 2)^2 steps) + x y)",
    },
    memory=_lu_memory,
    peers=_lu_peers,
)
