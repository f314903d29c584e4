"""npb.lu: sweeps against explicit blocks, runs against official values, detection of faults."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from assay.kernels import find_kernel
from assay.kernels.npb.lu import LU_SIZES, lu_grid, lu_memory, lu_planes_per_message
from cfd_fields import initial
from cfd_fluxes import Vector, _inviscid, _jacobian, _viscous
from check_program import HARNESS, CheckProgram
from kernel_runs import (
    any_number_of_ranks,
    assert_verified,
    measure_faults,
    measure_twice,
    plain,
    sanitized,
)

LU = find_kernel("npb.lu")
OMEGA = 1.2


# ---- Work and memory ----------------------------------------------------------------------------


def test_operations_are_the_official_ones() -> None:
    """NPB 3.4 prints 2699.64 Mop/s for class A in 44.19 s."""
    operations = LU.work({"class": "A"}, 3, 2)["operations"]
    assert operations == pytest.approx(2699.64e6 * 44.19, rel=2e-4)


def test_one_rank_sends_nothing_but_its_part_of_the_norm() -> None:
    work = LU.work({"class": "W"}, 1, 4)
    assert (work["messages"], work["sent"]) == (1, 40)


def test_messages_of_two_ranks_by_hand() -> None:
    """Class S: halos of 12 x 12 points two deep, both ways; 10 planes, four per message."""
    work = LU.work({"class": "S"}, 2, 1)
    assert work["messages"] == 2 * 51 + 2 * 50 * 3 + 2
    assert work["sent"] == 8 * 5 * (51 * 2 * 2 * 144 + 2 * 50 * 10 * 10 + 2)


PROGRAM = CheckProgram(
    "npb_lu_check.cpp",
    (
        *(f"npb/lu/{name}.cpp" for name in ("sweep", "pipeline", "solver")),
        *(f"npb/common/{name}.cpp" for name in ("halo", "process_grid")),
        *("npb/cfd/operator.cpp", "npb/cfd/state.cpp"),
        *HARNESS,
    ),
)
ask = PROGRAM.ask


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
        points = LU_SIZES[name][0]
        assert lu_memory(points, ranks, threads, int(lanes)) == float.fromhex(native)
        # The catalogue assumes the widest vectors.
        catalogue = LU.memory({"class": name}, ranks, threads)
        assert catalogue == lu_memory(points, ranks, threads, 8)
        assert catalogue == pytest.approx(float.fromhex(native), rel=0.1)
    # Three fields, a quarter more for padding and the rest.
    assert 1 < LU.memory({"class": "A"}, 1, 1) / (3 * 40 * 64**3) < 1.25


@pytest.mark.slow
@pytest.mark.parametrize(("name", "ranks", "threads"), [("A", 1, 1), ("B", 1, 2), ("B", 3, 1)])
def test_memory_need_equals_the_growth_of_the_process(name: str, ranks: int, threads: int) -> None:
    lines = PROGRAM.ask(f"built {name} {threads}", ranks=ranks, launched=True)
    assert len(lines) == ranks
    of_mpi = 4e6 if ranks > 1 else 0  # for messages, up to 3 MB with two neighbours
    for words in lines:
        grown, need = map(float.fromhex, words)
        assert 0.85 * need <= grown <= 1.02 * need + of_mpi


# ---- Sweeps by explicit blocks ------------------------------------------------------------------


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
    """For any cuts of planes, and bit for bit for any cuts of rows."""
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
@any_number_of_ranks
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
@pytest.mark.long
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_class_w_verifies(ranks: int) -> None:
    (record,) = measure_twice(plain(), ("npb.lu", {"class": "W"}), ranks=ranks)
    assert_verified(record)


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("fault", ["forcing", "sweep"])
@pytest.mark.sanitizable
def test_wrong_computations_are_detected(fault: str, ranks: int) -> None:
    measure_faults(("npb.lu", {"class": "S", "fault": fault}), ranks=ranks, samples=(2, 2))


@pytest.mark.sanitized
@pytest.mark.slow
@pytest.mark.sanitizable
def test_it_passes_the_sanitizers() -> None:
    (record,) = measure_twice(sanitized(), ("npb.lu", {"class": "S"}), ranks=3, threads=2)
    assert_verified(record)
