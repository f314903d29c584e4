"""npb.bt and npb.sp: lines against dense systems, whole runs against official values, faults."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from assay.kernels import find_kernel
from assay.kernels.npb.adi import adi_grid, batch, memory
from assay.kernels.npb.bt import BT_SIZES, BT_SYSTEM
from assay.kernels.npb.sp import SP_SIZES, SP_SYSTEM
from cfd_fluxes import _inviscid, _jacobian, _viscous
from check_program import HARNESS, CheckProgram
from kernel_runs import (
    any_number_of_ranks,
    assert_phases,
    assert_verified,
    each_code,
    measure_faults,
    measure_twice,
    plain,
    sanitized,
)

BT = find_kernel("npb.bt")
SP = find_kernel("npb.sp")
KERNELS = ("npb.bt", "npb.sp")
CODES = ("tuned", "plain")
SYSTEMS = {"bt": (BT_SIZES, BT_SYSTEM), "sp": (SP_SIZES, SP_SYSTEM)}
# This machine's own number of lanes, and two lanes.
each_target = pytest.mark.parametrize(
    "target", ["native", pytest.param("x86-64", marks=pytest.mark.long)]
)
Array = NDArray[np.float64]


# ---- Work and memory ----------------------------------------------------------------------------


def test_operations_are_the_published_ones() -> None:
    """Published times and rates of class A multiply to 168.3 and 85.0 Gop."""
    assert BT.work({"class": "A"}, 3, 2)["operations"] == pytest.approx(168.3e9, rel=1e-3)
    assert SP.work({"class": "A"}, 3, 2)["operations"] == pytest.approx(85.0e9, rel=1e-3)


def test_one_rank_sends_nothing() -> None:
    for kernel in (BT, SP):
        work = kernel.work({"class": "W"}, 1, 4)
        assert (work["messages"], work["sent"]) == (0, 0)


def test_messages_of_two_ranks_by_hand() -> None:
    """Class S along z: a halo each way, 12 x 12 points two deep; ten rows of 12, padded to 16."""
    work = BT.work({"class": "S"}, 2, 1)
    assert work["messages"] == 60 * (2 + 2 * 10)
    assert work["sent"] == 60 * 8 * (2 * 2 * 5 * 144 + 2 * 10 * 30 * 16)
    work = SP.work({"class": "S"}, 2, 1)
    assert work["sent"] == 100 * 8 * (2 * 2 * 5 * 144 + 2 * 10 * 2 * 11 * 16)
    work = SP.work({"class": "S", "code": "plain"}, 2, 1)
    assert work["messages"] == 100 * (2 + 2 * 10)
    assert work["sent"] == 100 * 8 * (2 * 2 * 5 * 144 + 2 * 10 * 2 * 11 * 12)  # not padded


def test_batches_of_deeper_pipelines() -> None:
    # 162 points in halves: 21 vectors of 81 rows of 1920 bytes are three times the aim.
    assert batch(162, 2, 160, 30) == (1, 7)
    # Few bytes a row: several rows, but the pipeline must fill.
    assert batch(64, 2, 62, 11) == (5, 8)
    assert batch(64, 3, 62, 11) == (2, 8)
    assert batch(64, 2, 12, 11) == (1, 8)


def test_grid_leaves_blocks_thick_enough() -> None:
    for ranks in range(1, 40):
        y, z = adi_grid(12, ranks)
        assert y * z <= ranks and min(12 // y, 12 // z) >= 3
    assert adi_grid(12, 9) == (3, 3)
    assert adi_grid(64, 3) == (1, 3)


# ---- Lines against dense systems ----------------------------------------------------------------


PROGRAM = CheckProgram(
    "npb_adi_check.cpp",
    (
        *(f"npb/common/{name}.cpp" for name in ("halo", "process_grid")),
        *("npb/cfd/operator.cpp", "npb/cfd/state.cpp", "npb/adi/pipeline.cpp"),
        *HARNESS,
    ),
)


def ask(target: str, *questions: str) -> list[list[str]]:
    return PROGRAM.ask(*questions, flags=("-O1", f"-march={target}"))


@dataclass(frozen=True)
class Solved:
    """Arrays [component][row][line]; ``state`` has one more row at either end."""

    state: Array
    rhs: Array
    solution: Array


def _solve(target: str, system: str, rows: int, parts: int, dt: float, h: float) -> Solved:
    (words,) = ask(target, f"{system} {rows} {parts} {dt} {h}")
    lines = int(words[0])
    numbers = np.array([float.fromhex(word) for word in words[1:]])
    states, values = 5 * (rows + 2) * lines, 5 * rows * lines
    assert len(numbers) == states + 2 * values
    state, rhs, solution = np.split(numbers, [states, states + values])
    return Solved(*(part.reshape(5, -1, lines) for part in (state, rhs, solution)))


@pytest.mark.slow
@each_target
@pytest.mark.parametrize("parts", [1, 2, 3, 4, 5])
def test_block_lines_solve_the_dense_system(parts: int, target: str) -> None:
    rows, dt, h = 10, 0.01, 0.1
    for dimension in range(3):
        solved = _solve(target, f"bt{dimension}", rows, parts, dt, h)
        diffusion = (0.75, 0.75, 1.0)[dimension] * np.eye(5)
        for line in range(0, solved.rhs.shape[2], 5):
            matrix = np.zeros((rows, 5, rows, 5))
            for k in range(rows):
                u = solved.state[:, k + 1, line]
                inviscid = dt / (2 * h) * _jacobian(_inviscid, u, dimension)
                viscous = dt / h**2 * (_jacobian(_viscous, u, dimension) + diffusion)
                matrix[k, :, k, :] = np.eye(5) + 2 * viscous
                if k > 0:
                    matrix[k - 1, :, k, :] = inviscid - viscous
                if k < rows - 1:
                    matrix[k + 1, :, k, :] = -inviscid - viscous
            dense = matrix.reshape(5 * rows, 5 * rows)
            x = np.linalg.solve(dense, solved.rhs[:, :, line].T.ravel()).reshape(rows, 5)
            np.testing.assert_allclose(solved.solution[:, :, line], x.T, rtol=1e-11, atol=1e-13)


def _speeds(u: Array) -> tuple[Array, float]:
    velocity = u[1:4] / u[0]
    pressure = 0.4 * (u[4] - 0.5 * u[0] * float(velocity @ velocity))
    return velocity, float(np.sqrt(1.4 * pressure / u[0]))


@pytest.mark.slow
@each_target
def test_waves_are_eigenvectors(target: str) -> None:
    """With a zero time step the sweeps only change coordinates: to waves along y, z, and back."""
    rows = 6
    along_x, along_y, along_z = (_solve(target, f"sp{d}", rows, 1, 0.0, 0.1) for d in range(3))
    for line in range(along_x.rhs.shape[2]):
        for k in range(rows):
            u = along_x.state[:, k + 1, line]
            velocity, sound = _speeds(u)
            waves = _basis(u, 1)
            speeds = velocity[1] + np.array([0, 0, 0, sound, -sound])
            np.testing.assert_allclose(
                _jacobian(_inviscid, u, 1) @ waves, waves * speeds, rtol=1e-12, atol=1e-12
            )
            after = _basis(u, 2)
            for solved, before_it, after_it in (
                (along_x, np.eye(5), waves),
                (along_y, waves, after),
                (along_z, after, np.eye(5)),
            ):
                given, found = solved.rhs[:, k, line], solved.solution[:, k, line]
                np.testing.assert_allclose(
                    after_it @ found, before_it @ given, rtol=1e-11, atol=1e-12
                )


def _basis(u: Array, dimension: int) -> Array:
    """Right eigenvectors of the flux Jacobian along y or z as columns: three shear and entropy
    waves, two of sound, scaled as in Pulliam and Chaussee (1981), appendix."""
    (vx, vy, vz), sound = _speeds(u)
    density = u[0]
    velocity = np.array([vx, vy, vz])
    normal = np.eye(3)[dimension]
    alpha = density / (np.sqrt(2) * sound)
    kinetic = 0.5 * float(velocity @ velocity)

    def column(change: float, momentum: Array, energy: float) -> Array:
        return np.array([change, *momentum, energy])

    entropy = column(1, velocity, kinetic)
    shear = []
    for other in (1, 2):
        axis = np.eye(3)[(dimension + other) % 3]
        shear.append(column(0, density * axis, density * float(velocity @ axis)))
    enthalpy = kinetic + sound**2 / 0.4
    plus = alpha * column(
        1, velocity + sound * normal, enthalpy + sound * float(velocity[dimension])
    )
    minus = alpha * column(
        1, velocity - sound * normal, enthalpy - sound * float(velocity[dimension])
    )
    # The entropy wave is the component of the direction's own number; shear waves follow in turn.
    waves: list[Array] = [np.zeros(5)] * 3
    waves[dimension] = entropy
    waves[(dimension + 1) % 3] = shear[1]
    waves[(dimension + 2) % 3] = -shear[0]
    return np.array([*waves, plus, minus]).T


@pytest.mark.slow
@each_target
@pytest.mark.parametrize("parts", [1, 2, 3, 4, 5])
def test_pentadiagonal_lines_solve_the_dense_systems(parts: int, target: str) -> None:
    rows, dt, h = 11, 0.02, 0.1
    solved = _solve(target, "sp1", rows, parts, dt, h)
    a, b, e = dt / (2 * h), dt / h**2, dt * 0.25
    for line in range(solved.rhs.shape[2]):
        u = solved.state[:, :, line]
        velocity = u[2] / u[0]
        sound = np.array([_speeds(u[:, k])[1] for k in range(rows + 2)])
        bound = 0.75 + 1.96 * 0.1 / u[0]
        waves = np.zeros((5, rows))
        for m in range(5):
            speed = velocity + (0 if m < 3 else sound if m == 3 else -sound)
            matrix = e * (np.eye(rows, k=2) + np.eye(rows, k=-2))
            for k in range(rows):
                edge = k in (0, rows - 1)
                matrix[k, k] = 1 + 2 * b * bound[k + 1] + (5 if edge else 6) * e
                if k > 0:
                    matrix[k, k - 1] = -a * speed[k] - b * bound[k] - 4 * e
                if k < rows - 1:
                    matrix[k, k + 1] = a * speed[k + 2] - b * bound[k + 2] - 4 * e
            waves[m] = np.linalg.solve(matrix, solved.rhs[m, :, line])
        for k in range(rows):
            state = u[:, k + 1]
            x = _basis(state, 2) @ solved.solution[:, k, line]
            np.testing.assert_allclose(_basis(state, 1) @ waves[:, k], x, rtol=1e-10, atol=1e-12)


@pytest.mark.slow
def test_catalogue_knows_memory() -> None:
    cases = [("A", 1, 1), ("A", 3, 2), ("B", 2, 1), ("C", 7, 2), ("D", 96, 1), ("E", 509, 4)]
    for kernel in (BT, SP):
        which = kernel.name.removeprefix("npb.")
        answers = ask("native", *(f"memory {which} {c} {r} {t}" for c, r, t in cases))
        for (name, ranks, threads), (native, of_plain, lanes) in zip(cases, answers, strict=True):
            assert kernel.memory is not None
            sizes, system = SYSTEMS[which]
            points = sizes[name][0]
            need = memory(points, system, ranks, threads, int(lanes))
            assert need == float.fromhex(native)
            # The catalogue assumes the widest vectors.
            catalogue = kernel.memory({"class": name}, ranks, threads)
            assert catalogue == memory(points, system, ranks, threads, 8)
            assert catalogue == pytest.approx(need, rel=0.1)
            plain_code = {"class": name, "code": "plain"}
            assert kernel.memory(plain_code, ranks, threads) == float.fromhex(of_plain)


@pytest.mark.slow
@pytest.mark.parametrize("which", ["bt", "sp"])
@pytest.mark.parametrize(("name", "ranks", "threads"), [("A", 1, 1), ("B", 1, 2), ("B", 3, 1)])
def test_memory_need_equals_the_growth_of_the_process(
    which: str, name: str, ranks: int, threads: int
) -> None:
    lines = PROGRAM.ask(f"built-{which} {name} {threads}", ranks=ranks, launched=True)
    assert len(lines) == ranks
    of_mpi = 4e6 if ranks > 1 else 0  # for messages, up to 3 MB with two neighbours
    for words in lines:
        grown, need = map(float.fromhex, words)
        assert 0.85 * need <= grown <= 1.02 * need + of_mpi


# ---- Whole runs ---------------------------------------------------------------------------------


@pytest.mark.slow
@any_number_of_ranks
def test_class_s_verifies_on_any_number_of_ranks(ranks: int, threads: int) -> None:
    orders = [(kernel, {"class": "S", "code": code}) for kernel in KERNELS for code in CODES]
    for record in measure_twice(plain(), *orders, ranks=ranks, threads=threads):
        assert_verified(record)
        y, z = adi_grid(12, ranks)
        assert record.facts["working_ranks"] == y * z
        assert_phases(record, "compute", *(["halo", "handover"] if ranks > 1 else []))


@pytest.mark.slow
@pytest.mark.long
@each_code
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_class_w_verifies(ranks: int, code: str) -> None:
    orders = [(each, {"class": "W", "code": code}) for each in KERNELS]
    for record in measure_twice(plain(), *orders, ranks=ranks):
        assert_verified(record)


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["none", "field", "step"])
@pytest.mark.sanitizable
def test_wrong_runs_are_detected(fault: str) -> None:
    orders = [(kernel, {"class": "S", "fault": fault}) for kernel in KERNELS]
    measure_faults(*orders, ranks=2, samples=(2, 2))


@pytest.mark.sanitized
@pytest.mark.slow
@pytest.mark.parametrize(
    ("ranks", "threads"),
    [(3, 2), *(pytest.param(*each, marks=pytest.mark.long) for each in ((1, 2), (3, 1), (4, 1)))],
)
@pytest.mark.sanitizable
def test_they_pass_the_sanitizers(ranks: int, threads: int) -> None:
    orders = [(kernel, {"class": "S", "code": code}) for kernel in KERNELS for code in CODES]
    for record in measure_twice(sanitized(), *orders, ranks=ranks, threads=threads):
        assert_verified(record)
