"""A build holds the kernels that a plan needs, and is extended when another plan needs more."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from assay.errors import AssayError
from assay.kernels import building
from assay.kernels.building import build_kernels
from assay.kernels.builds.origin import EXECUTABLE, stored_builds
from assay.kernels.builds.partial import interrupted_builds
from assay.kernels.builds.toolchain import Toolchain
from assay.kernels.builds.units import all_units, units_of

# The stand-in of cmake notes the units; that of ninja compiles those without an object, unless they
# are in $BROKEN.
CMAKE = """\
while [ "$1" != -B ]; do shift; done
mkdir -p "$2"
units=$(cd "$2/../native" && ls */*.cpp)
for word; do
  case $word in -DASSAY_KERNEL_UNITS=*) units=$(echo "${word#*=}" | tr ';' ' ') ;; esac
done
echo $units >"$2/build.ninja"
"""
NINJA = """\
cd "$2"
for unit in $(cat build.ninja); do
  object=CMakeFiles/assay-kernels.dir/$unit.o
  [ -e "$object" ] && continue
  case $unit in *$BROKEN*) echo "$unit: ninja: build stopped: interrupted by user."; exit 2 ;; esac
  mkdir -p "$(dirname "$object")"
  echo "object of $unit" >"$object"
  echo "$unit" >>"$LOG"
  echo "[1/9] Building CXX object $object"
done
cat $(sed 's,[^ ]*,CMakeFiles/assay-kernels.dir/&.o,g' build.ninja) >assay-kernels
"""
TOOLCHAIN = Toolchain("t", "site", "/m/mpicxx", None, "mpich", "5.0", "g++", "g++ 12.2", None)


class Tree:
    """Native sources of three kernels in two families, two of which share a unit."""

    def __init__(self, folder: Path, log: Path) -> None:
        self.folder, self._log = folder, log
        for name, text in {
            "CMakeLists.txt": "project(x)\n",
            "memory/copy.cpp": '#include "memory/pages.hpp"\nASSAY_KERNEL("memory.copy", C);\n',
            "memory/add.cpp": '#include "memory/pages.hpp"\nASSAY_KERNEL("memory.add", A);\n',
            "memory/pages.hpp": "",
            "memory/huge.cpp": '#include <a>\n#include "memory/pages.hpp"\n#include "x/y.hpp"\n',
            "noise/work.cpp": 'ASSAY_KERNEL("noise.work", W);\n',
        }.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)

    def build(self, *kernels: str) -> Path:
        return build_kernels(TOOLCHAIN, sources=self.folder, kernels=kernels or None)

    def compiled(self) -> list[str]:
        """The units compiled since the last call."""
        units = self._log.read_text().split() if self._log.exists() else []
        self._log.write_text("")
        return sorted(units)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("LOG", str(tmp_path / "log"))
    monkeypatch.setenv("BROKEN", "none")
    for name, body in (("cmake", CMAKE), ("ninja", NINJA)):
        path = tmp_path / "tools" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{body}")
        path.chmod(0o755)
    monkeypatch.setattr(building, "_tool", lambda name: str(tmp_path / "tools" / name))
    monkeypatch.setattr(building, "_GRACE", 0.0)
    return Tree(tmp_path / "native", tmp_path / "log")


def units_in(executable: Path) -> list[str]:
    return sorted(line.split()[-1] for line in executable.read_text().splitlines())


def test_a_kernel_needs_its_unit_and_those_of_its_headers(tree: Tree) -> None:
    assert units_of(tree.folder, ["memory.copy"]) == {"memory/copy.cpp", "memory/huge.cpp"}
    assert units_of(tree.folder, ["noise.work"]) == {"noise/work.cpp"}
    every = ["memory.copy", "memory.add", "noise.work"]
    for kernels in (None, [], every, ["memory.copy", "memory.unknown"]):
        assert units_of(tree.folder, kernels) is None
    assert len(all_units(tree.folder)) == 4


def test_only_what_is_needed_is_compiled_and_what_was_compiled_is_kept(tree: Tree) -> None:
    first = tree.build("memory.copy")
    assert tree.compiled() == units_in(first) == ["memory/copy.cpp", "memory/huge.cpp"]
    assert tree.build("memory.copy") == first and tree.compiled() == []
    more = tree.build("memory.add")  # the unit they share is not compiled again
    assert tree.compiled() == ["memory/add.cpp"]
    assert units_in(more) == ["memory/add.cpp", "memory/copy.cpp", "memory/huge.cpp"]
    assert first.is_file()  # a run may be using it
    assert tree.build("memory.copy", "memory.add") == more and tree.compiled() == []


def test_a_build_of_all_kernels_compiles_the_rest_and_serves_every_plan(tree: Tree) -> None:
    tree.build("memory.copy")
    tree.compiled()
    whole = tree.build()
    assert tree.compiled() == ["memory/add.cpp", "noise/work.cpp"]
    assert len(units_in(whole)) == 4
    assert whole.parent.name == building.build_key(TOOLCHAIN, tree.folder)
    assert tree.build("noise.work") == tree.build() == whole and tree.compiled() == []
    assert not list(whole.parents[1].glob(".*"))  # objects are no longer needed


def test_a_build_of_some_kernels_is_not_reported_as_interrupted(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree.build("memory.copy")
    assert interrupted_builds() == {}
    monkeypatch.setenv("BROKEN", "add")
    with pytest.raises(AssayError):
        tree.build("memory.add")
    assert len(interrupted_builds()) == 1
    monkeypatch.setenv("BROKEN", "none")
    tree.compiled()
    tree.build("memory.add")
    assert tree.compiled() == ["memory/add.cpp"] and interrupted_builds() == {}


def test_an_interrupted_build_of_all_kernels_serves_a_plan(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROKEN", "noise")
    with pytest.raises(AssayError):
        tree.build()
    tree.compiled()
    assert len(units_in(tree.build("memory.copy"))) == 3 and tree.compiled() == []


def test_a_damaged_object_is_compiled_again(tree: Tree) -> None:
    builds = tree.build("memory.copy").parents[1]
    for path in builds.glob(".objects-*/**/memory/huge.cpp.o"):
        path.write_text("half of it")
    tree.compiled()
    assert len(units_in(tree.build("memory.add"))) == 3
    assert tree.compiled() == ["memory/add.cpp", "memory/huge.cpp"]


def test_objects_of_earlier_sources_are_removed(tree: Tree) -> None:
    builds = tree.build("memory.copy").parents[1]
    (tree.folder / "memory/pages.hpp").write_text("// changed\n")
    tree.build("memory.copy")
    assert len(list(builds.glob(".objects-*"))) == 1
    assert len(list(builds.glob("[!.]*"))) == 2


def test_concurrent_plans_with_different_kernels_each_get_theirs(tree: Tree) -> None:
    found: dict[str, Path] = {}

    def build(kernel: str) -> None:
        found[kernel] = tree.build(kernel)

    threads = [
        threading.Thread(target=build, args=(name,)) for name in ("memory.add", "noise.work")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert "memory/add.cpp" in units_in(found["memory.add"])
    assert "noise/work.cpp" in units_in(found["noise.work"])
    assert tree.compiled() == ["memory/add.cpp", "memory/huge.cpp", "noise/work.cpp"]


def test_without_a_compiler_a_stored_build_serves_the_plans_whose_kernels_it_holds(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    import msgspec

    monkeypatch.setattr("assay.kernels.builds.origin.native_sources", lambda: tree.folder)
    executable = tree.build("memory.copy")
    [stored] = stored_builds(TOOLCHAIN, None)
    assert stored.folder == executable.parent and stored.units is not None
    assert stored.holds(units_of(tree.folder, ["memory.copy"]))
    assert not stored.holds(units_of(tree.folder, ["noise.work"])) and not stored.holds(None)
    node = msgspec.structs.replace(TOOLCHAIN, built=str(stored.folder))
    assert build_kernels(node, sources=tree.folder, kernels=["memory.copy"]) == executable
    with pytest.raises(AssayError, match=r"noise\.work") as error:
        build_kernels(node, sources=tree.folder, kernels=["noise.work"])
    assert "assay kernels --build" in error.value.fix
    with pytest.raises(AssayError, match="all kernels"):
        build_kernels(node, sources=tree.folder)
    whole = tree.build()
    best = stored_builds(TOOLCHAIN, None)[0]
    assert best.folder == whole.parent and best.units is None and best.holds(None)
    content = json.loads((executable.parent / "build.json").read_text())
    assert content["units"] == ["memory/copy.cpp", "memory/huge.cpp"]
    assert (best.folder / EXECUTABLE).is_file()
