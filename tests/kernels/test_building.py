from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import msgspec
import pytest

import assay
from assay.config import Config
from assay.errors import AssayError
from assay.kernels import building
from assay.kernels.building import BuildProgress, build_kernels, configure_command
from assay.kernels.builds.identity import cpu_identity, source_digest
from assay.kernels.builds.toolchain import Blas, Toolchain
from assay.kernels.sources import native_sources
from assay.kernels.toolchains import select_toolchain

DATA = Path(__file__).parents[1] / "data/toolchains"

# Replacements of cmake and ninja: they log their calls; $NINJA selects ninja's behaviour.
CMAKE = """\
echo cmake >> "$LOG"
while [ "$1" != -B ]; do shift; done
mkdir -p "$2"
"""
NINJA = """\
echo ninja >> "$LOG"
echo "[0/2] Re-checking globbed directories..."
echo "[1/3] Building CXX object main.cpp.o"
eval "$NINJA"
echo "[3/3] Linking CXX executable assay-kernels"
echo built > "$2/assay-kernels"
"""


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def tools(tmp_path, monkeypatch):
    """Quick tools in place of cmake and ninja; returns the log of their calls."""
    for name, body in (("cmake", CMAKE), ("ninja", NINJA)):
        path = tmp_path / "tools" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{body}")
        path.chmod(0o755)
    monkeypatch.setattr(building, "_tool", lambda name: str(tmp_path / "tools" / name))
    monkeypatch.setenv("LOG", str(tmp_path / "log"))
    monkeypatch.setenv("NINJA", "")
    return lambda: (tmp_path / "log").read_text().split()


@pytest.fixture
def sources(tmp_path):
    folder = tmp_path / "native"
    (folder / "harness").mkdir(parents=True)
    (folder / "CMakeLists.txt").write_text("project(x)\n")
    (folder / "harness/main.cpp").write_text("int main() {}\n")
    return folder


BLAS = Blas("OpenBLAS", ("/b/libx.so", "m"), "/b/include", "scipy_", "64_", True, "0.3.34")


def toolchain(**changes) -> Toolchain:
    plain = Toolchain("t", "site", "/m/mpicxx", None, "mpich", "5.0", "g++", "g++ 12.2", BLAS)
    return msgspec.structs.replace(plain, **changes)


def test_the_cmake_line(monkeypatch):
    monkeypatch.setattr(building, "_tool", lambda name: f"/t/{name}")
    assert configure_command(toolchain(), Path("/s"), Path("/w")) == [
        *["/t/cmake", "-S", "/s", "-B", "/w", "-G", "Ninja"],
        "-DCMAKE_CXX_COMPILER=/m/mpicxx",
        "-DCMAKE_MAKE_PROGRAM=/t/ninja",
        "-DCMAKE_BUILD_TYPE=Release",
        "-DCMAKE_CXX_FLAGS_RELEASE=-DNDEBUG",
        f"-DASSAY_VERSION={assay.__version__}",
        "-DASSAY_CXX_FLAGS=-O3 -march=native -fopenmp",
        "-DASSAY_BLAS_LIBRARIES=/b/libx.so;m",
        "-DASSAY_BLAS_INCLUDE_DIR=/b/include",
        "-DASSAY_BLAS_PREFIX=scipy_",
        "-DASSAY_BLAS_SUFFIX=64_",
        "-DASSAY_BLAS_INT64=ON",
        "-DASSAY_BLAS_NAME=OpenBLAS 0.3.34",
    ]
    bare = configure_command(toolchain(blas=None, flags="-O2 -qopenmp"), Path("/s"), Path("/w"))
    assert bare[-1] == "-DASSAY_CXX_FLAGS=-O2 -qopenmp"


def test_the_native_tree_knows_each_setting():
    declared = re.findall(
        r"(?m)^(?:set|option)\((ASSAY_\w+) ", (native_sources() / "CMakeLists.txt").read_text()
    )
    given = re.findall(r"-D(ASSAY_\w+)=", " ".join(configure_command(toolchain(), Path(), Path())))
    assert len(given) == 8
    assert set(given) <= set(declared)


def test_sources_are_in_the_wheel_or_in_the_checkout(tmp_path, monkeypatch):
    checkout = Path(assay.__file__).resolve().parents[2] / "native"
    assert native_sources() == checkout
    package = tmp_path / "site-packages/assay"
    package.mkdir(parents=True)
    monkeypatch.setattr("assay.kernels.sources.PACKAGE", package)
    with pytest.raises(AssayError, match="native sources are missing"):
        native_sources()
    (package / "native").mkdir()
    (package / "native/CMakeLists.txt").touch()
    assert native_sources() == package / "native"


def test_a_build_reports_its_progress_and_is_kept(tools, sources):
    seen: list[BuildProgress] = []
    executable = build_kernels(toolchain(), seen.append, sources=sources)
    assert executable.read_text() == "built\n"
    assert [(p.phase, p.done, p.total) for p in seen] == [
        ("configure", 0, 1),
        ("compile", 1, 3),
        ("compile", 3, 3),
        ("ready", 1, 1),
    ]
    assert seen[1].step == "Building CXX object main.cpp.o"
    described = json.loads((executable.parent / "build.json").read_text())
    assert described["toolchain"]["cxx_version"] == "g++ 12.2"
    assert described["sources"] == source_digest(sources)
    assert "Building CXX object main.cpp.o" in (executable.parent / "build.log").read_text()
    seen.clear()
    assert build_kernels(toolchain(), seen.append, sources=sources) == executable
    assert seen == []
    assert tools() == ["cmake", "ninja"]
    assert [path.name for path in executable.parents[1].iterdir()] == [executable.parent.name]


@pytest.mark.parametrize(
    "changes",
    [
        {"flags": "-O2"},
        {"cxx_version": "g++ 13"},
        {"cxx": "clang++"},
        {"mpi_version": "5.1"},
        {"mpi_flavour": "openmpi"},
        {"mpicxx": "/other/mpicxx"},
        {"blas": None},
        {"blas": msgspec.structs.replace(BLAS, version="0.3.35")},
        {"environment": {"CPATH": "/x"}},
    ],
)
def test_inputs_that_change_the_executable_change_its_folder(tools, sources, changes):
    first = build_kernels(toolchain(), sources=sources)
    assert build_kernels(toolchain(**changes), sources=sources) != first
    assert tools() == ["cmake", "ninja"] * 2


def test_inputs_that_do_not_change_the_executable_cause_no_build(tools, sources):
    first = build_kernels(toolchain(), sources=sources)
    same = toolchain(name="other", kind="path", mpirun="/m/mpirun", launch_flags=("--x",))
    (sources / ".hidden").write_text("an editor's file")
    assert build_kernels(same, sources=sources) == first
    assert tools() == ["cmake", "ninja"]


def test_each_source_counts_with_name_and_content(sources):
    digests = {source_digest(sources)}
    (sources / "harness/main.cpp").write_text("int main() { return 1; }\n")
    digests.add(source_digest(sources))
    (sources / "harness/main.cpp").rename(sources / "harness/other.cpp")
    digests.add(source_digest(sources))
    (sources / "empty.hpp").touch()
    digests.add(source_digest(sources))
    assert len(digests) == 4


def test_the_processor_counts_if_the_flags_contain_native(tools, sources, monkeypatch):
    monkeypatch.setattr(building, "cpu_identity", lambda: "zen 5")
    native, plain = (build_kernels(toolchain(flags=f), sources=sources) for f in ("native", "-O2"))
    monkeypatch.setattr(building, "cpu_identity", lambda: "zen 4")
    assert build_kernels(toolchain(flags="native"), sources=sources) != native
    assert build_kernels(toolchain(flags="-O2"), sources=sources) == plain


def test_cpu_identity_depends_on_the_model_alone(tmp_path):
    path = tmp_path / "cpuinfo"
    path.write_text("model name\t: X\ncpu MHz\t\t: 2600.1\nflags\t\t: avx avx2\n\nprocessor\t: 1\n")
    first = cpu_identity(path)
    assert "model name: X" in first
    path.write_text(path.read_text().replace("2600.1", "3100.7"))
    assert cpu_identity(path) == first
    path.write_text(path.read_text().replace("avx2", "avx512f"))
    assert cpu_identity(path) != first
    path.write_text("processor\t: 0\nBogoMIPS\t: 50\nFeatures\t: sve\nCPU part\t: 0xd4f\n")
    assert cpu_identity(path).endswith("Features: sve\nCPU part: 0xd4f")


def test_a_failure_shows_the_whole_output_of_the_tools(tools, sources, monkeypatch, tmp_path):
    monkeypatch.setenv("NINJA", "seq 5000; echo main.cpp:1:1: error: no such thing >&2; exit 1")
    with pytest.raises(AssayError) as error:
        build_kernels(toolchain(), sources=sources)
    assert "can't be compiled with the toolchain 't' (g++ 12.2)" in error.value.what
    for word in ("\n1\n", "\n5000\n", "main.cpp:1:1: error: no such thing"):
        assert word in error.value.detail
    assert list((tmp_path / "cache/builds").iterdir()) == []
    with pytest.raises(AssayError, match="needs a compiler"):
        build_kernels(toolchain(problem="It needs a compiler."), sources=sources)


def test_a_cache_that_cannot_be_written(tools, sources, tmp_path):
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(AssayError, match="build cache can't be written") as error:
        build_kernels(toolchain(), sources=sources)
    assert "ASSAY_CACHE" in error.value.fix


def test_a_build_that_differs_from_its_seal_is_repeated(tools, sources):
    executable = build_kernels(toolchain(), sources=sources)
    folder = executable.parent
    executable.write_text("planted\n")
    assert build_kernels(toolchain(), sources=sources).read_text() == "built\n"
    (folder / "libassay-blas.so").write_text("planted\n")
    build_kernels(toolchain(), sources=sources)
    assert not (folder / "libassay-blas.so").exists()
    (folder / "seal.json").write_bytes(b'{"assay-kernels": 1\xff')
    build_kernels(toolchain(), sources=sources)
    assert tools().count("ninja") == 4
    build_kernels(toolchain(), sources=sources)
    assert tools().count("ninja") == 4
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


@pytest.mark.parametrize("place", ["", "assay-kernels", "build.json"])
def test_a_build_writable_by_others_is_refused(tools, sources, place):
    executable = build_kernels(toolchain(), sources=sources)
    (executable.parent / place).chmod(0o777)
    with pytest.raises(AssayError, match="may be written by all users") as error:
        build_kernels(toolchain(), sources=sources)
    assert error.value.where == str(executable.parent / place)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_build_of_another_user_is_refused(tools, sources):
    executable = build_kernels(toolchain(), sources=sources)
    os.chown(executable, 12345, 0)
    with pytest.raises(AssayError, match="belongs to the user with the number 12345"):
        build_kernels(toolchain(), sources=sources)


ALONE = """\
import sys
from pathlib import Path
import msgspec
from assay.kernels import building
from assay.kernels.builds.toolchain import Toolchain
building._tool = lambda name: f"{sys.argv[2]}/{name}"
toolchain = msgspec.json.decode(sys.argv[1], type=Toolchain)
seen = lambda progress: print(progress.phase, progress.step, flush=True)
print(building.build_kernels(toolchain, seen, sources=Path(sys.argv[3])))
"""


def test_of_concurrent_processes_one_builds_and_the_others_wait(
    tools, sources, tmp_path, monkeypatch
):
    # The first waits in ninja until another process has reported that it waits.
    monkeypatch.setenv("NINJA", f"until [ -e {tmp_path}/go ]; do sleep 0.05; done")
    words = [msgspec.json.encode(toolchain()).decode(), str(tmp_path / "tools"), str(sources)]
    first = subprocess.Popen([sys.executable, "-c", ALONE, *words], stdout=subprocess.PIPE)
    try:
        assert first.stdout is not None
        assert first.stdout.readline() == b"configure cmake\n"
        seen: list[BuildProgress] = []

        def watch(progress):
            seen.append(progress)
            (tmp_path / "go").touch()

        executable = build_kernels(toolchain(), watch, sources=sources)
        said = first.communicate(timeout=60)[0].decode()
    finally:
        first.kill()
    assert [progress.phase for progress in seen] == ["wait"]
    assert seen[0].step == f"{os.uname().nodename}, process {first.pid}"
    assert said.splitlines()[-1] == str(executable)
    assert executable.read_text() == "built\n"
    assert tools() == ["cmake", "ninja"]
    assert [path.name for path in executable.parents[1].iterdir()] == [executable.parent.name]


def test_a_killed_builder_lets_the_next_one_build(tools, sources, tmp_path, monkeypatch):
    monkeypatch.setenv("NINJA", f"until [ -e {tmp_path}/go ]; do sleep 0.05; done")
    words = [msgspec.json.encode(toolchain()).decode(), str(tmp_path / "tools"), str(sources)]
    first = subprocess.Popen([sys.executable, "-c", ALONE, *words], stdout=subprocess.PIPE)
    assert first.stdout is not None
    first.stdout.readline()
    seen: list[str] = []

    def watch(progress):
        seen.append(progress.phase)
        if progress.phase == "wait":
            first.kill()
            (tmp_path / "go").touch()

    build_kernels(toolchain(), watch, sources=sources)
    first.communicate()
    assert seen == ["wait", "configure", "compile", "compile", "ready"]


def test_without_locks_in_the_file_system_concurrent_builds_do_no_harm(
    tools, sources, tmp_path, monkeypatch
):
    def lockless(*_):
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", lockless)
    # Each waits in ninja until both have started.
    meet = f"touch {tmp_path}/met.$$; until [ $(ls {tmp_path}/met.* | wc -l) = 2 ]; do :; done"
    monkeypatch.setenv("NINJA", meet)
    results: list[Path] = []
    both = [
        threading.Thread(target=lambda: results.append(build_kernels(toolchain(), sources=sources)))
        for _ in range(2)
    ]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join(60)
    assert tools().count("ninja") == 2
    assert len(results) == 2
    assert results[0] == results[1]
    assert results[0].read_text() == "built\n"
    assert [path.name for path in results[0].parents[1].iterdir()] == [results[0].parent.name]


def test_sources_edited_while_building_are_another_build(tools, sources, monkeypatch):
    before = source_digest(sources)
    monkeypatch.setenv("NINJA", f"echo '// new' >> {sources}/harness/main.cpp")
    first = build_kernels(toolchain(), sources=sources)
    described = json.loads((first.parent / "build.json").read_text())
    assert described["sources"] == before != source_digest(sources)
    assert build_kernels(toolchain(), sources=sources) != first


def test_a_killed_build_leaves_nothing_that_looks_complete(tools, sources, tmp_path, monkeypatch):
    monkeypatch.setenv("NINJA", f"touch {tmp_path}/amid; sleep 0.5; exit 1")
    arguments = [msgspec.json.encode(toolchain()).decode(), tmp_path / "tools", sources]
    with subprocess.Popen([sys.executable, "-c", ALONE, *arguments]) as child:
        while not (tmp_path / "amid").exists():
            assert child.poll() is None
            time.sleep(0.01)
        child.kill()
    left, partial = sorted((tmp_path / "cache/builds").iterdir())
    assert left.name.startswith(".building-")
    assert partial.name.startswith(".partial-")
    monkeypatch.setenv("NINJA", "")
    executable = build_kernels(toolchain(), sources=sources)
    assert executable.read_text() == "built\n"
    assert left.exists()  # its process might still be running
    os.utime(left, (0, 0))
    build_kernels(toolchain(flags="-O1"), sources=sources)
    assert not left.exists()
    assert not partial.exists()


@pytest.mark.long
@pytest.mark.slow
def test_the_real_tools_build_an_executable_and_show_errors(tmp_path):
    embedded = select_toolchain("embedded", Config())
    executable = build_kernels(embedded, sources=DATA / "tiny")
    assert os.access(executable, os.X_OK)
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "CMakeLists.txt").write_text((DATA / "tiny/CMakeLists.txt").read_text())
    (broken / "main.cpp").write_text("int main() { return undeclared_name; }\n")
    with pytest.raises(AssayError) as error:
        build_kernels(embedded, sources=broken)
    assert (
        f"{broken}/main.cpp:1:21: error: 'undeclared_name' was not declared" in error.value.detail
    )
