"""Sampled call stacks of programs with known shares of work, by the command and by the library."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import prepared_assay
from assay.trace.samples.model import Activity
from native_build import TOOLS
from patient_ranks import library as patience
from sampled_programs import (
    SAMPLING,
    assert_share,
    compiled,
    counts,
    places_of,
    run_sampled,
    samples_in,
)

pytestmark = pytest.mark.slow

SHARES = {"half": 0.5, "third": 0.3, "seventh": 0.15, "recursive": 0.05}
# Lines of the loop in shares.c, and of main's calls.
_SOURCE = (SAMPLING / "shares.c").read_text("utf-8").splitlines()
_LOOP = {n for n, line in enumerate(_SOURCE, 1) if "x ^=" in line or "for (long" in line
         or "__asm__" in line}  # fmt: skip
_CALLS = {name: next(n for n, line in enumerate(_SOURCE, 1) if line.startswith(f"    {name}("))
          for name in SHARES}  # fmt: skip
_ASSAY = (sys.executable, "-m", "assay", "profile")


def _profile(folder: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [*_ASSAY, *words]
    done = prepared_assay.run(
        [str(word) for word in command], cwd=folder, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return done


def test_the_command_finds_the_shares_of_functions_without_mpi(tmp_path: Path) -> None:
    program = compiled("shares.c", "-O2", "-g")
    plain = subprocess.run([program, "10000"], capture_output=True, text=True, check=True)
    kept = tmp_path / "kept"
    done = _profile(tmp_path, "--sample", "199", "--folder", kept, "--", program, "10000")
    assert done.stdout.startswith(plain.stdout)
    assert "samples:" in done.stderr and "1 thread in 1 process" in done.stderr
    samples = samples_in(kept)
    found = counts(samples, list(SHARES))
    every = sum(found.values())
    assert every > 100
    assert found[""] <= 0.02 * every  # before and after the steps
    for name, share in SHARES.items():
        assert_share(found[name], every - found[""], share)
    inner = {places_of(samples, stack)[-1] for stack in samples.threads[0].stacks.tolist()}
    assert {place.inlined for place in inner if place.function == "work"} == {True}
    deepest = max(
        sum(place.function == "recursive" for place in places_of(samples, stack))
        for stack in range(len(samples.stacks))
    )
    assert 2 <= deepest <= 5
    thread = samples.threads[0]
    assert len(thread.times) + thread.lost == pytest.approx(
        thread.cpu_time / samples.period, rel=0.02, abs=2
    )
    assert np.all(np.diff(thread.times) > 0)


@pytest.mark.parametrize("level", ["-O0", "-O3"])
def test_lines_are_those_of_the_source(tmp_path: Path, level: str) -> None:
    assert run_sampled(tmp_path, [compiled("shares.c", level, "-g"), "1500"]).returncode == 0
    samples = samples_in(tmp_path)
    seen = set()
    for stack in set(samples.threads[0].stacks.tolist()):
        places = places_of(samples, stack)
        for outer, inner in itertools.pairwise(places):
            if outer.function == "main" and inner.function in SHARES:
                assert outer.line == _CALLS[inner.function]
                seen.add(inner.function)
        if places[-1].function == "work":
            assert places[-1].line in _LOOP
            assert Path(places[-1].file).name == "shares.c"
    assert {"half", "third"} <= seen


@pytest.mark.parametrize(
    ("flags", "complete"),
    [
        (("-O0",), True),  # with frame pointers
        (("-O2", "-fomit-frame-pointer"), False),
    ],
    ids=["frame-pointers", "nothing"],
)
def test_programs_without_unwind_tables(
    tmp_path: Path, flags: tuple[str, ...], complete: bool
) -> None:
    program = compiled("shares.c", "-g", "-fno-asynchronous-unwind-tables", *flags)
    plain = subprocess.run([program, "1500"], capture_output=True, text=True, check=True)
    done = run_sampled(tmp_path, [program, "1500"])
    assert (done.returncode, done.stdout, done.stderr) == (0, plain.stdout, "")
    samples = samples_in(tmp_path)
    found = counts(samples, list(SHARES))
    assert found["half"] > found["seventh"]
    if complete:
        found = counts(samples, ["main"])
        assert found["main"] >= 0.9 * sum(found.values())


def test_a_stripped_program_has_addresses_in_its_module(tmp_path: Path) -> None:
    program = compiled("shares.c", "-O2", "-s")
    assert run_sampled(tmp_path, [program, "1500"]).returncode == 0
    samples = samples_in(tmp_path)
    inner = Counter(
        places_of(samples, stack)[-1].module for stack in samples.threads[0].stacks.tolist()
    )
    assert inner.most_common(1)[0][0] == "shares"
    assert all(place.address for place in samples.places if place.module == "shares")
    assert any("shares" in doubt and "addresses" in doubt for doubt in samples.doubts)


def test_waiting_in_barriers_of_openmp_is_told_from_computing(tmp_path: Path) -> None:
    if shutil.which("gfortran") is None:
        pytest.skip("gfortran is not installed")
    flags = ("-O2", "-g", "-fopenmp", "-fno-inline", "-fno-optimize-sibling-calls")
    program = compiled("team.f90", *flags, compiler="gfortran")
    more = {"OMP_WAIT_POLICY": "active", "OMP_PROC_BIND": "false"}
    assert run_sampled(tmp_path, [program, "25"], more=more).returncode == 0
    samples = samples_in(tmp_path)
    parts = ["fluxes::long_part", "fluxes::short_part"]
    found = counts(samples, parts)
    assert_share(found[parts[0]], found[parts[0]] + found[parts[1]], 0.75)
    main, worker = (next(one for one in samples.threads if one.thread == n) for n in (0, 1))
    assert worker.name == "OpenMP thread 1"
    for thread in (main, worker):
        for stack, activity in zip(thread.stacks.tolist(), thread.activities.tolist(), strict=True):
            functions = {place.function for place in places_of(samples, stack)}
            if functions & set(parts):
                assert activity == Activity.COMPUTING
            elif places_of(samples, stack)[-1].module.startswith("libgomp"):
                assert activity == Activity.WAITING
    assert np.count_nonzero(worker.activities == Activity.WAITING) > 10


def test_ranks_and_the_function_that_one_of_them_computes_longer_in(tmp_path: Path) -> None:
    program = compiled("ranks.c", "-O2", "-g", compiler=str(TOOLS / "mpicc"))
    kept = tmp_path / "kept"
    launcher = [TOOLS / "mpirun", "-n", "2", "env", f"LD_PRELOAD={patience()}"]
    done = _profile(
        tmp_path, "--sample=199", "--trace", "--folder", kept, "--", *launcher, program, "4000"
    )
    assert "samples:" in done.stderr
    samples = samples_in(kept)
    ranks = {one.rank: one for one in samples.threads if one.thread == 0}
    assert set(ranks) == {0, 1}
    solve = [counts(samples, ["solve"], ranks[rank])["solve"] for rank in (0, 1)]
    assert_share(solve[1], sum(solve), 1.3 / 2.3)
    even = [counts(samples, ["assemble"], ranks[rank])["assemble"] for rank in (0, 1)]
    assert_share(even[1], sum(even), 0.5)
    for one in ranks.values():
        inside = np.array(["PMPI_Barrier" in {p.function for p in places_of(samples, stack)}
                           for stack in one.stacks.tolist()], dtype=bool)  # fmt: skip
        assert np.all(one.activities[inside] == Activity.MPI)
        # On the trace's clock, which begins at the end of MPI_Init.
        computing = one.times[one.activities == Activity.COMPUTING]
        assert np.median(computing) > 0.0


def test_threads_that_call_mpi_at_the_same_time(tmp_path: Path) -> None:
    program = compiled("multiple.c", "-O2", "-g", "-pthread", compiler=str(TOOLS / "mpicc"))
    kept = tmp_path / "kept"
    launcher = [TOOLS / "mpirun", "-n", "2", "env", f"LD_PRELOAD={patience()}"]
    words = ("--sample", "1000", "--folder", kept, "--", *launcher, program, "3000")
    done = _profile(tmp_path, *words)
    assert "1 4501500 4501500" in done.stdout  # the sums of 1 to 3000
    samples = samples_in(kept)
    assert {(one.rank, one.thread) for one in samples.threads} >= {(0, 0), (1, 0)}
    for one in samples.threads:
        for stack, activity in zip(one.stacks.tolist(), one.activities.tolist(), strict=True):
            functions = {place.function for place in places_of(samples, stack)}
            if "exchange" in functions and "PMPI_Sendrecv" in functions:
                assert activity == Activity.MPI


def _python() -> str | None:
    """A Python whose functions have code of their own (3.12 and later)."""
    check = "import sys; sys.exit(not hasattr(sys, 'activate_stack_trampoline'))"
    for name in ("python3", "python3.12", "python3.13", "python3.14"):
        path = shutil.which(name)
        if (
            path
            and subprocess.run([path, "-c", check], check=False, capture_output=True).returncode
            == 0
        ):
            return path
    return None


def test_functions_of_python_are_named(tmp_path: Path) -> None:
    python = _python()
    if python is None:
        pytest.skip("there is no Python 3.12 or later")
    program = tmp_path / "loops.py"
    program.write_text(
        "def half(n):\n    return sum(i * i for i in range(5 * n))\n"
        "def rest(n):\n    return sum(i * i for i in range(5 * n))\n"
        "for _ in range(40):\n    half(30000)\n    rest(30000)\n",
        "utf-8",
    )
    more = {"PYTHONPERFSUPPORT": "1", "ASSAY_SAMPLE_PYTHON": "1"}
    assert run_sampled(tmp_path, [python, program], more=more).returncode == 0
    samples = samples_in(tmp_path)
    found = counts(samples, ["half", "rest"])
    assert found["half"] + found["rest"] > 50
    assert_share(found["half"], found["half"] + found["rest"], 0.5)
    places = {place.function: place for place in samples.places if place.module == "python"}
    assert places["half"].file == str(program)
    process = samples.threads[0].process
    assert not Path(f"/tmp/perf-{process}.map").exists()


def test_a_static_program_is_refused_and_not_run(tmp_path: Path) -> None:
    program = tmp_path / "static"
    source = tmp_path / "static.c"
    source.write_text('#include <stdio.h>\nint main(void) { puts("ran"); }\n', "utf-8")
    made = subprocess.run(
        ["cc", "-static", source, "-o", program], check=False, capture_output=True
    )
    if made.returncode != 0:
        pytest.skip("there is no static C library")
    done = prepared_assay.run(
        [*_ASSAY, "--sample", "--", str(program)], cwd=tmp_path, capture_output=True, text=True,
        timeout=300, env={**os.environ},
    )  # fmt: skip
    assert done.returncode == 2 and "ran" not in done.stdout
    assert "statically linked" in done.stderr and "Link it dynamically" in done.stderr


def test_a_program_too_short_for_a_sample_is_one_sentence(tmp_path: Path) -> None:
    command = [*_ASSAY, "--sample", "1", "--", str(compiled("shares.c", "-O2", "-g")), "1"]
    done = prepared_assay.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 2
    assert "too little CPU time for a sample" in done.stderr and "--sample=1000" in done.stderr
