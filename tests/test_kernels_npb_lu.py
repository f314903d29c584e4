"""npb.lu: its sweeps against explicit blocks, whole runs against official values, faults found."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from assay.kernels import find_kernel
from assay.kernels.npb.lu import LU_SIZES, lu_grid, lu_planes_per_message
from check_program import HARNESS, CheckProgram
from kernel_runs import assert_verified, checked, is_good, measure_twice, plain
from native_build import NATIVE
from test_npb_cfd import initial

LU = find_kernel("npb.lu")
OMEGA = 1.2
Vector = NDArray[np.float64]


# ---- Work and memory ----------------------------------------------------------------------------


def test_operations_are_the_official_ones() -> None:
    """NPB 3.4 prints 2699.64 Mop/s for class A in 44.19 s."""
    operations = LU.work({"class": "A"}, 3, 2)["operations"]
    assert operations == pytest.approx(2699.64e6 * 44.19, rel=2e-4)


def test_one_rank_sends_nothing_but_its_part_of_the_norm() -> None:
    work = LU.work({"class": "W"}, 1, 4)
    assert (work["messages"], work["sent"]) == (1, 40)


def test_messages_of_two_ranks_by_hand() -> None:
    """Class S: halos of 12 x 12 points two deep, both ways; 10 planes four to a message."""
    work = LU.work({"class": "S"}, 2, 1)
    assert work["messages"] == 2 * 51 + 2 * 50 * 3 + 2
    assert work["sent"] == 8 * 5 * (51 * 2 * 2 * 144 + 2 * 50 * 10 * 10 + 2)


ask = CheckProgram(
    "npb_lu_check.cpp",
    (
        *(f"npb/{n}.cpp" for n in ("lu_sweep", "lu_pipeline", "lu_solver", "halo", "process_grid")),
        *("npb/cfd/operator.cpp", "npb/cfd/state.cpp"),
        *HARNESS,
    ),
).ask


@pytest.mark.slow
def test_catalogue_knows_grid_and_memory() -> None:
    cases = [(name, ranks) for name in LU_SIZES for ranks in (1, 2, 3, 4, 7, 11, 12, 48, 96, 509)]
    for (name, ranks), words in zip(cases, ask(*(f"grid {c} {r}" for c, r in cases)), strict=True):
        x, y, z, planes = map(int, words)
        assert (x, y) == lu_grid(LU_SIZES[name][0], ranks) and z == 1
        assert x * y <= ranks
        assert planes == lu_planes_per_message(LU_SIZES[name][0])
    assert LU.memory is not None
    needs = [("A", 1, 1), ("A", 2, 3), ("B", 3, 1), ("C", 7, 2), ("D", 96, 1), ("E", 509, 4)]
    answers = ask(*(f"memory {c} {r} {t}" for c, r, t in needs))
    for (name, ranks, threads), (native, lanes) in zip(needs, answers, strict=True):
        told = LU.memory({"class": name}, ranks, threads)
        assert told == pytest.approx(float.fromhex(native), rel=0.02 if lanes == "8" else 0.1)
    # Three fields, a quarter more for padding and the rest.
    assert 1 < LU.memory({"class": "A"}, 1, 1) / (3 * 40 * 64**3) < 1.25


# ---- Sweeps by explicit blocks ------------------------------------------------------------------


def _inviscid(u: NDArray[np.complex128], d: int) -> NDArray[np.complex128]:
    kinetic = 0.5 * (u[1] ** 2 + u[2] ** 2 + u[3] ** 2) / u[0]
    speed = u[1 + d] / u[0]
    flux = np.array([u[1 + d], *(u[1:4] * speed), (1.4 * u[4] - 0.4 * kinetic) * speed])
    flux[1 + d] += 0.4 * (u[4] - kinetic)
    return flux


def _viscous(u: NDArray[np.complex128], d: int) -> NDArray[np.complex128]:
    v = u[1:4] / u[0]
    factors = np.where(np.arange(3) == d, 4 / 3, 1.0)
    energy = 0.5 * (1 - 1.96) * np.sum(v**2) + v[d] ** 2 / 6 + 1.96 * u[4] / u[0]
    return np.array([0, *(0.1 * factors * v), 0.1 * energy])


def _jacobian(
    function: Callable[[NDArray[np.complex128], int], NDArray[np.complex128]], u: Vector, d: int
) -> Vector:
    """By steps along the imaginary axis: exact to rounding."""
    columns = [np.imag(function(u + 1e-40j * unit, d)) / 1e-40 for unit in np.eye(5)]
    return np.array(columns).T


def _sweeps_by_blocks(n: int, dt: float) -> tuple[Vector, Vector]:
    """v after the lower sweep and u after the upper one, [component][z][y][x] inside the cube."""
    h = 1 / (n - 1)
    diffusion = (0.75, 0.75, 1.0)
    inner = range(1, n - 1)
    points = [(x, y, z) for z, y, x in product(inner, repeat=3)]
    values = np.sin(1 + np.arange(5 * len(points))).reshape(5, -1)
    u = {p: initial(*(i * h for i in p)) for p in points}
    v = {p: values[:, i] for i, p in enumerate(points)}

    def to_neighbour(p: tuple[int, int, int], d: int, sign: float) -> Vector:
        a, nu = _jacobian(_inviscid, u[p], d), _jacobian(_viscous, u[p], d)
        return dt * (sign / (2 * h) * a - (nu + diffusion[d] * np.eye(5)) / h**2)

    def diagonal(p: tuple[int, int, int]) -> Vector:
        own = sum(_jacobian(_viscous, u[p], d) + diffusion[d] * np.eye(5) for d in range(3))
        return np.eye(5) + 2 * dt / h**2 * own

    def sums(p: tuple[int, int, int], step: int) -> Vector:
        total = np.zeros(5)
        for d in range(3):
            q = (p[0] + step * (d == 0), p[1] + step * (d == 1), p[2] + step * (d == 2))
            if q in v:
                total += to_neighbour(q, d, float(step)) @ v[q]
        return OMEGA * total

    for p in points:
        v[p] = np.linalg.solve(diagonal(p), v[p] - sums(p, -1))
    lower = np.array([v[p] for p in points]).T
    for p in reversed(points):
        v[p] = v[p] - np.linalg.solve(diagonal(p), sums(p, 1))
    upper = np.array([u[p] + v[p] / (OMEGA * (2 - OMEGA)) for p in points]).T
    return lower.ravel(), upper.ravel()


@pytest.mark.slow
@pytest.mark.parametrize(("n", "dt"), [(6, 0.5), (11, 0.0015)])
def test_sweeps_are_those_with_explicit_blocks(n: int, dt: float) -> None:
    """However the planes are cut, and the same bits however rows are."""
    lower, upper = _sweeps_by_blocks(n, dt)
    cuts = [(1, 1), (1, 2), (2, 1), (3, 2), (1, n - 2), (2, n - 2)]
    answers = ask(*(f"sweeps {n} {dt} {x} {y}" for x, y in cuts))
    size = 5 * (n - 2) ** 3
    for cut, words in zip(cuts, answers, strict=True):
        found = np.array([float.fromhex(word) for word in words])
        assert found.shape == (2 * size,)
        assert np.max(np.abs(found[:size] - lower)) < 1e-13 * np.max(np.abs(lower)), cut
        assert np.max(np.abs(found[size:] - upper)) < 1e-13 * np.max(np.abs(upper)), cut
    assert answers[0] == answers[1] == answers[4]


# ---- Whole runs ---------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 6, 7, 8, 9])
def test_class_s_verifies_on_any_number_of_ranks(ranks: int, threads: int) -> None:
    (record,) = measure_twice(plain(), ("npb.lu", {"class": "S"}), ranks=ranks, threads=threads)
    assert_verified(record)
    assert record.verification is not None and record.verification.value is not None
    assert record.verification.value < 1e-10  # of 1e-8
    x, y = lu_grid(12, ranks)
    assert record.facts["working_ranks"] == x * y
    phases = {series.metric: series.values for series in record.series[1:]}
    assert set(phases) >= {"compute", "halo", "allreduce"} | ({"pipeline"} if ranks > 1 else set())
    spread = {"least_compute", "most_compute"}
    assert phases.keys() & spread == (spread if ranks > 1 else set())
    for index, time in enumerate(record.series[0].values):
        parts = [values[index] for name, values in phases.items() if name not in spread]
        assert 0 < sum(parts) <= time


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_class_w_verifies(ranks: int) -> None:
    (record,) = measure_twice(plain(), ("npb.lu", {"class": "W"}), ranks=ranks)
    assert_verified(record)


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("fault", ["forcing", "sweep"])
def test_what_is_computed_wrongly_is_found(fault: str, ranks: int) -> None:
    (record,) = measure_twice(checked(), ("npb.lu", {"class": "S", "fault": fault}), ranks=ranks)
    assert not is_good(record)
    assert record.status == "ok" and record.verified is False


@pytest.mark.slow
def test_it_is_clean_under_sanitizers() -> None:
    (record,) = measure_twice(checked(), ("npb.lu", {"class": "S"}), ranks=3, threads=2)
    assert_verified(record)


def test_classes_agree_with_the_native_table() -> None:
    text = " ".join((NATIVE / "npb" / "lu_classes.hpp").read_text().split())
    for name, (points, steps) in LU_SIZES.items():
        assert f'{{"{name}", {points}, {steps}, ' in text
