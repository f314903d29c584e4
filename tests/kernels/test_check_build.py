"""The measuring program of a check is built once per kind of processor, sealed and kept."""

from __future__ import annotations

import platform
import re
import subprocess
from pathlib import Path

import pytest

from assay.errors import AssayError
from assay.kernels.builds import check as builds
from assay.kernels.builds.check import FOLDERS, PROGRAM, SHARED, build_check
from assay.kernels.builds.identity import source_digest
from check_programs import faulty, plain
from native_build import NATIVE

# Logs its call; writes what -o names.
COMPILER = """\
#!/bin/sh
echo "$@" >> "$LOG"
case "$*" in *$REFUSED*) echo no such option >&2; exit 1;; esac
while [ "$1" != -o ]; do shift; done
echo built > "$2"
"""


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The log of a compiler that writes what it is to write."""
    log = tmp_path / "log"
    log.touch()
    path = tmp_path / "cxx"
    path.write_text(COMPILER)
    path.chmod(0o755)
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("CXX", str(path))
    monkeypatch.setenv("LOG", str(log))
    monkeypatch.setenv("REFUSED", "--nothing--")
    return log


def test_it_is_built_once_per_kind_of_processor(
    calls: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    program = build_check(said.append)
    assert (program.name, program.read_text()) == (PROGRAM, "built\n")
    assert said == ["The measuring program is being built (once)."]
    made = calls.read_text()
    assert build_check(said.append) == program
    assert (calls.read_text(), len(said)) == (made, 1)
    monkeypatch.setattr(builds, "cpu_kind", lambda: "another")
    assert build_check() != program


def test_the_check_of_the_processor_alone_is_for_all_processors(calls: Path) -> None:
    build_check()
    for line in calls.read_text().splitlines():
        if " -c " in line:
            assert ("-march=native" in line) == ("processor/check.cpp" not in line)


def test_a_compiler_that_can_not_seal_still_builds(
    calls: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REFUSED", "-static-libstdc++")
    assert build_check().read_text() == "built\n"
    monkeypatch.setenv("REFUSED", "-pthread")
    with pytest.raises(AssayError, match="The measuring program can't be compiled") as raised:
        build_check(flags=("-DOTHER",))
    assert "no such option" in raised.value.detail


def test_the_kernels_do_not_depend_on_it(tmp_path: Path) -> None:
    for name in ("check/main.cpp", "harness/clock.cpp"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("int x;\n")
    before = source_digest(tmp_path)
    (tmp_path / "check/main.cpp").write_text("int y;\n")
    assert source_digest(tmp_path) == before


def test_no_file_that_it_is_built_from_includes_mpi() -> None:
    include = re.compile(r'#include ["<]([^">]+)[">]')
    waiting = [*(f"check/{path.name}" for path in (NATIVE / "check").glob("*.cpp")), *SHARED]
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        assert name.split("/")[0] in FOLDERS
        found = include.findall((NATIVE / name).read_text())
        assert not {"mpi.h", "omp.h"} & set(found), name
        waiting += [each for each in found if (NATIVE / each).is_file()]
    assert {"harness/topology.hpp", "compute/fma.hpp", "memory/stream_loops.hpp"} <= seen


@pytest.mark.slow
def test_it_needs_the_c_library_alone() -> None:
    shown = subprocess.run(["ldd", plain()], capture_output=True, text=True, check=True).stdout
    names = {Path(line.split()[0]).name for line in shown.splitlines()}
    assert {re.sub(r"[.-].*", "", name) for name in names} <= {"linux", "ld", "libc", "libm"}


@pytest.mark.slow
def test_it_compiles_without_a_warning() -> None:
    assert "warning" not in plain().with_name("build.log").read_text()


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() != "x86_64", reason="pretends to lack a set of x86-64")
def test_another_processor_is_said_before_anything_runs() -> None:
    done = subprocess.run(
        [faulty()],
        env={"ASSAY_TEST_PROCESSOR_LACKS": "avx2"},
        input="",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 5
    assert done.stderr.startswith("assay-check: the processor of host '")
    assert "lacks avx2" in done.stderr
