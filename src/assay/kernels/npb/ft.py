"""npb.ft in the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import pairwise, permutations
from math import log, log2, prod

from assay.kernels.catalogue import Kernel, Peers, Work, phase
from assay.kernels.npb.common import COMPUTE_SPREAD, RATE, TIME, WORK_UNITS, class_parameter
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
    """How many shares x and y are cut into across, and y and z along.

    ``points``: in x, y and z. The arrangement in which the busiest rank has least to do. Across is
    1 with slabs. The product may be less than ``ranks``.
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
    """Of one point in a transform of so many: radices 8, and 2 or 4 once where it must be.

    The butterflies of 8, 4 and 2 points take 56, 16 and 4 operations; all but those of the last
    stage are followed by products with 7, 3 or 1 roots of unity, of 6 operations each.
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
    # A transform of three dimensions reads and writes all points twice, but the first writes only
    # in its first pass; pencils make a third pass. A transpose across copies what stays, too.
    passes = 4 * transforms - 1
    if across > 1:
        passes += 2 * 2 * transforms
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
    """The parts of one another's points that pencils of a row, and of a column, exchange: once
    towards the spectrum, and back in every iteration."""
    nx, ny, nz, iterations = FT_SIZES[str(parameters["class"])]
    across, along = ft_grid((nx, ny, nz), ranks)
    x, y = _shares(nx, UNIT, across), _shares(ny, UNIT, across)
    y_along, z = _shares(ny, 1, along), _shares(nz, 1, along)
    found = {}
    for one, other in permutations(range(across * along), 2):
        (row, column), (its_row, its_column) = divmod(one, across), divmod(other, across)
        if column == its_column:
            there, back = z[row] * y_along[its_row], y_along[row] * z[its_row]
            lines = x[column]
        elif row == its_row:
            there, back = y[column] * x[its_column], x[column] * y[its_column]
            lines = z[row]
        else:
            continue
        found[one, other] = float(POINT * lines * (there + iterations * back))
    return found


def _ft_memory(parameters: Mapping[str, Value], ranks: int, threads: int) -> float:
    nx, ny, nz, _ = FT_SIZES[str(parameters["class"])]
    grid = _grid((nx, ny, nz), ft_grid((nx, ny, nz), ranks)[0], ranks)
    return float(formula("ft/memory.def", "ft")(**grid, threads=threads)["bytes"])


KERNEL = Kernel(
    name="npb.ft",
    title="NPB FT: a partial differential equation by three-dimensional Fourier transforms",
    parameters=(class_parameter(FT_SIZES),),
    metrics=(
        TIME,
        RATE,
        phase("compute", "initial state, transforms, decay and checksums on the rank"),
        phase("alltoallv", "transposing the grid between ranks"),
        phase("allreduce", "adding up checksums"),
        *COMPUTE_SPREAD,
    ),
    work=_ft_work,
    source="Bailey et al., RNR-94-007, 2.4",
    threaded=True,
    pace=2e10,
    headline="rate",
    notes="Any number of ranks: slabs (uneven where need be), or pencils where they leave the "
    "busiest rank less to do; ranks that the grid has no share for are idle. The fact cuts says "
    "how x and y are cut across and y and z along, working_ranks how many ranks have a share. "
    "Timed from drawing the initial state on. Verified: every checksum within 1e-12 of the "
    "official one.",
    work_units=WORK_UNITS,
    formulas={
        "operations": "N (14.8157 + 7.19641 ln N + (5.23518 + 7.21113 ln N) niter), N = nx ny nz",
        "flops": "N ((1 + niter) (F(nx) + F(ny) + F(nz)) + 3 niter + 4), with F(n) = "
        "12.25 floor(log2(n) / 3) - 5.25, and 5 or 8.5 more where 1 or 2 is left over",
        "traffic": "16 (N (4 (1 + niter) - 1) + 2 (1 + niter) M), with pencils 64 (1 + niter) N "
        "more; M: points that a transpose along moves to another rank",
        "messages": "an alltoallv of each working rank for each transpose of each of 1 + niter "
        "transforms, one transpose with slabs and two with pencils; niter allreduces of each rank",
        "sent": "16 (1 + niter) (M + points that a transpose across moves), and 16 in each "
        "allreduce",
    },
    memory=_ft_memory,
    peers=_ft_peers,
)
