"""The program of the scheduler's model is built once and kept, like the kernels."""

from __future__ import annotations

import pytest

from assay.errors import AssayError
from assay.kernels.builds.identity import source_digest
from assay.kernels.builds.scheduler import PROGRAM, build_scheduler

# Logs its call; writes what -o names.
COMPILER = """\
#!/bin/sh
echo called >> "$LOG"
eval "$COMPILER"
while [ "$1" != -o ]; do shift; done
echo built > "$2"
"""


@pytest.fixture(autouse=True)
def compiler(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "cxx"
    path.write_text(COMPILER)
    path.chmod(0o755)
    monkeypatch.setenv("CXX", str(path))
    monkeypatch.setenv("LOG", str(tmp_path / "log"))
    monkeypatch.setenv("COMPILER", "")
    return lambda: (tmp_path / "log").read_text().count("called")


@pytest.fixture
def sources(tmp_path):
    folder = tmp_path / "native"
    for name in ("scheduler/main.cpp", "scheduler/engine.cpp", "third_party/json.hpp"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("int x;\n")
    return folder


def test_it_is_built_once(compiler, sources):
    said = []
    program = build_scheduler(said.append, sources=sources)
    assert program.name == PROGRAM
    assert program.read_text() == "built\n"
    assert program.stat().st_mode & 0o777 == 0o755
    assert (compiler(), len(said)) == (3, 1)  # two files and the link
    assert build_scheduler(said.append, sources=sources) == program
    assert (compiler(), len(said)) == (3, 1)
    (sources / "scheduler/main.cpp").write_text("int y;\n")
    assert build_scheduler(sources=sources) != program


def test_a_damaged_build_is_replaced(compiler, sources):
    program = build_scheduler(sources=sources)
    program.write_text("damaged\n")
    assert build_scheduler(sources=sources).read_text() == "built\n"
    assert compiler() == 6


def test_a_failing_compiler_shows_its_output(compiler, sources, monkeypatch, tmp_path):
    monkeypatch.setenv("COMPILER", "echo main.cpp:1: no concepts >&2; exit 1")
    with pytest.raises(AssayError, match="can't be compiled") as raised:
        build_scheduler(sources=sources)
    assert "no concepts" in raised.value.detail
    assert list((tmp_path / "cache/builds").iterdir()) == []


def test_without_a_compiler_the_fix_names_one(sources, monkeypatch, tmp_path):
    monkeypatch.delenv("CXX")
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(AssayError, match=r"no C\+\+ compiler") as raised:
        build_scheduler(sources=sources)
    assert "g++" in raised.value.fix


def test_the_kernels_do_not_depend_on_it(sources):
    before = source_digest(sources)
    for name in ("scheduler/main.cpp", "third_party/json.hpp"):
        (sources / name).write_text("int y;\n")
    assert source_digest(sources) == before
    (sources / "harness").mkdir()
    (sources / "harness/clock.cpp").write_text("int y;\n")
    assert source_digest(sources) != before
