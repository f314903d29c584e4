"""HPL's schedule of calls: panels on a P x Q grid of ranks, column by column of the grid.

After "HPL scalability analysis" (Petitet, Whaley, Dongarra & Cleary 2004): the ranks of a column
factor a panel, with an exchange per column of the panel; it is passed along each row as a ring;
ranks of a column exchange rows, and all update the rest. Without look-ahead.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from assay.models.calls.actions import CallSchedule
from assay.models.linpack.time import Coefficients

_WORD = 8
# Panels that are simulated, each of which stands for several; fewer where they have many messages.
_MOST_PANELS, _LEAST_PANELS, _MOST_ACTIONS = 60, 8, 100_000


@dataclass(frozen=True)
class LinpackSchedule:
    """``schedule`` of a part of the panels: the solution takes ``factor`` as long."""

    schedule: CallSchedule
    factor: float


def linpack_schedule(
    n: int, nb: int, p: int, q: int, dgemm: float, coefficients: Coefficients
) -> LinpackSchedule:
    """The solution of ``n`` unknowns in panels of ``nb`` columns; ``dgemm``: flop/s of a rank.

    Raises ValueError if the order is below a panel.
    """
    if n < nb:
        raise ValueError(f"an order of {n} is below a panel of {nb}")
    panels = math.ceil(n / nb)
    depth = math.ceil(math.log2(p)) if p > 1 else 0
    per_panel = nb * depth * p * 4 + p * q * (2 * p + 6)
    steps = min(panels, max(min(_MOST_PANELS, _MOST_ACTIONS // per_panel), _LEAST_PANELS))
    schedule = CallSchedule(p * q)
    update_rate, panel_rate = coefficients.update * dgemm, coefficients.panel * dgemm
    for step in range(steps):
        left = n * (1.0 - (step + 0.5) / steps)
        owner = step % q
        column = [row + p * owner for row in range(p)]
        for rank in column:
            schedule.compute(rank, left / p * nb**2 / panel_rate)
        for _ in range(nb if p > 1 else 0):
            _pivot(schedule, column, depth, _WORD * (2 * nb + 4))
        for passed in range(q - 1):
            for row in range(p):
                sender, receiver = (row + p * ((owner + passed + k) % q) for k in (0, 1))
                schedule.send(sender, receiver, _WORD * nb * left / p)
                schedule.receive(receiver, sender, _WORD * nb * left / p)
        if p > 1:
            # Rows are collected, spread and passed around; the rank's own p-th part is not sent.
            each = 3.0 * _WORD * nb * left / q / p
            rows = [
                (one + p * at, other + p * at, each)
                for at in range(q)
                for one in range(p)
                for other in range(p)
                if one != other
            ]
            schedule.exchange_in_turn(rows, p * q)
        for rank in range(p * q):
            schedule.compute(rank, 2.0 * nb * left**2 / (p * q) / update_rate)
    return LinpackSchedule(schedule, panels / steps)


def _pivot(schedule: CallSchedule, column: list[int], depth: int, size: float) -> None:
    """All ranks of the column find the greatest element and exchange two rows."""
    for level in range(depth):
        distance = 1 << level
        schedule.exchange(
            [
                (rank, column[place ^ distance], size)
                for place, rank in enumerate(column)
                if place ^ distance < len(column)
            ]
        )
