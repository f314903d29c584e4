"""The kernels compile without warnings."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kernel_runs import plain
from native_build import NATIVE, TOOLS, source_names

FLAGS = ("-fsyntax-only", "-std=c++20", "-march=native", "-fopenmp", "-Wall", "-Wextra", "-Werror")
DEFINED = (
    "ASSAY_HAVE_BLAS=1",
    'ASSAY_BLAS_NAME="a"',
    'ASSAY_BLAS_LIBRARY="b"',
    'ASSAY_VERSION="0"',
)
# The BLAS is called by its prefix, which CMake knows.
LEFT_OUT = {"blas", "third_party"}
# Each of these includes std::initializer_list; before GCC 13 every header did, in effect.
LISTS = re.compile(
    r"#include <(initializer_list|algorithm|array|map|memory|set|span|string|string_view|vector)>"
)


def complaints(source: Path) -> str:
    """The output of clang++."""
    shown = subprocess.run(
        [TOOLS / "mpicxx", "-show"], capture_output=True, text=True, check=True
    ).stdout
    places = [word for word in shlex.split(shown) if word.startswith("-I")]
    command = ["clang++", *FLAGS, *(f"-D{name}" for name in DEFINED), f"-I{NATIVE}", *places]
    command += ["-isystem", str(NATIVE / "third_party"), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    return done.stderr if done.returncode else ""


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.skipif(not shutil.which("clang++"), reason="no clang++ (clang and libomp-dev)")
def test_another_compiler_accepts_the_kernels_without_a_warning() -> None:
    names = [name for name in source_names(NATIVE) if name.suffix == ".cpp"]
    sources = [NATIVE / name for name in names if LEFT_OUT.isdisjoint(name.parts)]
    assert len(sources) > 80
    with ThreadPoolExecutor(2) as pool:
        said = dict(zip(sources, pool.map(complaints, sources), strict=True))
    assert {path.name: words for path, words in said.items() if words} == {}


def test_loops_over_lists_include_what_newer_compilers_require() -> None:
    loops = re.compile(r"for \([^;]*?: \{")
    names = [path.relative_to(NATIVE) for path in NATIVE.rglob("*.[ch]pp")]
    texts = {str(n): (NATIVE / n).read_text() for n in names if "third_party" not in n.parts}
    found = {name for name, text in texts.items() if loops.search(text)}
    assert {"trace/clocks.cpp", "trace/decoder/graph.cpp", "harness/signals.cpp"} <= found
    assert [name for name in sorted(found) if not LISTS.search(texts[name])] == []


@pytest.mark.slow
def test_they_are_compiled_without_a_warning() -> None:
    """As shipped; under the sanitizers every warning is an error."""
    log = plain().with_name("build.log")
    if not log.exists():
        pytest.skip("The kernels were built before the compiler's words were kept: make clean.")
    words = log.read_text()
    assert "Building CXX object" in words
    assert "warning:" not in words, words
