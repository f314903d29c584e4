"""Schedules of calls of the NPB, from the catalogue of kernels: grids, batches, bytes, iterations.

They follow assay's own code (native/npb). Tests compare the messages and bytes of each schedule
with the catalogue's, which are compared with counted calls. How the computing is distributed over
an iteration is approximate: by the points of levels and blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from assay.kernels import find_kernel
from assay.kernels.npb.adi import (
    COMPONENTS,
    GHOSTS,
    LANES,
    LineSystem,
    adi_grid,
    handed_batches,
)
from assay.kernels.npb.bt import BT_SIZES, BT_SYSTEM
from assay.kernels.npb.cg import CG_INNER_ITERATIONS, CG_SIZES
from assay.kernels.npb.ep import EP_RESULT_BYTES
from assay.kernels.npb.ft import FT_SIZES, POINT, ft_grid
from assay.kernels.npb.grid import block_pairs, inner, share_of
from assay.kernels.npb.is_ import IS_ITERATIONS, IS_SIZES, IS_TEST_KEYS, is_buckets
from assay.kernels.npb.lu import LU_SIZES, lu_grid, lu_planes_per_message
from assay.kernels.npb.mg import MG_SIZES, ghost_exchanges, levels_of
from assay.kernels.npb.sp import SP_SIZES, SP_SYSTEM
from assay.models.calls.actions import CallSchedule, even

# Number of iterations that are simulated, and number of actions, of which SimGrid processes at
# least 10,000 per s. A longer run takes proportionally longer. (An iteration of CG is a product
# with the matrix.)
MOST_ITERATIONS, MOST_ACTIONS = 20, 50_000
# Share of LU's computing in the right-hand side: 311.5 of 714.5 flops per point and step.
_LU_RIGHT = 311.5 / 714.5
# Share of the elimination in solving a line; the rest is back substitution.
_ELIMINATION = 0.75
_STATE = 8.0 * COMPONENTS


@dataclass(frozen=True)
class NpbSchedule:
    """The ``schedule`` of ``iterations`` of ``all_iterations``. The whole run takes ``factor``
    times as long."""

    schedule: CallSchedule
    iterations: int
    all_iterations: int

    @property
    def factor(self) -> float:
        """Time of the whole run over the time of the simulated part."""
        return self.all_iterations / self.iterations


@dataclass(frozen=True)
class _Problem:
    """A problem of the NPB: kernel, size and number of ranks."""

    kernel: str
    npb_class: str
    ranks: int
    #: Computing of all ranks together in all iterations, s at speed 1.
    seconds: float
    most: int

    def begin(self, iterations: int) -> tuple[CallSchedule, int, float]:
        """An empty schedule, the number of iterations to simulate, and the computing of one
        iteration (s)."""
        return CallSchedule(self.ranks), min(iterations, self.most), self.seconds / iterations


def npb_operations(kernel: str, npb_class: str, ranks: int) -> float:
    """The official number of operations."""
    return _work(kernel, npb_class, ranks)["operations"]


@cache
def npb_messages(kernel: str, npb_class: str, ranks: int) -> Mapping[int, float]:
    """Messages between two ranks in the whole run, including those of collectives, by size in
    bytes."""
    made = npb_schedule(kernel, npb_class, ranks, 0.0)
    return {size: number * made.factor for size, number in made.schedule.passed.items()}


def _work(kernel: str, npb_class: str, ranks: int) -> Mapping[str, float]:
    entry = find_kernel(f"npb.{kernel}")
    parameters = {each.name: each.default for each in entry.parameters} | {"class": npb_class}
    return entry.work(parameters, ranks, 1)


def npb_schedule(
    kernel: str, npb_class: str, ranks: int, seconds: float, most: int | None = None
) -> NpbSchedule:
    """The schedule of ``npb.KERNEL.CLASS``.

    ``seconds``: computing of the whole run on one rank, which all ranks share. ``most``: number of
    iterations that are simulated; None: a number that takes seconds to simulate.
    """

    def made(most: int) -> NpbSchedule:
        return _SCHEDULES[kernel](_Problem(kernel, npb_class, ranks, seconds, most))

    if most is not None:
        return made(most)
    one = made(1).schedule
    return made(min(max(MOST_ACTIONS // sum(map(len, one.lines)), 1), MOST_ITERATIONS))


def _ep(of: _Problem) -> NpbSchedule:
    schedule, _, each = of.begin(1)
    for rank, seconds in enumerate(even(each, [1.0] * of.ranks)):
        schedule.compute(rank, seconds)
    if of.ranks > 1:
        schedule.allreduce(EP_RESULT_BYTES)
    return NpbSchedule(schedule, 1, 1)


def _is(of: _Problem) -> NpbSchedule:
    keys, values = (2.0**power for power in IS_SIZES[of.npb_class])
    schedule, steps, each = of.begin(IS_ITERATIONS)
    ranks = of.ranks
    sizes = 8.0 * (is_buckets(round(values).bit_length() - 1, ranks) + IS_TEST_KEYS)
    for _ in range(steps):
        for rank in range(ranks):
            schedule.compute(rank, each / 2.0 / ranks)  # keys are counted before they are moved
        if ranks > 1:
            schedule.allreduce(sizes)
            schedule.alltoall(8.0)
            schedule.alltoall(4.0 * keys / ranks**2)
        for rank in range(ranks):
            schedule.compute(rank, each / 2.0 / ranks)
    return NpbSchedule(schedule, steps, IS_ITERATIONS)


def _cg(of: _Problem) -> NpbSchedule:
    order, _, iterations = CG_SIZES[of.npb_class]
    products = CG_INNER_ITERATIONS + 1
    schedule, steps, each = of.begin(iterations * products)
    for step in range(steps):
        if of.ranks > 1:
            schedule.allgather(8.0 * order / of.ranks)
        for rank in range(of.ranks):
            schedule.compute(rank, each / of.ranks)
        if of.ranks > 1:
            # Two dot products in each step; the residual's, and two of the outer iteration.
            for _sum in range(2 if step % products else 3):
                schedule.allreduce(16.0)
    return NpbSchedule(schedule, steps, iterations * products)


def _ft(of: _Problem) -> NpbSchedule:
    *points, iterations = FT_SIZES[of.npb_class]
    nx, ny, nz = points
    across, along = ft_grid((nx, ny, nz), of.ranks)
    kernel = find_kernel("npb.ft")
    assert kernel.peers is not None
    parameters = {each.name: each.default for each in kernel.parameters} | {"class": of.npb_class}
    working = across * along
    transforms = iterations + 1
    between = kernel.peers(parameters, of.ranks, 1)
    schedule, steps, each = of.begin(transforms)
    stages = [
        [
            (one, other, size / transforms)
            for (one, other), size in between.items()
            if (one % across == other % across) == same_column
        ]
        for same_column, cut in ((True, along > 1), (False, across > 1))
        if cut
    ]
    for step in range(steps):
        for stage in stages:
            for rank in range(working):
                schedule.compute(rank, each / working / (len(stages) + 1))
            schedule.exchange_in_turn(stage, calls=working)
        for rank in range(working):
            schedule.compute(rank, each / working / (len(stages) + 1))
        if step and of.ranks > 1:
            schedule.allreduce(float(POINT))
    return NpbSchedule(schedule, steps, transforms)


def _mg(of: _Problem) -> NpbSchedule:
    _, cycles = MG_SIZES[of.npb_class]
    levels = levels_of(of.npb_class, of.ranks)
    schedule, steps, each = of.begin(cycles)
    working, rows = levels.working, levels.blocks[1]
    points = sum(8.0**level for level in range(1, levels.finest + 1))
    whole = sum(8.0**level for level in range(1, levels.whole + 1)) if working > 1 else 0.0
    stages = [] if working == 1 else ghost_exchanges(levels, cycles)
    for step in range(steps):
        if working > 1:
            schedule.allgather(8.0**levels.whole * 8.0 / working)
        for rank in range(of.ranks):
            if rank < working:
                schedule.compute(rank, each * whole / points)
        for level, ghosts, times in sorted(stages):
            messages = list(levels.exchanged(level, ghosts))
            beside = [one for one in messages if one[0] // rows == one[1] // rows]
            if times == cycles or step < steps - 1:
                for stage in (beside, [one for one in messages if one not in beside]):
                    if stage:
                        schedule.exchange(stage)
            for rank in range(working):
                schedule.compute(rank, each * 8.0**level / points / working)
        if working == 1:
            schedule.compute(0, each)
        if working > 1 and step in (0, steps - 1):
            schedule.allreduce(16.0)
    return NpbSchedule(schedule, steps, cycles)


def _lu(of: _Problem) -> NpbSchedule:
    n, iterations = LU_SIZES[of.npb_class]
    x, y = lu_grid(n, of.ranks)
    schedule, steps, each = of.begin(iterations)
    batches = -(-(n - 2) // lu_planes_per_message(n))
    pairs = list(block_pairs((x, y, 1)))
    shares = [inner(n, i, x) * inner(n, j, y) for j in range(y) for i in range(x)]
    right = even(each * _LU_RIGHT, shares)
    sweep = even(each * (1.0 - _LU_RIGHT) / 2.0, shares)
    halo: list[tuple[int, int, float]] = []
    front: dict[tuple[int, int], float] = {}
    for one, other, dimension, at in pairs:
        parts = (x, y)[1 - dimension]
        size = _STATE * GHOSTS * len(share_of(n, at[1 - dimension], parts)) * n
        halo += [(one, other, size), (other, one, size)]
        front[one, other] = _STATE * inner(n, at[1 - dimension], parts) * (n - 2) / batches
    if halo:
        schedule.exchange(halo)  # before the first step
    for _ in range(steps):
        for rank, seconds in enumerate(right):
            schedule.compute(rank, seconds)
        if halo:
            schedule.exchange(halo)
        for upwards in (True, False):
            for _batch in range(batches):
                _sweep(schedule, sweep, batches, front, upwards=upwards)
    if of.ranks > 1:
        schedule.allreduce(_STATE)
    return NpbSchedule(schedule, steps, iterations)


def _sweep(
    schedule: CallSchedule,
    seconds: list[float],
    batches: int,
    front: Mapping[tuple[int, int], float],
    *,
    upwards: bool,
) -> None:
    """One batch of planes of all ranks, from one corner of the grid to the opposite one."""
    flow = front if upwards else {(other, one): size for (one, other), size in front.items()}
    for rank, own in enumerate(seconds):
        for (sender, receiver), size in flow.items():
            if receiver == rank:
                schedule.receive(rank, sender, size)
        schedule.compute(rank, own / batches)
        for (sender, receiver), size in flow.items():
            if sender == rank:
                schedule.send(rank, receiver, size)


def _adi(
    sizes: Mapping[str, tuple[int, ...]], system: LineSystem
) -> Callable[[_Problem], NpbSchedule]:
    def schedule_of(of: _Problem) -> NpbSchedule:
        n, iterations = sizes[of.npb_class]
        y, z = adi_grid(n, of.ranks)
        schedule, steps, each = of.begin(iterations)
        shares = [inner(n, i, y) * inner(n, j, z) for j in range(z) for i in range(y)]
        quarter = even(each / 4.0, shares)  # right-hand side, lines along x, y and z
        halo: list[tuple[int, int, float]] = []
        for one, other, dimension, at in block_pairs((1, y, z)):
            part, parts = at[3 - dimension], (1, y, z)[3 - dimension]
            size = GHOSTS * _STATE * n * len(share_of(n, part, parts))
            halo += [(one, other, size), (other, one, size)]
        for _ in range(steps):
            if halo:
                schedule.exchange(halo)
            for rank, seconds in enumerate(quarter):
                schedule.compute(rank, 2.0 * seconds)
            for own, others, stride, step_of_line in ((y, z, 1, y), (z, y, y, 1)):
                for part in range(others):
                    line = [part * step_of_line + at * stride for at in range(own)]
                    _lines(
                        schedule=schedule,
                        n=n,
                        system=system,
                        line=line,
                        part=part,
                        others=others,
                        seconds=quarter,
                    )
        return NpbSchedule(schedule, steps, iterations)

    return schedule_of


def _lines(
    schedule: CallSchedule,
    n: int,
    system: LineSystem,
    line: list[int],
    part: int,
    others: int,
    seconds: list[float],
) -> None:
    """Solve lines, which are divided into blocks of the ranks of ``line``, from both ends."""
    own = len(line)
    if own == 1:
        schedule.compute(line[0], seconds[line[0]])
        return
    across = inner(n, part, others)
    batches, size = handed_batches(
        points=n, system=system, own=own, across=across, threads=1, lanes=LANES
    )
    forth, back = size * system.kept, size * COMPONENTS
    middle = own // 2 - 1
    # From the ends inwards, each rank sends to the next one; the two innermost ranks send to each
    # other.
    inwards = [at + 1 if at <= middle else at - 1 for at in range(own)]
    for place, share, message in ((0, _ELIMINATION, forth), (1, 1.0 - _ELIMINATION, back)):
        order = sorted(range(own), key=lambda at: min(at, own - 1 - at))
        if place:
            order.reverse()
        for _batch in range(int(batches)):
            exchanged = []
            for at in order:
                rank = line[at]
                outer = [one for one in range(own) if inwards[one] == at]
                innermost = at in (middle, middle + 1)
                outer = [one for one in outer if one not in (middle, middle + 1)]
                if place == 0:
                    for one in outer:
                        schedule.receive(rank, line[one], message)
                elif not innermost:
                    schedule.receive(rank, line[inwards[at]], message)
                schedule.compute(rank, seconds[rank] * share / batches)
                if place == 0:
                    if innermost:
                        exchanged.append((rank, line[inwards[at]], message))
                    else:
                        schedule.send(rank, line[inwards[at]], message)
                else:
                    for one in outer:
                        schedule.send(rank, line[one], message)
            if exchanged:
                schedule.exchange(exchanged)


_SCHEDULES: Mapping[str, Callable[[_Problem], NpbSchedule]] = {
    "ep": _ep,
    "is": _is,
    "cg": _cg,
    "ft": _ft,
    "mg": _mg,
    "lu": _lu,
    "bt": _adi(BT_SIZES, BT_SYSTEM),
    "sp": _adi(SP_SIZES, SP_SYSTEM),
}
NPB = tuple(_SCHEDULES)
