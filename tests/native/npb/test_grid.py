"""Process grids against brute force, and halos against a field that knows its own points."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.kernels.npb import grid
from check_program import HARNESS, SANITIZABLE, CheckProgram

pytestmark = [pytest.mark.slow, pytest.mark.sanitizable]

Blocks = tuple[int, int, int]
Cutting = tuple[tuple[int, int, int], tuple[bool, bool, bool], int, float]


PROGRAM = CheckProgram(
    "npb_grid_check.cpp",
    ("npb/common/process_grid.cpp", "npb/common/halo.cpp", *HARNESS),
    SANITIZABLE,
)


def ask(questions: list[str], ranks: int = 1) -> list[list[str]]:
    return PROGRAM.ask(*questions, ranks=ranks)


def words(*values: object) -> str:
    flat: list[str] = []
    for value in values:
        if isinstance(value, tuple):
            flat.append(words(*value))
        else:
            flat.append(str(int(value)) if isinstance(value, bool) else str(value))
    return " ".join(flat)


# ---- Grids --------------------------------------------------------------------------------------


def model(cutting: Cutting, blocks: Blocks) -> float:
    """Points of the greatest block, and the cost of those on its faces towards others."""
    extents, _, _, face_cost = cutting
    sides = [-(-extent // count) for extent, count in zip(extents, blocks, strict=True)]
    faces = 0
    for d in range(3):
        if blocks[d] > 1:
            area = sides[(d + 1) % 3] * sides[(d + 2) % 3]
            faces += (4 if d == 0 else 2) * area
    return sides[0] * sides[1] * sides[2] + face_cost * faces


def best_of_all(cutting: Cutting, ranks: int) -> Blocks:
    """Every possible grid, enumerated."""
    extents, may_cut, least, _ = cutting
    counts = [
        [n for n in range(1, ranks + 1) if n == 1 or (may and extent // n >= least)]
        for extent, may in zip(extents, may_cut, strict=True)
    ]
    along_x, along_y, along_z = counts
    pairs = ((nx, ny) for nx in along_x for ny in along_y if nx * ny <= ranks)
    grids = [(nx, ny, nz) for nx, ny in pairs for nz in along_z if nx * ny * nz <= ranks]
    return min(grids, key=lambda g: (model(cutting, g), g[0], g[1], -g[2]))


cuttings = st.tuples(
    st.tuples(*[st.integers(1, 60)] * 3),
    st.tuples(*[st.booleans()] * 3),
    st.integers(1, 9),
    st.sampled_from([0.0, 0.5, 1.0, 3.0]),
)


@pytest.mark.long
@settings(max_examples=10, deadline=None)
@given(st.lists(st.tuples(cuttings, st.integers(1, 40)), min_size=20, max_size=40))
def test_no_grid_is_better(cases: list[tuple[Cutting, int]]) -> None:
    answers = ask([f"grid {words(cutting)} {ranks}" for cutting, ranks in cases])
    for (cutting, ranks), answer in zip(cases, answers, strict=True):
        blocks = tuple(int(word) for word in answer[:3])
        best = best_of_all(cutting, ranks)
        assert blocks == best
        assert blocks == grid.choose_grid(grid.Cutting(*cutting), ranks)
        assert float(answer[3]) == model(cutting, best)
        assert [int(word) for word in answer[4:]] == neighbours(*blocks)


def neighbours(nx: int, ny: int, nz: int) -> list[int]:
    """Of each block, along x first: down and up in each dimension, with edges and without."""
    found: list[int] = []
    for z, y, x in itertools.product(range(nz), range(ny), range(nx)):
        for d, count in enumerate((nx, ny, nz)):
            for periodic, step in itertools.product((False, True), (-1, 1)):
                at = [x, y, z]
                at[d] += step
                outside = not 0 <= at[d] < count
                at[d] %= count
                there = at[0] + nx * (at[1] + ny * at[2])
                found.append(-1 if outside and not periodic else there)
    return found


def test_known_grids() -> None:
    cube = "256 256 256 0 1 1 4 1"
    grids = {1: "1 1 1", 2: "1 1 2", 3: "1 1 3", 4: "1 1 4", 16: "1 4 4", 64: "1 8 8"}
    answers = ask([f"grid {cube} {ranks}" for ranks in grids])
    assert [" ".join(answer[:3]) for answer in answers] == list(grids.values())
    # 11 ranks would leave two planes of 144 points to most; 9 have blocks of 12 x 4 x 4.
    (answer,) = ask(["grid 12 12 12 0 1 1 2 0 11"])
    assert answer[:3] == ["1", "3", "3"]


# ---- Halos --------------------------------------------------------------------------------------

# extents, may cut, least, face cost; periodic; depth; corners; components; padding of rows
SHAPES = [
    ("11 9 13 1 1 1 2 0", "1 1 1", "1 1 1", 1, 1, 0),
    ("8 9 20 0 0 1 2 0", "1 1 1", "0 2 2", 1, 1, 0),  # whole planes, sent without packing
    ("8 12 14 0 1 1 2 0", "1 1 1", "0 2 2", 1, 1, 0),
    ("10 11 12 0 1 1 2 0", "0 0 0", "0 2 2", 0, 5, 3),
    ("10 11 12 1 1 1 2 0", "0 0 0", "2 2 2", 0, 5, 1),
    ("9 10 11 1 1 1 1 0", "0 1 0", "1 1 1", 1, 2, 2),
    ("9 10 11 1 1 1 1 0", "1 1 1", "1 1 1", 0, 1, 0),
]


@pytest.mark.parametrize(
    ("ranks", "threads"),
    [
        *((1, 1), (2, 2), (3, 1), (4, 1)),
        *(pytest.param(*each, marks=pytest.mark.long) for each in ((7, 1), (8, 2))),
    ],
)
def test_every_ghost_arrives(ranks: int, threads: int) -> None:
    questions = [
        f"halo {cutting} {periodic} {depth} {corners} {components} {padding} {threads}"
        for cutting, periodic, depth, corners, components, padding in SHAPES
    ]
    for question, answer in zip(questions, ask(questions, ranks), strict=True):
        working, wrong, needless, messages, sent = (int(word) for word in answer)
        assert (wrong, needless) == (0, 0), question
        assert 1 <= working <= ranks
        assert (messages > 0) == (sent > 0) == (working > 1), question


def test_messages_and_bytes_are_reported() -> None:
    # Four slabs of 8 x 9 planes, two ghost planes in each direction; each slab sends two messages.
    (answer,) = ask(["halo 8 9 20 0 0 1 2 0 1 1 1 0 0 2 1 1 0 1"], 4)
    assert answer == ["4", "0", "0", "8", str(8 * 2 * 8 * 9 * 8)]
    # Not periodic: the outermost have one neighbour. Five components.
    (answer,) = ask(["halo 8 9 20 0 0 1 2 0 0 0 0 0 0 2 0 5 0 1"], 4)
    assert answer == ["4", "0", "0", "6", str(6 * 5 * 2 * 8 * 9 * 8)]
