"""Builds made where there is a compiler, found where there is none."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import msgspec
import pytest

from assay.config import load_config
from assay.errors import AssayError
from assay.kernels import building
from assay.kernels.building import build_kernels
from assay.kernels.builds import identity, origin
from assay.kernels.builds.origin import for_processor, stored_builds
from assay.kernels.builds.toolchain import Toolchain
from assay.kernels.toolchains import detect_toolchains, select_toolchain

CONFIG = """\
[defaults]
toolchain = "site"
[toolchains.site]
mpicxx = "{mpi}/bin/mpicxx"
cxx = "{tools}/cc-site"
flags = "{flags}"
blas = {{ libraries = ["m"] }}
"""
MPICXX = 'test "$1" = -show && echo "cc-site -I/mpi"\n'
MPIRUN = 'echo "mpirun (Open MPI) 5.0.11"\n'
CXX = """\
case "$*" in
*--version*) echo "cc-site (GCC) 13.2.0" ;;
*=unheard-of*) echo "error: bad value 'unheard-of' for '-march='" >&2; exit 1 ;;
*=wide*-dM*) printf '#define __A__ 1\\n#define __B__ 1\\n' ;;
*-dM*) echo '#define __A__ 1' ;;
esac
"""
CMAKE = 'while [ "$1" != -B ]; do shift; done; mkdir -p "$2"\n'
# The kernels that it "builds" print their version, unless a file keeps them from starting.
NINJA = """\
printf '%s\\n' '#!/bin/sh' 'test ! -e {marks}/lacks || exit 5' \\
    'test ! -e {marks}/broken || {{ echo "libmpi.so.40: not found" >&2; exit 127; }}' \\
    > "$2/assay-kernels"
"""


class SitePrograms:
    """An MPI and a compiler of a site, which a compute node may lack."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.marks = folder / "marks"
        self.marks.mkdir()
        self._monkeypatch = monkeypatch
        for name, body in (
            ("mpi/bin/mpicxx", MPICXX),
            ("mpi/bin/mpirun", MPIRUN),
            ("tools/cc-site", CXX),
            ("tools/cmake", CMAKE),
            ("tools/ninja", NINJA.format(marks=self.marks)),
        ):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"#!/bin/sh\n{body}")
            path.chmod(0o755)
        monkeypatch.setattr(building, "_tool", lambda name: str(folder / "tools" / name))
        self.processor("model name: Login 1")

    def processor(self, cpuinfo: str) -> None:
        for module in (building, identity, origin):
            self._monkeypatch.setattr(module, "cpu_identity", lambda: cpuinfo)

    def become_a_node(self, *, mpicxx: bool = True) -> None:
        (self.folder / "tools/cc-site").unlink()
        if not mpicxx:
            (self.folder / "mpi/bin/mpicxx").unlink()

    def toolchain(self, flags: str = "-O3 -march=native") -> Toolchain:
        path = self.folder / "assay.toml"
        text = CONFIG.format(mpi=self.folder / "mpi", tools=self.folder / "tools", flags=flags)
        path.write_text(text)
        found = {t.name: t for t in detect_toolchains(load_config(path))}
        return found["site"]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SitePrograms:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    return SitePrograms(tmp_path, monkeypatch)


@pytest.mark.parametrize("mpicxx", [True, False])
def test_a_build_of_the_login_node_is_found_without_a_compiler(
    site: SitePrograms, mpicxx: bool
) -> None:
    here = site.toolchain()
    assert (here.problem, here.built) == ("", "")
    executable = build_kernels(here)
    site.become_a_node(mpicxx=mpicxx)
    node = site.toolchain()
    assert (node.problem, node.cxx_version) == ("", "cc-site (GCC) 13.2.0")
    assert node == msgspec.structs.replace(here, built=str(executable.parent))
    assert build_kernels(node) == executable
    assert select_toolchain(None, load_config(site.folder / "assay.toml")) == node


def test_without_a_build_both_ways_to_get_one_are_named(site: SitePrograms) -> None:
    site.become_a_node()
    found = site.toolchain()
    assert "needs a C++ compiler: there is no" in found.problem
    assert "Install one" in found.fix
    assert "assay kernels --build --toolchain site." in found.fix
    with pytest.raises(AssayError, match=r"needs a C\+\+ compiler"):
        build_kernels(found)


def test_a_build_for_another_processor_is_refused_with_the_fix(site: SitePrograms) -> None:
    build_kernels(site.toolchain())
    site.become_a_node()
    site.processor("model name: Node 2")
    found = site.toolchain()
    assert found.built == ""
    host = os.uname().nodename
    assert f"'{host}' is for another processor (Login 1)." in found.problem
    assert "Build for this processor (Node 2)" in found.fix
    assert "assay kernels --build --toolchain site --for PROCESSOR" in found.fix


def test_a_build_for_a_named_processor_is_used_by_nodes_that_can_execute_it(
    site: SitePrograms,
) -> None:
    login = site.toolchain()
    narrow = build_kernels(for_processor(login, "narrow"))
    wide = build_kernels(for_processor(login, "wide"))
    build_kernels(for_processor(login, "narrow2"))
    native = build_kernels(login)
    assert len({narrow, wide, native}) == 3
    site.become_a_node()
    assert site.toolchain().built == str(native.parent)
    site.processor("model name: Node 2")
    found = site.toolchain()
    # Of those for named processors, the one with the most instruction sets.
    assert (found.built, found.flags) == (str(wide.parent), "-O3 -march=wide")
    (site.marks / "lacks").touch()
    found = site.toolchain()
    assert found.built == ""
    assert "is for another processor (-O3 -march=wide)" in found.problem


def test_a_build_that_does_not_start_here_is_refused_with_its_message(site: SitePrograms) -> None:
    build_kernels(site.toolchain())
    site.become_a_node()
    (site.marks / "broken").touch()
    found = site.toolchain()
    assert found.built == ""
    assert "doesn't start here (libmpi.so.40: not found)" in found.problem


@pytest.mark.parametrize("what", ["flags", "mpi", "sources", "version", "damaged"])
def test_a_build_of_something_else_is_not_taken(
    site: SitePrograms, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    executable = build_kernels(site.toolchain())
    site.become_a_node()
    flags = "-O3 -march=native"
    if what == "flags":
        flags = "-O2 -march=native"
    elif what == "mpi":
        path = site.folder / "mpi/bin/mpirun"
        path.write_text(path.read_text().replace("5.0.11", "5.0.12"))
        shutil.copystat(path, path)
        path.chmod(0o755)
    elif what == "sources":
        monkeypatch.setattr(origin, "source_digest", lambda _: "other")
    elif what == "version":
        monkeypatch.setattr(origin, "VERSION", "0.0")
    else:
        executable.write_text("planted")
    found = site.toolchain(flags)
    assert found.built == ""
    assert stored_builds(found, None) == []


def test_flags_without_native_suit_each_processor(site: SitePrograms) -> None:
    executable = build_kernels(site.toolchain("-O2"))
    site.become_a_node()
    site.processor("model name: Node 2")
    assert site.toolchain("-O2").built == str(executable.parent)


def test_a_processor_that_cannot_be_built_for_is_refused(site: SitePrograms) -> None:
    with pytest.raises(AssayError, match="does not compile for 'unheard-of'") as error:
        for_processor(site.toolchain(), "unheard-of")
    assert "bad value 'unheard-of'" in error.value.detail
    with pytest.raises(AssayError, match="don't contain 'native': -O2"):
        for_processor(site.toolchain("-O2"), "wide")


def test_a_build_that_others_may_write_is_not_executed(site: SitePrograms) -> None:
    executable = build_kernels(site.toolchain())
    site.become_a_node()
    executable.chmod(0o777)
    assert site.toolchain().built == ""
