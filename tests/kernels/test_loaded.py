"""Toolchains of modules, Spack, EasyBuild and containers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.config import ContainerConfig, ToolchainConfig, load_config
from assay.config.environment_modules import module_lines
from assay.errors import AssayError
from assay.kernels.builds.containers import container_script
from assay.kernels.builds.loaded import lines_of, loaded_environment
from assay.kernels.toolchains import detect_toolchains, select_toolchain
from assay.launch.mpi.mpirun import mpirun_command
from assay.model.placement import Placement

STAND_IN = Path(__file__).parents[1] / "support" / "apptainer_stand_in.py"
# Stands for ``module``: writes its words into MODULE_CALLS and makes a toolchain's PATH.
STUB = """
module() {
  echo "$@" >>"$MODULE_CALLS"
  case "$*" in
    *missing*) echo "Unable to locate a modulefile for 'missing'" >&2; return 1 ;;
    "load gcc/13") export PATH="$GCC:$PATH" CC_IS=gcc-13 LOADEDMODULES=gcc/13 ;;
    purge) unset REMOVED ;;
  esac
}
"""


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A shell with the stub, and the file in which it writes its words."""
    (tmp_path / "stub").write_text(STUB)
    monkeypatch.setenv("BASH_ENV", str(tmp_path / "stub"))
    monkeypatch.setenv("MODULE_CALLS", str(tmp_path / "calls"))
    monkeypatch.setenv("GCC", str(tmp_path / "gcc"))
    monkeypatch.setenv("REMOVED", "x")
    (tmp_path / "gcc").mkdir()
    return tmp_path / "calls"


# ---- lines -----------------------------------------------------------------------------------


def test_entries_become_the_commands_of_module() -> None:
    entries = ("purge", "use /apps/mf", "gcc/13", "swap PrgEnv-cray PrgEnv-gnu", "load a b")
    assert [line.removesuffix(" || exit 1") for line in module_lines(entries)[1:]] == [
        "module purge",
        "module use /apps/mf",
        "module load gcc/13",
        "module swap PrgEnv-cray PrgEnv-gnu",
        "module load a b",
    ]
    assert module_lines(()) == []


@pytest.mark.parametrize("entry", ["", "--force", "purge all", "swap a b c", "load", "a b", "a;b"])
def test_other_entries_are_refused(entry: str) -> None:
    with pytest.raises(AssayError, match="can't be loaded"):
        module_lines([entry])


@given(st.lists(st.text(min_size=1, max_size=12), max_size=4))
def test_no_entry_runs_anything_but_module(entries: list[str]) -> None:
    try:
        lines = module_lines(entries)
    except AssayError:
        return
    shell = "module() { printf '%s\\0' \"$@\" ''; }\n" + "\n".join(lines)
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=True)
    # Each call ends with an empty word, which no entry is.
    assert done.stdout.split("\0")[:-1].count("") == len(entries)
    assert done.stderr == ""


def test_easybuild_names_are_modules() -> None:
    loads = lines_of(ToolchainConfig(easybuild="foss-2024a OpenMPI/5.0.3-GCC-13.3.0"))[1:]
    assert loads == [
        "module load foss/2024a || exit 1",
        "module load OpenMPI/5.0.3-GCC-13.3.0 || exit 1",
    ]


# ---- loaded ----------------------------------------------------------------------------------


def test_the_variables_of_modules_are_those_that_changed(calls: Path) -> None:
    found = loaded_environment(ToolchainConfig(modules=("purge", "gcc/13")))
    assert calls.read_text().splitlines() == ["purge", "load gcc/13"]
    assert found.pop("PATH").startswith(f"{calls.with_name('gcc')}:")
    assert found == {"CC_IS": "gcc-13", "REMOVED": ""}


def test_a_toolchain_whose_modules_are_missing_has_a_problem(calls: Path, tmp_path: Path) -> None:
    (tmp_path / "assay.toml").write_text('[toolchains.gcc]\nmodules = ["missing/1"]\n')
    config = load_config(tmp_path / "assay.toml")
    (found,) = [each for each in detect_toolchains(config) if each.name == "gcc"]
    assert "module load missing/1: Unable to locate a modulefile for 'missing'" in found.problem
    with pytest.raises(AssayError, match="Unable to locate"):
        select_toolchain("gcc", config)


def test_names_are_found_on_the_path_of_the_modules(calls: Path, tmp_path: Path) -> None:
    for name in ("mpicxx", "mpirun"):
        program = tmp_path / "gcc" / name
        text = "g++ -I/x" if name == "mpicxx" else "mpirun (Open MPI) 9.9.9"
        program.write_text(f'#!/bin/sh\necho "{text}"\n')
        program.chmod(0o755)
    (tmp_path / "assay.toml").write_text('[toolchains.gcc]\nmodules = ["gcc/13"]\n')
    config = load_config(tmp_path / "assay.toml")
    found = select_toolchain("gcc", config)
    assert found.mpicxx == str(tmp_path / "gcc" / "mpicxx")
    assert (found.mpi_flavour, found.mpi_version) == ("openmpi", "9.9.9")
    words = mpirun_command(found, Path("/k"), Placement(), Path("/j"), Path("/s"), root=False)
    assert "CC_IS=gcc-13" in words[: words.index(str(tmp_path / "gcc" / "mpirun"))]
    assert found.wrapper_environment["CC_IS"] == "gcc-13"


def test_spack_load_is_evaluated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the output of ``spack load --sh``: one export per line."""
    program = tmp_path / "bin" / "spack"
    program.parent.mkdir()
    program.write_text(
        '#!/bin/sh\n[ "$4" != gone ] || { echo "Error: gone matches no spec" >&2; exit 1; }\n'
        'echo "export PATH=/spack/$3:$PATH;"; echo "export SPACK_SAID=\'$*\';"\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("SPACK_ROOT", str(tmp_path))
    found = loaded_environment(ToolchainConfig(spack="openmpi@5 %gcc@13"))
    assert found["SPACK_SAID"] == "load --sh openmpi@5 %gcc@13"
    assert found["PATH"].startswith("/spack/openmpi@5:")
    with pytest.raises(AssayError, match="can't be loaded") as caught:
        loaded_environment(ToolchainConfig(spack="fftw gone"))
    assert "matches no spec" in caught.value.detail


INITS = {
    "Lmod": Path("/usr/share/lmod/lmod/init/bash"),
    "Tcl": Path("/usr/share/modules/init/bash"),
}


@pytest.mark.parametrize("kind", INITS)
def test_real_modules_are_loaded_swapped_used_and_purged(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not INITS[kind].exists():
        pytest.skip(f"{kind} is not installed.")
    for name, folder in (("one/1", "a"), ("two/2", "a"), ("three/3", "b")):
        file = tmp_path / folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"#%Module1.0\nsetenv IS_{name[:-2].upper()} yes\n")
    monkeypatch.setenv("BASH_ENV", str(INITS[kind]))
    use = f"use {tmp_path}/a"

    def loaded(*entries: str) -> set[str]:
        found = loaded_environment(ToolchainConfig(modules=(use, *entries)))
        return {name for name, value in found.items() if name.startswith("IS_") and value}

    assert loaded("one/1") == {"IS_ONE"}
    assert loaded("one/1", "swap one/1 two/2") == {"IS_TWO"}
    assert loaded("one/1", f"use {tmp_path}/b", "three/3") == {"IS_ONE", "IS_THREE"}
    assert loaded("one/1", "two/2", "unload one/1") == {"IS_TWO"}
    assert loaded("load one/1 two/2", "purge") == set()
    with pytest.raises(AssayError, match="module load four/4"):
        loaded("four/4")


# ---- containers ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("apptainer", ["exec", "--bind", "{bind}", "--pwd", "{here}", "--nv", "img"]),
        (
            "sarus",
            ["run", "--mount=type=bind,source={bind},destination={bind}", "--workdir={here}"],
        ),
        ("podman", ["run", "--rm", "--env-host", "--volume", "{bind}:{bind}", "--workdir", "img"]),
    ],
)
def test_a_command_in_a_container_sees_its_folders(
    kind: str, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / kind
    program.write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    program.chmod(0o755)
    (tmp_path / "it's here").mkdir()
    (tmp_path / "runs").mkdir()
    monkeypatch.chdir(tmp_path)
    container = ContainerConfig(
        kind,  # type: ignore[arg-type]
        "img",
        program=str(program),
        bind=(str(tmp_path / "it's here"),),
        options=("--nv",),
    )
    script = container_script(container, "c++", ["g++", "a b"])
    done = subprocess.run(
        [script, "-O3", f"-I{tmp_path}/runs", f"{tmp_path}/runs/x.cpp"],
        capture_output=True,
        text=True,
        check=True,
    )
    lines = done.stdout.splitlines()
    known = {"bind": str(tmp_path / "it's here"), "here": str(tmp_path)}
    assert {word.format(**known) for word in words} <= set(lines)
    assert sum(f"{tmp_path}/runs" in line for line in lines[: lines.index("img")]) == 1
    ending = ["img", "g++", "a b", "-O3", f"-I{tmp_path}/runs", f"{tmp_path}/runs/x.cpp"]
    assert lines[-6:] == ending


def test_ranks_run_in_the_container_or_around_it(tmp_path: Path) -> None:
    (tmp_path / "assay.toml").write_text(
        '[containers.one]\nkind = "apptainer"\nimage = "one.sif"\n'
        '[containers.two]\nkind = "podman"\nimage = "site/two:1"\nmpi = "inside"\n'
        '[toolchains.outside]\ncontainer = "one"\nmpirun = "/opt/mpi/bin/mpirun"\n'
        '[toolchains.inside]\ncontainer = "two"\n'
    )
    config = load_config(tmp_path / "assay.toml")
    assert config.containers["one"].image == str(tmp_path / "one.sif")
    assert config.containers["two"].image == "site/two:1"
    found = {each.name: each for each in detect_toolchains(config)}
    outside, inside = found["outside"], found["inside"]
    assert outside.mpirun == "/opt/mpi/bin/mpirun"
    (wrapper,) = outside.wrapper
    words = mpirun_command(outside, Path("/k"), Placement(), Path("/j"), Path("/s"), root=False)
    assert words[words.index(wrapper) + 1] == "/k"
    assert inside.wrapper == ()
    assert "podman run" in Path(inside.mpirun or "").read_text()
    assert "OMPI_CXX" not in outside.wrapper_environment  # its compiler is the image's
    (tmp_path / "assay.toml").write_text('[toolchains.x]\ncontainer = "none"\n')
    with pytest.raises(AssayError, match="There is no container 'none'"):
        load_config(tmp_path / "assay.toml")


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("unshare") is None or shutil.which("g++") is None,
    reason="A container here needs root, unshare and g++.",
)
def test_a_program_is_built_and_run_in_a_container(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = tmp_path / "image"
    image.mkdir()
    (image / "image").touch()
    (tmp_path / "work").mkdir()
    (tmp_path / "hidden").write_text("not bound")
    program = tmp_path / "apptainer"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {STAND_IN} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "work"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "work"))
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    container = ContainerConfig("apptainer", str(image), program=str(program))
    source = tmp_path / "work" / "a.cpp"
    source.write_text(
        "#include <cstdio>\n#include <cstdlib>\n"
        f'int main() {{ std::FILE* f = std::fopen("{tmp_path}/hidden", "r");\n'
        'std::printf("%s %s", std::getenv("APPTAINER_CONTAINER"), f ? "seen" : "hidden"); }\n'
    )
    monkeypatch.chdir(tmp_path / "work")
    built = str(tmp_path / "work" / "a.out")
    compiler = container_script(container, "c++", ["g++"])
    done = subprocess.run([compiler, source, "-o", built], capture_output=True, text=True)
    if "Operation not permitted" in done.stderr or "permission denied" in done.stderr:
        pytest.skip("No mount namespace can be made here.")
    assert done.returncode == 0, done.stderr
    run = container_script(container, "in-container")
    done = subprocess.run([run, built], capture_output=True, text=True, check=True)
    assert done.stdout == f"{image} hidden"
