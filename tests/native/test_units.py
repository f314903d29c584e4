"""The units that each kernel needs, as builds for a plan derive them from the sources."""

from __future__ import annotations

import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from assay.config import Config
from assay.kernels import kernels
from assay.kernels.building import build_kernels
from assay.kernels.builds.units import FAMILIES, all_units, units_of
from assay.kernels.sources import native_sources
from assay.kernels.toolchains import select_toolchain
from kernel_runs import assert_good, measure
from native_build import NATIVE, TOOLS

NAMES = sorted(kernel.name for kernel in kernels())
COMMON = (
    *("algorithm", "array", "cmath", "cstdint", "cstring", "functional", "map", "memory", "mpi.h"),
    *("optional", "span", "string", "string_view", "utility", "vector", "harness/kernel.hpp"),
)


def test_every_unit_is_needed_by_a_kernel_and_none_needs_all() -> None:
    """A helper that doesn't include its own header first would be missing here."""
    needed = {name: units_of(NATIVE, [name]) for name in NAMES}
    assert all(needed.values())
    assert frozenset().union(*(units or () for units in needed.values())) == all_units(NATIVE)
    assert needed["network.barrier"] == {"network/barrier.cpp", "network/barrier_check.cpp"}


def test_the_families_are_those_of_the_build() -> None:
    text = (NATIVE / "CMakeLists.txt").read_text()
    listed = re.search(r"foreach\(family ([a-z ]+)\)", text)
    assert listed and tuple(listed[1].split()) == FAMILIES


@pytest.mark.long
def test_the_units_of_each_kernel_define_what_they_use(tmp_path: Path) -> None:
    """Without optimisation no call is inlined away, so that no use of a function is missed."""
    units = sorted(all_units(NATIVE))
    compiler = [str(TOOLS / "mpicxx"), "-std=c++20", "-O0", "-march=native", "-fopenmp", "-w"]
    compiler += [f"-I{NATIVE}", "-isystem", str(NATIVE / "third_party"), "-DASSAY_HAVE_BLAS=1"]
    compiler += ['-DASSAY_BLAS_LIBRARY="x"', '-DASSAY_BLAS_NAME="x"', "-c"]
    # Most compile time is spent on headers that most units include: they are compiled once.
    common = tmp_path / "common.hpp"
    common.write_text("".join(f"#include <{name}>\n" for name in COMMON))
    subprocess.run([*compiler, "-x", "c++-header", str(common), "-o", f"{common}.gch"], check=True)

    def symbols(unit: str) -> tuple[set[str], set[str]]:
        made = tmp_path / f"{unit.replace('/', '-')}.o"
        words = ["-include", str(common), str(NATIVE / unit), "-o", str(made)]
        subprocess.run([*compiler, *words], check=True)
        listed = subprocess.run(["nm", str(made)], check=True, capture_output=True, text=True)
        found = re.findall(r"(?m)^[0-9a-f ]{16} (\w) (\S+)$", listed.stdout)
        return {n for kind, n in found if kind != "U"}, {n for kind, n in found if kind == "U"}

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        tables = dict(zip(units, pool.map(symbols, units), strict=True))
    everything = set().union(*(defined for defined, _ in tables.values()))
    for name in NAMES:
        chosen = units_of(NATIVE, [name])
        assert chosen is not None
        defined = set().union(*(tables[unit][0] for unit in chosen))
        used = set().union(*(tables[unit][1] for unit in chosen))
        assert used & everything <= defined, name


@pytest.mark.long
def test_a_build_of_some_kernels_measures_and_is_extended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path))
    toolchain = select_toolchain("embedded", Config())
    first = build_kernels(toolchain, kernels=["network.barrier"], sources=native_sources())
    steps: list[str] = []
    more = build_kernels(toolchain, lambda seen: steps.append(seen.step), kernels=["npb.ep"])
    compiled = [step for step in steps if step.startswith("Building")]
    assert len(compiled) == 2 and all("npb/ep" in step for step in compiled), compiled
    for executable, kernel, parameters in (
        (first, "network.barrier", {}),
        (more, "network.barrier", {}),
        (more, "npb.ep", {"class": "S"}),
    ):
        [record] = measure(executable, (kernel, parameters), ranks=2)
        assert_good(record) if kernel == "network.barrier" else None
        assert record.verified is True
