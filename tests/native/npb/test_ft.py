"""npb.ft: transforms, transposes and cuts against references, whole runs against checksums."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.kernels import find_kernel
from assay.kernels.npb.ft import FT_SIZES, ft_grid
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

FT = find_kernel("npb.ft")
CODES = ("tuned", "plain")
SEED = 314159265
# Portable code and this machine's own: the lanes differ.
HERE = "-march=native"
each_target = pytest.mark.parametrize(
    "target", [HERE, pytest.param("-march=x86-64", marks=pytest.mark.long)]
)


PROGRAM = CheckProgram(
    "npb_ft_check.cpp",
    (
        *(
            f"npb/ft/{name}.cpp"
            for name in ("solver", "plain", "grid", "position", "transpose", "fft")
        ),
        *HARNESS,
    ),
)


def ask(*question: object, target: str = HERE, ranks: int = 1) -> list[list[str]]:
    return PROGRAM.ask(" ".join(map(str, question)), ranks=ranks, flags=("-O1", target))


def _numbers(words: list[str]) -> np.ndarray:
    """Complex numbers of twice the precision, from words that alternate in parts."""
    values = np.array([float.fromhex(word) for word in words], dtype=np.longdouble)
    return np.asarray(values[::2] + 1j * values[1::2], dtype=np.clongdouble)


# ---- The catalogue ------------------------------------------------------------------------------


def test_operations_are_the_official_ones() -> None:
    """As published for classes A and B: 7.14 and 92.1 billion."""
    work = {name: FT.work({"class": name}, 3, 2)["operations"] for name in FT_SIZES}
    assert work["A"] == pytest.approx(7.136e9, rel=1e-3)
    assert work["B"] == pytest.approx(92.05e9, rel=1e-3)


def test_what_ranks_send_is_what_moves() -> None:
    """Brute force: the owner of every point before and after each transpose of class S."""
    nx, ny, nz, iterations = FT_SIZES["S"]
    x, y, z = np.meshgrid(np.arange(nx), np.arange(ny), np.arange(nz), indexing="ij")

    def part(index: np.ndarray, size: int, parts: int) -> np.ndarray:
        ends = np.array([size // parts * p + size % parts * p // parts for p in range(1, parts)])
        return np.searchsorted(ends, index, side="right")

    for ranks in (1, 2, 3, 7, 67, 127, 192):
        across, along = ft_grid((nx, ny, nz), ranks)
        with_z = (part(x // 8, nx // 8, across), part(y, ny, along))
        with_y = (part(x // 8, nx // 8, across), part(z, nz, along))
        with_x = (part(y // 8, ny // 8, across), part(z, nz, along))
        moves = sum(
            int(np.count_nonzero((a[0] != b[0]) | (a[1] != b[1])))
            for a, b in ((with_z, with_y), (with_y, with_x))
        )
        work = FT.work({"class": "S"}, ranks, 1)
        sums = ranks * iterations if ranks > 1 else 0
        assert work["sent"] == 16 * ((1 + iterations) * moves + sums)
        transposes = (across > 1) + (along > 1)
        assert work["messages"] == (1 + iterations) * transposes * across * along + sums


@given(
    st.tuples(*[st.integers(3, 9)] * 2, st.integers(1, 9)),
    st.integers(1, 3000),
)
def test_ranks_get_work_as_evenly_as_possible(logs: tuple[int, int, int], ranks: int) -> None:
    nx, ny, nz = points = (2 ** logs[0], 2 ** logs[1], 2 ** logs[2])
    across, along = ft_grid(points, ranks)
    assert 1 <= across * along <= ranks
    assert across <= min(nx, ny) // 8 and along <= min(ny, nz)
    # Never worse than the simple choices: one rank, and slabs on at most as many ranks as planes.
    slabs = min(ranks, ny, nz)

    def busiest(across: int, along: int) -> int:
        units = (nx // 8, ny // 8)
        return max(
            -(-units[0] // across) * 8 * -(-ny // along) * nz,
            -(-units[0] // across) * 8 * ny * -(-nz // along),
            -(-units[1] // across) * 8 * nx * -(-nz // along),
        )

    assert busiest(across, along) <= 2 * busiest(1, slabs)
    if ranks >= 2 * slabs and min(nx, ny) >= 16:
        assert busiest(across, along) < busiest(1, slabs)


def test_few_ranks_make_slabs() -> None:
    for name, (*points, _) in FT_SIZES.items():
        for ranks in range(1, 10):
            assert ft_grid((points[0], points[1], points[2]), ranks) == (1, ranks), name


@pytest.mark.slow
def test_grids_and_memory_are_the_native_ones() -> None:
    cases = [
        (name, ranks, threads)
        for (name, ranks), threads in zip(
            product(FT_SIZES, (1, 2, 3, 7, 31, 48, 67, 96, 100, 127, 1000, 5000)),
            [1, 2, 5] * 1000,
            strict=False,
        )
    ]
    questions = [(*FT_SIZES[name][:3], ranks, threads) for name, ranks, threads in cases]
    answers = PROGRAM.ask(*(" ".join(map(str, ("grid", *each))) for each in questions))
    assert FT.memory is not None
    for (name, ranks, threads), answer in zip(cases, answers, strict=True):
        nx, ny, nz, _ = FT_SIZES[name]
        assert tuple(map(int, answer[:2])) == ft_grid((nx, ny, nz), ranks)
        for code, bytes_ in zip(("tuned", "plain"), answer[2:], strict=True):
            assert int(bytes_) == FT.memory({"class": name, "code": code}, ranks, threads)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ranks", "threads"),
    [(1, 1), (2, 3), (3, 1), (7, 1), pytest.param(28, 2, marks=pytest.mark.long)],
)
@each_code
def test_memory_need_is_a_tight_upper_bound(ranks: int, threads: int, code: str) -> None:
    """For a grid of ours, class W transposed, which 28 ranks cut into pencils."""
    points = (256, 128, 16)
    across, along = ft_grid(points, ranks)
    assert (across > 1) == (ranks == 28)
    ((bytes_,),) = ask("memory", *points, across, along, threads, code, ranks=ranks)
    ((*_, tuned, of_plain),) = ask("grid", *points, ranks, threads)
    bound = int(of_plain if code == "plain" else tuned)
    assert int(bytes_) <= bound <= 1.15 * int(bytes_)


# ---- The native parts ---------------------------------------------------------------------------


@pytest.mark.slow
@each_target
def test_transforms_are_the_defined_ones(target: str) -> None:
    """Against the sum of the definition in twice the precision: sizes with every first radix."""
    for size in (16, 32, 64, 128, 256, 512):
        lines = [_numbers(words) for words in ask("fft", size, target=target)]
        phase = np.outer(np.arange(size), np.arange(size)) % size
        angle = phase * (2 * np.longdouble("3.14159265358979323846264338327950288") / size)
        matrix = np.cos(angle) - 1j * np.sin(angle)
        scale = np.linalg.norm(lines[0].astype(complex))
        for given_, forward, inverse in zip(lines[::3], lines[1::3], lines[2::3], strict=True):
            # The error of one value is a few roundings in each of log2(size) stages, of a sum that
            # is as large as the input's norm.
            tolerance = 2.0**-53 * scale * np.log2(size)
            assert np.max(np.abs(matrix @ given_ - forward)) < tolerance
            assert np.max(np.abs(matrix.conj() @ given_ - inverse)) < tolerance
            energy = np.sum(np.abs(given_) ** 2)
            assert abs(np.sum(np.abs(forward) ** 2) / size - energy) < 1e-14 * energy


@pytest.mark.slow
@each_target
def test_lanes_are_transposed(target: str) -> None:
    rows = np.array([[int(word) for word in line] for line in ask("lanes", target=target)])
    lanes = len(rows)
    square = 10 * np.arange(lanes)[:, None] + np.arange(lanes)
    assert (rows[:, :lanes] == square.T).all()
    assert (rows[:, lanes:] == square.T + 100).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    "ranks", [1, 3, *(pytest.param(each, marks=pytest.mark.long) for each in (2, 5))]
)
def test_transposes_move_every_element_to_its_place(ranks: int) -> None:
    """Every choice of dimensions; more ranks than indices in one of them."""
    for (whole, cut), own_stays in zip(
        [(a, b) for a, b in product(range(3), repeat=2) if a != b], [0, 1, 1, 0, 1, 0], strict=True
    ):
        extents = (7, 4, 9)
        ((wrong, wrong_back, elements),) = ask(
            "transpose", *extents, whole, cut, own_stays, ranks=ranks
        )
        assert (wrong, wrong_back) == ("0", "0")
        assert int(elements) == prod(extents)


def _checksums(points: tuple[int, int, int], times: int) -> list[complex]:
    """By the definition, with a generator in integers of any size and transforms as sums."""
    nx, ny, nz = points
    state, drawn = SEED, []
    for _ in range(2 * nx * ny * nz):
        state = state * 5**13 % 2**46
        drawn.append(state / 2**46)
    field = (np.array(drawn[::2]) + 1j * np.array(drawn[1::2])).reshape(nz, ny, nx)

    def along_all(field: np.ndarray, sign: int) -> np.ndarray:
        for axis, size in enumerate(field.shape):
            k = np.arange(size)
            matrix = np.exp(sign * 2j * np.pi * (np.outer(k, k) % size) / size)
            field = np.moveaxis(np.tensordot(matrix, field, axes=(1, axis)), 0, axis)
        return field

    spectrum = along_all(field, -1)
    squares = [
        np.array([k * k if k < size // 2 else (k - size) ** 2 for k in range(size)], dtype=float)
        for size in field.shape
    ]
    k2 = squares[0][:, None, None] + squares[1][:, None] + squares[2]
    sums = []
    for t in range(1, times + 1):
        state_t = along_all(spectrum * np.exp(-4e-6 * np.pi**2 * k2 * t), +1) / field.size
        sums.append(sum(state_t[5 * j % nz, 3 * j % ny, j % nx] for j in range(1, 1025)))
    return sums


@pytest.mark.slow
@each_target
@pytest.mark.parametrize(
    ("points", "across", "along", "threads", "cache"),
    [
        ((16, 16, 16), 1, 1, 1, 0),
        ((64, 16, 16), 1, 1, 3, 10**9),
        ((16, 32, 16), 1, 2, 2, 0),
        ((32, 16, 32), 1, 3, 1, 10**9),
        ((32, 16, 16), 2, 1, 1, 0),
        ((16, 32, 16), 2, 3, 1, 0),
        ((32, 32, 16), 3, 2, 2, 10**9),
    ],
)
def test_states_are_the_equations(
    target: str, points: tuple[int, int, int], across: int, along: int, threads: int, cache: int
) -> None:
    """Small grids by brute force; slabs and pencils, even and uneven, with and without caches."""
    answers = PROGRAM.ask(
        *(
            " ".join(map(str, ("solve", *points, 3, across, along, threads, cache, code)))
            for code in ("tuned", "plain")
        ),
        ranks=across * along + (across > 1),  # one is idle
        flags=("-O1", target),
    )
    found = [complex(_numbers(words)[0]) for words in answers]
    expected = _checksums(points, 3)[::-1]
    assert found == pytest.approx(expected + expected, rel=1e-13)


# ---- Whole runs ---------------------------------------------------------------------------------


@pytest.mark.slow
@any_number_of_ranks
def test_class_s_verifies_on_any_number_of_ranks(ranks: int, threads: int) -> None:
    orders = [("npb.ft", {"class": "S", "code": code}) for code in CODES]
    for record in measure_twice(plain(), *orders, ranks=ranks, threads=threads):
        assert_verified(record)
        assert record.verification is not None and record.verification.tolerance == 1e-12
        assert record.facts["working_ranks"] == ranks and record.facts["cuts"] == f"1x{ranks}"
        assert_phases(record, "compute", *(["alltoallv", "allreduce"] if ranks > 1 else []))


@pytest.mark.slow
@pytest.mark.long
@each_code
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_class_w_verifies(ranks: int, code: str) -> None:
    (record,) = measure_twice(plain(), ("npb.ft", {"class": "W", "code": code}), ranks=ranks)
    assert_verified(record)


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.sanitizable
def test_perturbed_runs_fail(ranks: int) -> None:
    """A different initial state in all samples or in one, and a diffusion 10^-7 too fast."""
    faults = ("none", "seed", "first", "diffusion")
    orders = [("npb.ft", {"class": "S", "fault": fault}) for fault in faults]
    measure_faults(*orders, ranks=ranks, samples=(2, 2))


@pytest.mark.sanitized
@pytest.mark.slow
@pytest.mark.sanitizable
def test_it_passes_the_sanitizers() -> None:
    orders = [("npb.ft", {"class": "S", "code": code}) for code in CODES]
    for record in measure_twice(sanitized(), *orders, ranks=3, threads=2):
        assert_verified(record)
