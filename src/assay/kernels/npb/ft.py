"""npb.ft in the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import pairwise, product
from math import log, log2, prod

from assay.kernels.catalogue import Kernel, Peers, Work, phase
from assay.kernels.npb.common import (
    COMPUTE_SPREAD,
    MONITOR,
    RATE,
    TIME,
    WORK_UNITS,
    class_parameter,
    code_parameter,
    is_plain,
)
from assay.kernels.npb.shared import class_table, constants, formula
from assay.model.placement import Value

# class: points in x, y and z, iterations
FT_SIZES = {
    name: (*extents, iterations)
    for name, (extents, iterations) in class_table("ft", "extents", "iterations").items()
}
_CONSTANTS = constants("ft")
POINT: int = _CONSTANTS["kFtPointBytes"]
UNIT: int = _CONSTANTS["kFtUnit"]


@cache
def ft_grid(points: tuple[int, int, int], ranks: int) -> tuple[int, int]:
    """The process grid: shares that x and y are cut into (across), and y and z (along).

    ``points``: in x, y and z. The grid minimises the work of the busiest rank. Across is 1 for
    slabs. The product may be less than ``ranks``.
    """
    nx, ny, _ = points

    def grid(across: int) -> dict[str, float]:
        return _grid(points, across, ranks)

    across = min(range(1, min(nx // UNIT, ny // UNIT, ranks) + 1), key=lambda n: grid(n)["cost"])
    return across, int(grid(across)["along"])


def _grid(points: tuple[int, int, int], across: int, ranks: int) -> dict[str, float]:
    nx, ny, nz = points
    return formula("ft/grid.def", "ft")(nx=nx, ny=ny, nz=nz, across=across, ranks=ranks)


def _shares(size: int, unit: int, parts: int) -> list[int]:
    whole, rest = divmod(size // unit, parts)
    ends = [whole * part + rest * part // parts for part in range(parts + 1)]
    return [(end - begin) * unit for begin, end in pairwise(ends)]


def _moved(points: tuple[int, int, int], across: int, along: int) -> tuple[int, int]:
    """Points that a transpose along and one across move to another rank."""
    nx, ny, nz = points
    kept = nx * sum(map(prod, zip(_shares(ny, 1, along), _shares(nz, 1, along), strict=True)))
    kept_across = nz * sum(
        map(prod, zip(_shares(nx, UNIT, across), _shares(ny, UNIT, across), strict=True))
    )
    return prod(points) - kept, prod(points) - kept_across


def _transform_flops(size: int) -> float:
    """Flops per point of a transform of ``size`` points: radix 8, one stage of 2 or 4 if needed.

    Butterflies of 8, 4 and 2 points take 56, 16 and 4 operations; except in the last stage they are
    followed by products with 7, 3 or 1 roots of unity, of 6 operations each.
    """
    eights, left = divmod(round(log2(size)), 3)
    return 12.25 * eights - 5.25 + (0.0, 5.0, 8.5)[left]


def _ft_work(parameters: Mapping[str, Value], ranks: int, threads: int) -> Work:
    nx, ny, nz, iterations = FT_SIZES[str(parameters["class"])]
    points = (nx, ny, nz)
    total = float(prod(points))
    across, along = ft_grid(points, ranks)
    moved, moved_across = _moved(points, across, along)
    transforms = 1 + iterations
    transposes = (across > 1) + (along > 1)
    # A transform of three dimensions reads and writes all points twice, but the first only writes
    # in its first pass; pencils make a third pass. A transpose across also copies points that stay.
    passes = 4 * transforms - 1
    if across > 1:
        passes += 2 * 2 * transforms
    if is_plain(parameters):
        # Each dimension, and packing and unpacking of each transpose, reads and writes all points,
        # as does the decay; the initial state is written.
        passes = transforms * (6 + 4 * transposes) + 2 * iterations + 1
    return {
        # As the NPB 2 and 3 reports' Mop/s.
        "operations": total
        * (14.8157 + 7.19641 * log(total) + (5.23518 + 7.21113 * log(total)) * iterations),
        "flops": total * (transforms * sum(map(_transform_flops, points)) + 3.0 * iterations + 4.0),
        "traffic": POINT * (passes * total + 2.0 * transforms * moved),
        "messages": float(
            transforms * transposes * across * along + (ranks * iterations if ranks > 1 else 0)
        ),
        "sent": POINT
        * float(transforms * (moved + moved_across) + (ranks * iterations if ranks > 1 else 0)),
    }


def _ft_peers(parameters: Mapping[str, Value], ranks: int, threads: int) -> Peers:
    """Bytes between ranks of one row or one column of the process grid: one forward transform, and
    an inverse one per iteration."""
    nx, ny, nz, iterations = FT_SIZES[str(parameters["class"])]
    across, along = ft_grid((nx, ny, nz), ranks)
    x, y = _shares(nx, UNIT, across), _shares(ny, UNIT, across)
    y_along, z = _shares(ny, 1, along), _shares(nz, 1, along)
    found = {}
    for row, column in product(range(along), range(across)):
        one = row * across + column
        for its_row in range(along):
            if its_row != row:
                there, back = z[row] * y_along[its_row], y_along[row] * z[its_row]
                size = float(POINT * x[column] * (there + iterations * back))
                found[one, its_row * across + column] = size
        for its_column in range(across):
            if its_column != column:
                there, back = y[column] * x[its_column], x[column] * y[its_column]
                size = float(POINT * z[row] * (there + iterations * back))
                found[one, row * across + its_column] = size
    return found


def _ft_memory(parameters: Mapping[str, Value], ranks: int, threads: int) -> float:
    nx, ny, nz, _ = FT_SIZES[str(parameters["class"])]
    grid = _grid((nx, ny, nz), ft_grid((nx, ny, nz), ranks)[0], ranks)
    terms = formula("ft/memory.def", "ft")(**grid, threads=threads)
    return float(terms["plain_bytes" if is_plain(parameters) else "bytes"])


KERNEL = Kernel(
    name="npb.ft",
    title="NPB FT: a partial differential equation by three-dimensional Fourier transforms",
    parameters=(
        class_parameter(FT_SIZES),
        code_parameter(
            "one pass over the array for each dimension, the decay, packing and unpacking; lines "
            "are transformed one by one"
        ),
        MONITOR,
    ),
    metrics=(
        TIME,
        RATE,
        phase(
            "compute", "computing the initial state, transforms, decay and checksums on the rank"
        ),
        phase("alltoallv", "transposing the grid between ranks"),
        phase("allreduce", "summing checksums over all ranks"),
        *COMPUTE_SPREAD,
    ),
    work=_ft_work,
    source="Bailey et al., RNR-94-007, 2.4",
    threaded=True,
    pace=2e10,
    headline="rate",
    notes="Any number of ranks is allowed: ranks have slabs, uneven if necessary, or pencils if "
    "these leave the busiest rank less work. Ranks without a share of the grid stay idle. "
    "Facts: cuts, the shares of x and y across and of y and z along; working_ranks, the "
    "ranks with a share. The time begins with drawing the initial state. Verified: every "
    "checksum within 1e-12 of the official one.",
    work_units=WORK_UNITS,
    formulas={
        "operations": "N (14.8157 + 7.19641 ln N + (5.23518 + 7.21113 ln N) niter), N = nx ny nz",
        "flops": "N ((1 + niter) (F(nx) + F(ny) + F(nz)) + 3 niter + 4), with F(n) = "
        "12.25 floor(log2(n) / 3) - 5.25, plus 5 or 8.5 if log2(n) mod 3 is 1 or 2",
        "traffic": "16 (N (4 (1 + niter) - 1) + 2 (1 + niter) M), with pencils 64 (1 + niter) N "
        "more; M: points that a transpose along moves to another rank. In plain code "
        "16 (N ((6 + 4 transposes) (1 + niter) + 2 niter + 1) + 2 (1 + niter) M)",
        "messages": "1 + niter transforms, with one transpose for slabs and two for pencils, each "
        "an alltoallv of each working rank; niter allreduces of each rank",
        "sent": "16 (1 + niter) (M + points that a transpose across moves), and 16 in each "
        "allreduce",
    },
    memory=_ft_memory,
    peers=_ft_peers,
)
