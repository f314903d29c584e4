"""npb.lu in the catalogue."""

from __future__ import annotations

from collections.abc import Mapping

from assay.kernels.catalogue import Kernel, Peers, Work, phase
from assay.kernels.npb.common import (
    COMPUTE_SPREAD,
    MONITOR,
    RATE,
    TIME,
    WORK_UNITS,
    class_parameter,
    cubic,
    cubic_text,
    listed,
)
from assay.kernels.npb.grid import block_pairs, choose_grid, cutting_of, inner, share_of
from assay.kernels.npb.shared import class_table, constants, formula
from assay.model.placement import Value

# class: points along each side, steps
LU_SIZES = class_table("lu", "points", "steps")

_CONSTANTS = constants("cfd", "lu")
_GHOSTS: int = _CONSTANTS["kGhosts"]
_STATE = 8.0 * _CONSTANTS["kComponents"]  # bytes per point
_LANES = 8  # of the widest vectors

# Floating-point operations of a step, and of the first right-hand side and the norm, for m = n - 2:
# coefficients of m^3, m^2, m and 1. tests/native/npb/test_flops_done.py counts them.
_FLOPS_STEP = (714.5, 1567.0, 463.0, 368.0)
_FLOPS_ONCE = (311.5, 751.0, 468.0, 385.0)


def lu_grid(points: int, ranks: int) -> tuple[int, int]:
    """Blocks along x and y; their product is the number of ranks that work."""
    cutting = cutting_of(_CONSTANTS["kLuCutting"], (points, points, points))
    x, y, _ = choose_grid(cutting, ranks)
    return x, y


def lu_planes_per_message(points: int) -> int:
    """Number of planes per message of a sweep, which fill 2 kB across the whole cube."""
    return int(formula("lu/message.def", "cfd", "lu")(points=points)["planes"])


def _lu_work(parameters: Mapping[str, Value], ranks: int, threads: int) -> Work:
    n, steps = LU_SIZES[str(parameters["class"])]
    inner = n - 2
    x, y = lu_grid(n, ranks)
    batches = -(-inner // lu_planes_per_message(n))
    interfaces = (x - 1) * y + x * (y - 1)
    layers = (x - 1) + (y - 1)  # cuts through the cube, of n by n points each
    return {
        "operations": steps * (1984.77 * n**3 - 10923.3 * n**2 + 27770.9 * n - 144010.0),
        "flops": steps * cubic(_FLOPS_STEP, inner) + cubic(_FLOPS_ONCE, inner),
        "traffic": _STATE * n**3 * (6.0 * steps + 4.0),
        "messages": interfaces * (2.0 * (steps + 1) + 2.0 * steps * batches) + x * y,
        "sent": _STATE
        * (layers * (2.0 * _GHOSTS * n**2 * (steps + 1) + 2.0 * inner**2 * steps) + x * y),
    }


def lu_memory(points: int, ranks: int, threads: int, lanes: int) -> float:
    """Maximum bytes that a rank allocates, with vectors of ``lanes`` doubles."""
    x, y = lu_grid(points, ranks)
    need = formula("lu/memory.def", "cfd", "lu")
    return float(need(points=points, x=x, y=y, threads=threads, lanes=lanes)["bytes"])


def _lu_memory(parameters: Mapping[str, Value], ranks: int, threads: int) -> float:
    return lu_memory(LU_SIZES[str(parameters["class"])][0], ranks, threads, _LANES)


def _lu_peers(parameters: Mapping[str, Value], ranks: int, threads: int) -> Peers:
    """Bytes between neighbours: halos both ways at the start and per step, and one sweep each way
    per step."""
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
    parameters=(class_parameter(LU_SIZES), MONITOR),
    metrics=(
        TIME,
        RATE,
        phase("compute", "computing right-hand sides and triangular sweeps on the rank"),
        phase("halo", "exchanging boundary points with neighbours"),
        phase("pipeline", "waiting in sweeps for preceding ranks and threads, and sending on"),
        phase("allreduce", "summing the norm of the residual over all ranks"),
        *COMPUTE_SPREAD,
    ),
    work=_lu_work,
    source="Bailey et al., RNR-94-007, 3.5; NPB 3.4",
    threaded=True,
    pace=6e10,
    headline="rate",
    notes="Operations are counted as by NPB. Any number of ranks is allowed: ranks have blocks "
    "along x and y, and sweeps are a pipeline of planes. Ranks beyond the last block stay "
    "idle (fact working_ranks). No Jacobian block is formed, so far fewer operations are "
    "done than counted. "
    "Verified: norms of residual and error and the surface integral, each within 1e-8.",
    work_units=WORK_UNITS,
    formulas={
        "operations": "steps (1984.77 n^3 - 10923.3 n^2 + 27770.9 n - 144010), n = "
        f"{listed(n for n, _ in LU_SIZES.values())} points per side for S to E",
        "flops": f"steps ({cubic_text(_FLOPS_STEP)}) + {cubic_text(_FLOPS_ONCE)}, m = n - 2; on "
        "one rank, without lanes of vectors that hold no point",
        "traffic": "40 n^3 (6 steps + 4): a step reads u, forcing and v, u again, and writes v, u",
        "messages": "for each of (x - 1) y + x (y - 1) pairs of x by y blocks 2 (steps + 1) in "
        "halos and 2 steps ceil((n - 2) / planes) in sweeps; x y in the reduction",
        "sent": "40 ((x + y - 2) (4 n^2 (steps + 1) + 2 (n - 2)^2 steps) + x y)",
    },
    memory=_lu_memory,
    peers=_lu_peers,
)
