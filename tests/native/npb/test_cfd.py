"""The CFD core of npb.lu, npb.bt and npb.sp, tested by tests/support/npb_cfd_check.cpp."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from cfd_fields import _exact, initial
from check_program import HARNESS, CheckProgram

PROGRAM = CheckProgram("npb_cfd_check.cpp", ("npb/cfd/operator.cpp", "npb/cfd/state.cpp", *HARNESS))


def ask(*questions: str) -> list[list[float]]:
    """The native code's answers, one list of numbers per question."""
    return [[float.fromhex(word) for word in line] for line in PROGRAM.ask(*questions)]


@pytest.mark.slow
def test_operator_equals_the_plain_one_for_any_cuts_of_the_cube() -> None:
    """Within the rounding of some 100 operations; with any numbers of rows per piece."""
    cuts = [(5, (1, 1, 1), 5), (12, (1, 1, 1), 3), (12, (2, 1, 1), 12), (12, (1, 2, 1), 1)]
    cuts += [(13, (1, 1, 2), 4), (13, (3, 2, 4), 2), (9, (4, 4, 4), 9), (20, (1, 3, 1), 7)]
    answers = ask(*(f"apply {n} {x} {y} {z} {rows}" for n, (x, y, z), rows in cuts))
    for cut, (error, nonzero) in zip(cuts, answers, strict=True):
        assert error < 3e-15, cut
        assert nonzero == 0, cut


@pytest.mark.slow
def test_forcing_balances_the_exact_solution() -> None:
    for worst, greatest in ask(*(f"forced 12 {threads}" for threads in (1, 2, 5))):
        assert worst <= 1e-13 * greatest and greatest > 1


@pytest.mark.slow
def test_initial_field_is_the_defined_one() -> None:
    n = 5
    points = [(0, 1, 2), (4, 4, 4), (1, 0, 3), (2, 3, 4), (1, 2, 3), (3, 1, 2)]
    answers = ask(*(f"initial {n} {x} {y} {z}" for x, y, z in points))
    for point, found in zip(points, answers, strict=True):
        assert found == pytest.approx(initial(*(i / (n - 1) for i in point)), rel=1e-13)


@pytest.mark.slow
def test_norms() -> None:
    n = 7
    one, three = ask(f"norms {n} 1", f"norms {n} 3")
    assert one == three
    inner = (n - 2) ** 3
    exact, spiked, error, residual = (np.array(one[i : i + 5]) for i in (0, 5, 10, 15))
    assert np.all(exact < 1e-13)
    assert spiked == pytest.approx([0, 0, 3 / inner**0.5, 0, 0], abs=1e-13)
    grid = [tuple(i / (n - 1) for i in p) for p in product(range(1, n - 1), repeat=3)]
    fields = np.array([initial(*p) for p in grid])
    errors = fields - np.array([_exact(*p) for p in grid])
    assert error == pytest.approx(np.sqrt((errors**2).sum(0) / inner), rel=1e-12)
    assert residual == pytest.approx(np.sqrt((fields**2).sum(0) / inner) / 2, rel=1e-12)
