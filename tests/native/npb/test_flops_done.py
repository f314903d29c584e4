"""The catalogue's floating-point operations of the NPB against those that are executed.

An assembler that counts (``tests/support/counting``) compiles the kernels, so that the count is of
the instructions that ran: with vectors of two doubles, where lanes without a point are few.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import platform
import subprocess
from collections.abc import Callable
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from types import ModuleType

import pytest

from assay.kernels import find_kernel
from assay.kernels.npb.bt import BT_SIZES
from assay.kernels.npb.cg import CG_SIZES
from assay.kernels.npb.common import cubic, cubic_text
from assay.kernels.npb.ep import EP_FLOPS_PER_PAIR
from assay.kernels.npb.ft import FT_SIZES
from assay.kernels.npb.lu import LU_SIZES
from assay.kernels.npb.mg import MG_SIZES
from assay.kernels.npb.sp import SP_SIZES
from check_program import CheckProgram
from native_build import TOOLS

FOLDER = Path(__file__).parents[2] / "support" / "counting"
ASSEMBLER = FOLDER / "as"
CHECK = CheckProgram(
    "npb_flops_check.cpp",
    (),
    flags=(
        *("-O1", "-march=x86-64", f"-B{FOLDER}/"),
        f"-DCOUNTED_BY={sha256(ASSEMBLER.read_bytes()).hexdigest()[:8]}",
    ),
)
# Points per side whose inner points fill vectors of two, so that counts are polynomials; the last
# is that of class A.
SIZES = (12, 16, 20, 24, 64)


def _is_gnu() -> bool:
    said = subprocess.run(
        [TOOLS / "mpicxx", "--version"], capture_output=True, text=True, check=False
    ).stdout
    return "Free Software Foundation" in said


counted = pytest.mark.skipif(
    platform.machine() != "x86_64" or not _is_gnu(), reason="needs GCC on x86-64"
)


def flops(*questions: str) -> list[tuple[int, int]]:
    """The operations of one step and of two, per question."""
    return [(int(one), int(two)) for one, two in CHECK.ask(*questions, threads=1)]


def of_a_run(steps: int, one: int, two: int) -> int:
    """Operations of this many steps, which all do the same."""
    return one + (steps - 1) * (two - one)


def assembler() -> ModuleType:
    loader = importlib.machinery.SourceFileLoader("counting_assembler", str(ASSEMBLER))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("line", "operations"),
    [
        ("\taddsd\t8(%rax), %xmm0", 1),
        ("\tvmulpd\t%xmm1, %xmm2, %xmm3", 2),
        ("\tvsubpd\t(%rdi,%rax), %ymm2, %ymm3", 4),
        ("\tvdivpd\t%zmm1, %zmm2, %zmm3{%k1}{z}", 8),
        ("\tsqrtsd\t%xmm1, %xmm1", 1),
        ("\tvfmadd231pd\t%zmm1, %zmm2, %zmm3", 16),
        ("\tvfnmsub132sd\t%xmm1, %xmm2, %xmm3", 2),
        ("\taddss\t%xmm1, %xmm2", 0),
        ("\tmovapd\t%xmm1, %xmm2", 0),
        ("\txorpd\t%xmm1, %xmm2", 0),
        ("\taddq\t$8, %rax", 0),
        ("\tcvtsi2sdl\t%eax, %xmm0", 0),
    ],
)
def test_the_assembler_knows_the_operations_of_an_instruction(line: str, operations: int) -> None:
    module = assembler()
    assert module.operations(line) == operations
    lines = module.counting(f"f:\n{line}\n\tret\n").splitlines()
    assert [lines[0], *lines[-2:]] == ["f:", line, "\tret"]
    assert len(lines) == 3 + 5 * (operations > 0)


@counted
@pytest.mark.long
def test_a_known_number_of_operations_is_counted() -> None:
    """In each of 1000 rounds an addition, two products, a division and a root."""
    assert flops("known 1.5") == [(5000, 0)]


@counted
@pytest.mark.long
@pytest.mark.parametrize(
    ("kernel", "code", "sizes"),
    [
        ("lu", "", LU_SIZES),
        ("bt", "", BT_SIZES),
        ("sp", "", SP_SIZES),
        ("bt", "plain-", BT_SIZES),
        ("sp", "plain-", SP_SIZES),
    ],
)
def test_flops_of_flow_problems_are_the_counted_ones(
    kernel: str, code: str, sizes: dict[str, tuple[int, int]]
) -> None:
    """The counts of five sizes lie on one cubic, the catalogue's within 2%.

    Other compilers find other common subexpressions. With GCC 12 the two are equal.
    """
    found = dict(zip(SIZES, flops(*(f"{code}{kernel} {n}" for n in SIZES)), strict=True))
    of_a_step = {n - 2: two - one for n, (one, two) in found.items()}
    *fitted, last = of_a_step
    assert predicted([(m, of_a_step[m]) for m in fitted], last) == of_a_step[last]
    work = find_kernel(f"npb.{kernel}").work
    for size in "SA":
        n, steps = sizes[size]
        done = work({"class": size}, 1, 1)["flops"]
        assert of_a_run(steps, *found[n]) == pytest.approx(done, rel=0.02)


def predicted(known: list[tuple[int, int]], at: int) -> Fraction:
    """The value at ``at`` of the polynomial through these points (Lagrange)."""
    total = Fraction(0)
    for x, value in known:
        term = Fraction(value)
        for other, _ in known:
            if other != x:
                term *= Fraction(at - other, x - other)
        total += term
    return total


@counted
@pytest.mark.long
@pytest.mark.parametrize(
    ("kernel", "question", "steps", "tolerances"),
    [
        # The catalogue's nonzeros are an upper bound, 2% above those of class S.
        ("cg", str, lambda size: CG_SIZES[size][2], {"S": 0.025, "A": 0.01}),
        # Vectors at both ends of a row are computed twice, a larger share of short rows.
        ("mg", lambda size: str(MG_SIZES[size][0]), lambda size: MG_SIZES[size][1],
         {"S": 0.05, "W": 0.015, "A": 0.01, "B": 0.01}),
        ("ft", str, lambda size: FT_SIZES[size][3], {"S": 0.002, "W": 0.002}),
        ("plain-ft", str, lambda size: FT_SIZES[size][3], {"S": 0.005, "W": 0.005}),
    ],
)  # fmt: skip
def test_flops_are_the_counted_ones(
    kernel: str,
    question: Callable[[str], str],
    steps: Callable[[str], int],
    tolerances: dict[str, float],
) -> None:
    asked = {size: f"{kernel} {question(size)}" for size in tolerances}
    # Classes of the same grid, such as MG's A and B, are counted once.
    once = tuple(dict.fromkeys(asked.values()))
    found = dict(zip(once, flops(*once), strict=True))
    for size, tolerance in tolerances.items():
        one, two = found[asked[size]]
        name = kernel.removeprefix("plain-")
        done = find_kernel(f"npb.{name}").work({"class": size}, 1, 1)["flops"]
        assert of_a_run(steps(size), one, two) == pytest.approx(done, rel=tolerance)


@counted
@pytest.mark.long
def test_flops_of_ep_are_the_counted_ones() -> None:
    ((one, two),) = flops("ep")
    assert one / 2**16 == pytest.approx(EP_FLOPS_PER_PAIR, rel=1e-3)
    assert two == pytest.approx(2 * one, rel=1e-3)


def test_cubics() -> None:
    assert cubic((2.0, 0.5, -1.0, 3.0), 4.0) == 2 * 64 + 0.5 * 16 - 4 + 3
    assert cubic_text((714.5, 1567.0, 463.0, 368.0)) == "714.5 m^3 + 1567 m^2 + 463 m + 368"
