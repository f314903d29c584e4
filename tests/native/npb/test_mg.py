"""npb.mg: its operators against plain ones, whole runs against the official norms, and faults."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from assay.kernels import find_kernel
from assay.kernels.npb.mg import MG_SIZES, levels_of
from check_program import HARNESS, CheckProgram
from kernel_runs import (
    any_number_of_ranks,
    assert_phases,
    assert_verified,
    measure_faults,
    measure_twice,
    plain,
    sanitized,
)

MG = find_kernel("npb.mg")
Field = NDArray[np.float64]

# By the number of dimensions in which a neighbour differs: coefficients of the residual's operator,
# of the smoother of classes S, W and A, of the restriction (RNR-94-007, 2.2).
LAPLACIAN = (-8 / 3, 0, 1 / 6, 1 / 12)
SMOOTHER = (-3 / 8, 1 / 32, -1 / 64, 0)
RESTRICTION = (1 / 2, 1 / 4, 1 / 8, 1 / 16)


# ---- Work and memory ----------------------------------------------------------------------------


def test_operations_are_the_official_ones() -> None:
    work = {name: MG.work({"class": name}, 3, 2)["operations"] for name in MG_SIZES}
    assert work["S"] == 58 * 4 * 32**3
    assert work["B"] == 5 * work["A"] == 58 * 20 * 256**3
    assert work["D"] == 58 * 50 * 1024**3


def test_one_rank_sends_nothing() -> None:
    work = MG.work({"class": "A"}, 1, 4)
    assert (work["messages"], work["sent"]) == (0, 0)


def test_messages_of_two_ranks_by_hand() -> None:
    """Class A: two slabs; the levels of 128 and 64 points are exchanged, that of 32 gathered."""
    assert levels_of("A", 2).whole == 5
    work = MG.work({"class": "A"}, 2, 1)
    assert work["messages"] == 2 * (3 * 2 + 4 * 2 * 2 + 4 + 2)
    halos = 2 * 2 * 8 * (3 * 4 * 256**2 + 4 * (3 * 128**2 + 4 * 64**2))
    assert work["sent"] == halos + 4 * 8 * 32**3 + 2 * 2 * 16


def test_memory_is_that_of_u_the_right_hand_side_and_the_coarser_levels() -> None:
    assert MG.memory is not None
    need = MG.memory({"class": "C"}, 1, 1)
    fields = 8 * 512**3 * (2 + 2 / 7)
    assert fields < need < 1.05 * fields
    assert MG.memory({"class": "C"}, 4, 1) < 0.3 * need
    assert MG.memory({"class": "E"}, 1, 1) > 150e9


# ---- Operators ----------------------------------------------------------------------------------


ask = CheckProgram(
    "npb_mg_check.cpp",
    (
        *(f"npb/mg/{name}.cpp" for name in ("sweep", "solver", "charges")),
        *(f"npb/common/{name}.cpp" for name in ("halo", "process_grid")),
        *HARNESS,
    ),
).ask


def numbers(words: list[str]) -> Field:
    return np.array([float.fromhex(word) for word in words])


def apply(coefficients: tuple[float, ...], field: Field) -> Field:
    """The sum over all 27 neighbours on the periodic cube, one by one."""
    steps = itertools.product((-1, 0, 1), repeat=3)
    return np.asarray(
        sum(coefficients[sum(map(abs, s))] * np.roll(field, s, axis=(0, 1, 2)) for s in steps)
    )


def restrict(field: Field) -> Field:
    """Coarse point i coincides with fine point 2 i + 1."""
    return apply(RESTRICTION, field)[1::2, 1::2, 1::2]


def interpolate(coarse: Field) -> Field:
    """On coarse points their values, between them the means, one dimension at a time."""
    for axis in range(3):
        between = (coarse + np.roll(coarse, 1, axis)) / 2
        fine = np.stack([between, coarse], axis + 1)
        shape = list(coarse.shape)
        shape[axis] *= 2
        coarse = fine.reshape(shape)
    return coarse


def words(*fields: Field) -> str:
    return " ".join(repr(float(value)) for field in fields for value in field.ravel())


def draw(extent: int, seed: int) -> Field:
    return np.random.default_rng(seed).uniform(-1, 1, (extent, extent, extent))


@pytest.mark.slow
@pytest.mark.parametrize("extent", [4, 16, 32])  # too short for vectors, and not
@pytest.mark.parametrize(
    "tiles",
    [(1, 1), (3, 2), *(pytest.param(each, marks=pytest.mark.long) for each in ((2, 1), (1, 3)))],
)
def test_the_finest_sweep_equals_its_separate_stages(extent: int, tiles: tuple[int, int]) -> None:
    """Tiles are updated in place next to each other's input: the frame keeps the old values."""
    u, right, correction = draw(extent, 1), draw(extent, 2), draw(extent // 2, 3)
    question = f"fine {extent} {tiles[0]} {tiles[1]} {words(u, right, correction)}"
    answer = numbers(ask(question)[0])
    u = u + interpolate(correction)
    u = u + apply(SMOOTHER, right - apply(LAPLACIAN, u))
    residual = right - apply(LAPLACIAN, u)
    points = extent**3
    assert np.allclose(answer[:points], u.ravel(), rtol=0, atol=1e-13)
    assert np.allclose(answer[points:-1], restrict(residual).ravel(), rtol=0, atol=1e-12)
    assert answer[-1] == pytest.approx(np.sum(residual**2), rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("extent", [4, 16, 32])
def test_coarser_levels(extent: int) -> None:
    right, coarser = draw(extent, 4), draw(extent // 2, 5)
    smallest = draw(2, 6)
    answers = ask(
        *(f"coarse {extent} {y} {z} {words(right, coarser)}" for y, z in ((1, 1), (3, 2))),
        f"restricted {extent} {words(right)}",
        f"coarsest {words(smallest)}",
    )
    expected = interpolate(coarser)
    expected = expected + apply(SMOOTHER, right - apply(LAPLACIAN, expected))
    for answer in answers[:2]:
        assert np.allclose(numbers(answer), expected.ravel(), rtol=0, atol=1e-13)
    assert answers[0] == answers[1]  # for any cuts
    assert np.allclose(numbers(answers[2]), restrict(right).ravel(), rtol=0, atol=1e-14)
    assert np.allclose(numbers(answers[3]), apply(SMOOTHER, smallest).ravel(), rtol=0, atol=1e-15)


@pytest.mark.slow
def test_charges_are_at_the_extremes_of_the_numbers() -> None:
    state, found = 314159265, []
    for _ in range(16**3):
        state = state * 5**13 % 2**46
        found.append(state)
    order = np.argsort(np.array(found))
    expected = [f"+{i}" for i in order[:-11:-1]] + [f"-{i}" for i in order[:10]]
    for answer in ask("charges 4096 1", "charges 4096 3"):
        assert answer == expected


@pytest.mark.slow
def test_catalogue_and_native_code_cut_and_count_equally() -> None:
    cases = list(itertools.product("SAE", (1, 2, 3, 5, 16, 37, 64, 1000), (1, 3)))
    assert MG.memory is not None
    answers = ask(*(f"memory {name} {ranks} {threads}" for name, ranks, threads in cases))
    for (name, ranks, threads), answer in zip(cases, answers, strict=True):
        levels = levels_of(name, ranks)
        assert [int(word) for word in answer[:3]] == [levels.whole, *levels.blocks[1:]]
        need = MG.memory({"class": name}, ranks, threads)
        assert float(answer[3]) <= need <= 1.15 * float(answer[3]), (name, ranks, threads)


# ---- Whole runs ---------------------------------------------------------------------------------


@pytest.mark.slow
@any_number_of_ranks
def test_class_s_verifies_on_any_number_of_ranks(ranks: int, threads: int) -> None:
    (record,) = measure_twice(plain(), ("npb.mg", {"class": "S"}), ranks=ranks, threads=threads)
    assert_verified(record)
    names = [series.metric for series in record.series]
    if ranks > 1:
        assert_phases(record, "compute", "halo", "gather", "allreduce")
    else:  # a single rank adds up its norm in negligible time
        assert [name for name in names if name != "allreduce"] == ["time", "compute"]
    # For any cuts only rounding differs.
    assert record.verification is not None and (record.verification.value or 0) < 1e-11
    assert record.facts["working_ranks"] == levels_of("S", ranks).working


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_class_w_verifies_in_the_stated_memory(ranks: int) -> None:
    (record,) = measure_twice(plain(), ("npb.mg", {"class": "W"}), ranks=ranks)
    assert_verified(record)
    allocated = float(record.facts["bytes_of_rank"])
    assert MG.memory is not None
    assert allocated <= MG.memory({"class": "W"}, ranks, 1) <= 1.15 * allocated


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.sanitizable
def test_wrong_runs_are_detected(ranks: int) -> None:
    """Different charges, a smoother wrong by a millionth, a start that isn't zero."""
    faults = ("none", "seed", "smoother", "start")
    orders = [("npb.mg", {"class": "S", "fault": fault}) for fault in faults]
    measure_faults(*orders, ranks=ranks, samples=(2, 2))


@pytest.mark.sanitized
@pytest.mark.slow
@pytest.mark.sanitizable
def test_it_passes_the_sanitizers() -> None:
    (record,) = measure_twice(sanitized(), ("npb.mg", {"class": "S"}), ranks=3, threads=2)
    assert_verified(record)
