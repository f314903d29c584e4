"""HPL's schedule: its arithmetic, its bytes by the published terms, and that it ends."""

from __future__ import annotations

import pytest

from assay.models.calls.linpack import linpack_schedule
from assay.models.linpack.time import Coefficients
from assay.trace.exports.simgrid import SPEED
from call_schedules import executed

PLAIN = Coefficients(update=1.0, panel=1e9, hidden=0.0, network=1.0)


@pytest.mark.parametrize(("p", "q"), [(1, 1), (1, 2), (2, 2), (2, 3), (3, 2), (4, 4)])
def test_arithmetic_and_bytes_are_the_published_terms(p: int, q: int) -> None:
    n, nb = 6_400, 64
    made = linpack_schedule(n, nb, p, q, 1e9, PLAIN)
    computed = sum(
        float(line.split()[2])
        for lines in made.schedule.lines
        for line in lines
        if " compute " in line
    )
    assert computed / SPEED * made.factor == pytest.approx(2 * n**3 / 3 / 1e9, rel=0.01)
    sizes = made.schedule.passed
    pivots = 8 * (2 * nb + 4)
    # N² / 2 words along each ring of Q - 1 messages; 3 N² / 2 words in columns, of which each rank
    # keeps its own P-th part.
    bytes_ = sum(size * number for size, number in sizes.items() if size != pivots) * made.factor
    words = n**2 / 2 * (q - 1) + 3 * n**2 / 2 * (p - 1)
    assert bytes_ == pytest.approx(8 * words, rel=0.02)
    assert (sizes[pivots] > 0) == (p > 1)
    assert executed(linpack_schedule(512, 64, p, q, 1e9, PLAIN).schedule) == p * q


def test_a_few_panels_stand_for_all() -> None:
    few = linpack_schedule(64_000, 64, 2, 2, 1e9, PLAIN)
    assert few.factor > 10
    flops = 2 * 64_000**3 / 3
    computed = sum(
        float(line.split()[2]) for ls in few.schedule.lines for line in ls if " compute " in line
    )
    assert computed / SPEED * few.factor == pytest.approx(flops / 1e9, rel=0.01)


def test_an_order_below_a_panel_is_refused() -> None:
    with pytest.raises(ValueError, match="below a panel"):
        linpack_schedule(32, 64, 1, 1, 1e9, PLAIN)
