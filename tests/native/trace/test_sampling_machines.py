"""Call stacks on other machines: the walk over a stack compiled for AArch64, and emulated."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from native_build import NATIVE
from sampled_programs import SAMPLING

pytestmark = pytest.mark.slow

CALLS = ["innermost", "middle", "outer", "handles", "begins", "main"]


@pytest.mark.parametrize(
    ("compiler", "runner"),
    [
        pytest.param("c++", (), id="this machine"),
        pytest.param(
            "aarch64-linux-gnu-g++", ("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"),
            id="AArch64", marks=pytest.mark.long,
        ),
    ],
)  # fmt: skip
def test_a_stack_with_two_signals_is_whole(
    tmp_path: Path, compiler: str, runner: tuple[str, ...]
) -> None:
    """Kernels for AArch64 have no unwind table for the return from a signal."""
    for program in (compiler, *runner[:1]):
        if shutil.which(program) is None:
            pytest.skip(f"{program} isn't installed")
    flags = ["-std=c++20", "-O1", "-fno-exceptions", "-fno-rtti", "-fno-optimize-sibling-calls",
             "-static-libgcc", "-static-libstdc++", "-Wl,--wrap=_Unwind_Find_FDE",
             f"-I{NATIVE / 'trace'}"]  # fmt: skip
    sources = [SAMPLING / "walks.cpp", NATIVE / "trace" / "sampling" / "walk.cpp"]
    words = [compiler, *flags, *sources, "-o", "walks", "-lpthread"]
    subprocess.run(words, check=True, cwd=tmp_path, timeout=280)
    done = subprocess.run(
        [*runner, tmp_path / "walks"], capture_output=True, text=True, check=True, timeout=100
    )
    assert [one for one in done.stdout.split() if one in CALLS] == CALLS
