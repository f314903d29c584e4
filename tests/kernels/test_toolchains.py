from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from assay.config import load_config
from assay.errors import AssayError
from assay.kernels import probes, toolchains
from assay.kernels.probes import ask
from assay.kernels.toolchains import detect_toolchains, select_toolchain

HERE = os.environ["PATH"]
VERSIONS = {
    "mpich": "HYDRA build details:\n    Version:                      4.2.3\n    CC: gcc\n",
    "openmpi": "mpirun (Open MPI) 4.1.6\n\nReport bugs to http://www.open-mpi.org/community/help/\n",
    "openrte": "mpirun.openmpi (OpenRTE) 4.1.4\n",
    "openmpi 5": "mpirun (Open MPI) 5.0.11\n",
    "intel": "Intel(R) MPI Library for Linux* OS, Version 2021.13 Build 20240701 (id: 179630a)\n",
    "other": "srun-like launcher 1.0\n",
}


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    """Only config, cache, MPI and compilers that a test puts on PATH are found."""
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    for name in ("ASSAY_CONFIG", "OPENBLAS_ROOT", "OPENBLAS_DIR", "EBROOTOPENBLAS", "MKLROOT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(probes, "_answers", {})
    (tmp_path / "bin").mkdir()


@pytest.fixture
def no_wheels(monkeypatch):
    monkeypatch.setattr(toolchains, "_embedded_mpicxx", lambda: None)


def script(path: Path, body: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def compiler(folder: Path, name: str, version: str = "1.0") -> Path:
    """A compiler that reports its version, finds no library and links nothing."""
    body = f'case "$1" in --version) echo "{name} {version}";; -print*) echo "${{1#*=}}";;'
    body += " *) exit 1;; esac"
    return script(folder / name, body)


def mpi(prefix: Path, flavour: str, cxx: str = "g++") -> Path:
    script(prefix / "bin/mpirun", f"/bin/cat <<'END'\n{VERSIONS[flavour]}END")
    return script(prefix / "bin/mpicxx", f'[ "$1" = -show ] && echo {cxx} -I/i -lmpi')


def config(tmp_path: Path, text: str):
    path = tmp_path / "etc/assay.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return load_config(path)


def found(tmp_path: Path, text: str = "") -> dict[str, toolchains.Toolchain]:
    return {each.name: each for each in detect_toolchains(config(tmp_path, text))}


@pytest.mark.parametrize(
    ("flavour", "name", "version"),
    [
        ("mpich", "mpich", "4.2.3"),
        ("openmpi", "openmpi", "4.1.6"),
        ("openrte", "openmpi", "4.1.4"),
        ("openmpi 5", "openmpi", "5.0.11"),
        ("intel", "intel", "2021.13"),
        ("other", "other", None),
    ],
)
def test_the_site_mpi_on_path(tmp_path, no_wheels, flavour, name, version):
    mpi(tmp_path, flavour)
    compiler(tmp_path / "bin", "g++", "13.2")
    (only,) = found(tmp_path).values()
    assert (only.name, only.kind, only.problem) == ("path", "path", "")
    assert (only.mpi_flavour, only.mpi_version) == (name, version)
    assert only.mpirun == str(tmp_path / "bin/mpirun")
    assert (only.cxx, only.cxx_version, only.flags) == ("g++", "g++ 13.2", "-O3 -march=native")


def test_the_embedded_one_is_found_and_is_the_default(tmp_path):
    compiler(tmp_path / "bin", "g++")
    embedded = select_toolchain(None, config(tmp_path, ""))
    assert (embedded.name, embedded.kind, embedded.mpi_flavour) == ("embedded", "embedded", "mpich")
    assert Path(embedded.mpicxx).parent == Path(sys.prefix) / "bin"
    assert embedded.mpi_version is not None
    assert embedded.blas is not None
    assert (embedded.blas.prefix, embedded.blas.int64) == ("scipy_", False)
    header = Path(embedded.blas.include or "") / "cblas.h"
    assert "scipy_cblas_dgemm(" in header.read_text()
    assert all(Path(library).is_file() for library in embedded.blas.libraries)
    assert embedded.wrapper_environment == {"MPICH_CXX": "g++"}
    assert msgspec.json.encode(embedded)  # part of the manifest


def test_the_embedded_one_on_path_is_not_found_twice(tmp_path, monkeypatch):
    compiler(tmp_path / "bin", "g++")
    monkeypatch.setenv("PATH", f"{sys.prefix}/bin:{tmp_path}/bin")
    assert list(found(tmp_path)) == ["embedded"]
    mpi(tmp_path, "openmpi")  # now there is another one behind it
    assert list(found(tmp_path)) == ["embedded", "path"]
    assert found(tmp_path)["path"].mpi_flavour == "openmpi"


def test_config_names_mpi_compiler_and_blas(tmp_path, no_wheels):
    mpi(tmp_path / "opt/ompi", "openmpi 5", cxx="c++")
    compiler(tmp_path / "bin", "g++")
    compiler(tmp_path / "etc", "my++", "9")
    text = """
[toolchains.a]
mpi_prefix = "../opt/ompi"
[toolchains.b]
mpi_prefix = "../opt/ompi"
cxx = "./my++"
flags = "-O2"
launch_flags = ["--x"]
environment = { A = "1" }
blas = { libraries = ["lib/libb.so", "m"], include = "inc", prefix = "p_", int64 = true, name="B" }
"""
    a, b = found(tmp_path, text).values()
    assert (a.kind, a.mpi_flavour, a.mpirun) == (
        "site",
        "openmpi",
        str(tmp_path / "etc/../opt/ompi/bin/mpirun"),
    )
    assert a.cxx == "g++"  # a wheel's wrapper names c++ and means the system's compiler
    assert a.wrapper_environment == {"OMPI_CXX": "g++"}
    assert (b.cxx, b.cxx_version) == (str(tmp_path / "etc/my++"), "my++ 9")
    assert (b.flags, b.launch_flags) == ("-O2", ("--x",))
    assert b.wrapper_environment == {"OMPI_CXX": b.cxx, "A": "1"}
    assert b.blas is not None
    assert b.blas.libraries == (str(tmp_path / "etc/lib/libb.so"), "m")
    assert b.blas.include == str(tmp_path / "etc/inc")
    assert (b.blas.prefix, b.blas.int64, b.blas.name) == ("p_", True, "B")


def test_a_config_entry_without_mpi_uses_the_default(tmp_path, no_wheels):
    compiler(tmp_path / "bin", "clang++", "17")
    compiler(tmp_path / "bin", "g++")
    text = '[toolchains.clang]\ncxx = "clang++"\n'
    with pytest.raises(AssayError, match="'clang' names no MPI") as error:
        found(tmp_path, text)
    assert error.value.where.endswith("assay.toml:1")
    mpi(tmp_path, "mpich")
    clang = found(tmp_path, text)["clang"]
    assert (clang.mpicxx, clang.cxx_version) == (str(tmp_path / "bin/mpicxx"), "clang++ 17")


def test_a_missing_compiler_is_one_sentence_with_the_fix(tmp_path):
    with pytest.raises(AssayError) as error:
        select_toolchain(None, config(tmp_path, ""))
    assert error.value.what == "The toolchain 'embedded' needs a C++ compiler: there is no 'g++'."
    assert "apt-get install g++" in error.value.fix
    assert "dnf install gcc-c++" in error.value.fix


@pytest.mark.parametrize(
    ("wrapper", "problem"),
    [
        (None, "The toolchain 'x' has no MPI compiler: there is no '"),
        ("echo libpmix.so.2: not found >&2; exit 127", "The toolchain 'x' doesn't work: libpmix"),
        ("echo no++ -lmpi", "The toolchain 'x' needs a C++ compiler: there is no 'no++'."),
        ("echo bad++ -lmpi", "The C++ compiler 'bad++' doesn't work: licence expired."),
        ("sleep 100", "The toolchain 'x' doesn't work: "),
    ],
)
def test_a_toolchain_that_does_not_work(tmp_path, no_wheels, monkeypatch, wrapper, problem):
    monkeypatch.setattr(probes, "PROBE_TIMEOUT", 0.3)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{HERE}")
    script(tmp_path / "bin/bad++", "echo licence expired; exit 3")
    if wrapper:
        script(tmp_path / "opt/bin/mpicxx", wrapper)
    site = config(tmp_path, '[toolchains.x]\nmpi_prefix = "../opt"')
    with pytest.raises(AssayError) as error:
        select_toolchain("x", site)
    assert error.value.what.startswith(problem)
    assert error.value.where == f"{site.path}:1"
    assert error.value.fix


def test_choice_and_default(tmp_path, no_wheels):
    with pytest.raises(AssayError, match="There is no MPI on this machine"):
        select_toolchain(None, config(tmp_path, ""))
    mpi(tmp_path, "mpich")
    compiler(tmp_path / "bin", "g++")
    text = '[toolchains.gcc13]\nflags = "-O2"\n[defaults]\ntoolchain = "gcc13"\n'
    assert select_toolchain(None, config(tmp_path, text)).name == "gcc13"
    assert select_toolchain("path", config(tmp_path, text)).name == "path"
    with pytest.raises(AssayError) as error:
        select_toolchain("gcc12", config(tmp_path, text))
    assert str(error.value) == "There is no toolchain 'gcc12'. Did you mean 'gcc13'?"
    wrong = config(tmp_path, '[defaults]\ntoolchain = "gcc"\n')
    with pytest.raises(AssayError) as error:
        select_toolchain(None, wrong)
    assert str(error.value).startswith(f"{wrong.path}:2: There is no toolchain 'gcc'.")


def test_two_wheels_in_one_prefix_are_refused(tmp_path, monkeypatch):
    compiler(tmp_path / "bin", "g++")
    mpicxx = mpi(tmp_path / "venv", "openmpi")
    monkeypatch.setattr(toolchains, "_wheel_file", lambda *_: mpicxx)
    (only,) = detect_toolchains(config(tmp_path, ""))
    assert only.name == "embedded-openmpi"
    assert "overwrite each other" in only.problem
    assert "--prefix" in only.fix


@pytest.mark.slow
@pytest.mark.parametrize(("has_dgemm", "name"), [(True, "OpenBLAS 0.3.21"), (False, "embedded")])
def test_a_site_blas_is_one_that_links(tmp_path, no_wheels, monkeypatch, has_dgemm, name):
    # The compiler of this machine, but without the headers and libraries of the system, which may
    # have a BLAS of its own.
    gxx = shutil.which("g++", path=HERE)
    script(
        tmp_path / "bin/g++",
        f'case "$1" in -print-file-name=*) echo "${{1#*=}}";; *) exec {gxx} -nostdinc "$@";; esac',
    )
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{HERE}")
    mpi(tmp_path, "mpich")
    root = tmp_path / "modules/openblas"
    (root / "include").mkdir(parents=True)
    (root / "lib").mkdir()
    (root / "include/cblas.h").write_text(
        "#pragma once\nenum CBLAS_ORDER { CblasRowMajor };\nenum CBLAS_TRANSPOSE {CblasNoTrans};\n"
        'extern "C" void cblas_dgemm(CBLAS_ORDER, CBLAS_TRANSPOSE, CBLAS_TRANSPOSE, int, int, int,'
        " double, const double*, int, const double*, int, double, double*, int);\n"
    )
    library = root / "lib/libopenblasp-r0.3.21.so"
    symbol = "cblas_dgemm" if has_dgemm else "cblas_sgemm"
    subprocess.run(
        ["g++", "-shared", "-fPIC", "-x", "c", "-", "-o", library],
        input=f"void {symbol}(void) {{}}\n",
        text=True,
        check=True,
    )
    (root / "lib/libopenblas.so").symlink_to(library)
    monkeypatch.setenv("OPENBLAS_ROOT", str(root))
    blas = found(tmp_path)["path"].blas
    assert blas is not None
    if name == "embedded":
        assert blas.prefix == "scipy_"
    else:
        assert (f"{blas.name} {blas.version}", blas.prefix) == (name, "")
        assert blas.libraries == (str(root / "lib/libopenblas.so"),)
        assert blas.include == str(root / "include")


# ---- probes ----------------------------------------------------------------------------------


def asked(tmp_path: Path, monkeypatch, command: list[str]) -> int:
    """Ask as a new process would; return how often the program has been run so far."""
    monkeypatch.setattr(probes, "_answers", {})
    for _ in range(2):
        ask(command)
    log = tmp_path / "log"
    return len(log.read_text().splitlines()) if log.exists() else 0


def test_answers_are_kept_until_the_program_changes(tmp_path, monkeypatch):
    program = script(tmp_path / "bin/cc", f"echo run >> {tmp_path}/log; echo 1")
    assert asked(tmp_path, monkeypatch, ["cc", "-v"]) == 1
    assert asked(tmp_path, monkeypatch, ["cc", "-v"]) == 1
    assert asked(tmp_path, monkeypatch, ["cc", "-w"]) == 2
    script(program, f"echo run >> {tmp_path}/log; echo version 2")
    assert asked(tmp_path, monkeypatch, ["cc", "-v"]) == 3
    assert ask(["cc", "-v"]).text == "version 2\n"


def test_failures_are_not_kept(tmp_path, monkeypatch):
    script(tmp_path / "bin/cc", f"echo run >> {tmp_path}/log; exit 1")
    assert asked(tmp_path, monkeypatch, ["cc"]) == 1
    assert asked(tmp_path, monkeypatch, ["cc"]) == 2


def test_without_a_cache_programs_are_asked_each_time(tmp_path, monkeypatch):
    (tmp_path / "cache").write_text("a file where the cache should be")
    script(tmp_path / "bin/cc", f"echo run >> {tmp_path}/log; echo 1")
    assert asked(tmp_path, monkeypatch, ["cc"]) == 1
    assert asked(tmp_path, monkeypatch, ["cc"]) == 2
    assert ask(["cc"]).text == "1\n"
