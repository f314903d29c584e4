"""Building the model of a scheduler: one native program without MPI, kept like the kernels."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import assay
from assay.cache import cache_folder
from assay.errors import AssayError
from assay.kernels.builds.compiling import compiled
from assay.kernels.builds.identity import source_digest
from assay.kernels.builds.sealed import (
    BUILD_LOG,
    copy_sources,
    install,
    is_intact,
    key_of,
    working_folder,
)
from assay.kernels.sources import native_sources

PROGRAM = "assay-scheduler"
_NAME = "The model of the scheduler"
# Products are rounded before they are added, so that priorities are equal on all processors.
FLAGS = ("-std=c++20", "-O2", "-ffp-contract=off", "-DNDEBUG")
# Folders of the native sources that it is built from.
_FOLDERS = ("scheduler", "third_party")


def build_scheduler(
    progress: Callable[[str], None] | None = None, *, sources: Path | None = None
) -> Path:
    """The program of the scheduler's model: from the cache if it is there, else built now.

    ``progress`` is called with a sentence before it is built, which takes some seconds. Raises
    AssayError if there is no C++ compiler or it can't compile the program (its output is in
    ``detail``), and if the cache can't be written. Concurrent builds use separate folders.
    """
    sources = sources or native_sources()
    compiler = _compiler()
    builds = cache_folder("builds")
    program = builds / key_of(_content(compiler, sources)) / PROGRAM
    if is_intact(program.parent, PROGRAM):
        return program
    if progress:
        progress("The model of the scheduler is built (once).")
    with working_folder(builds) as folder:
        # A copy is built, since sources edited during the build would be kept under a wrong key.
        copy = folder / "native"
        for name in _FOLDERS:
            copy_sources(sources / name, copy / name)
        content = _content(compiler, copy)
        program = builds / key_of(content) / PROGRAM
        built = _compile(compiler, copy, folder)
        install((built, built.with_name(BUILD_LOG)), content, folder / "ready", program.parent)
    return program


def _content(compiler: str, sources: Path) -> dict[str, object]:
    """All that the program depends on, as JSON."""
    return {
        "program": PROGRAM,
        "assay": assay.__version__,
        "sources": {name: source_digest(sources / name) for name in _FOLDERS},
        "compiler": compiler,
        "flags": FLAGS,
        "machine": os.uname().machine,
    }


def _compiler() -> str:
    """$CXX, else the system's first C++ compiler; raises AssayError if there is none."""
    for name in (os.environ.get("CXX"), "g++", "c++", "clang++"):
        found = shutil.which(name) if name else None
        if found:
            return found
    raise AssayError(
        "There is no C++ compiler, which the model of the scheduler is built with.",
        where="PATH",
        fix="Install g++ or clang++, or set CXX.",
    )


def _compile(compiler: str, sources: Path, folder: Path) -> Path:
    """Compile each file and link them; returns the path of the program in ``folder``."""
    include = ("-I", str(sources), "-isystem", str(sources / "third_party"))
    files = sorted((sources / "scheduler").glob("*.cpp"))
    objects = [str(folder / f"{file.stem}.o") for file in files]

    def compile_file(file: Path) -> str:
        target = folder / f"{file.stem}.o"
        command = [compiler, *FLAGS, *include, "-c", str(file), "-o", str(target)]
        return "".join(compiled(_NAME, command))

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        output = list(pool.map(compile_file, files))
    program = folder / PROGRAM
    linked = compiled(_NAME, [compiler, *FLAGS, *objects, "-o", str(program)])
    output.append("".join(linked))
    (folder / BUILD_LOG).write_text("".join(output), "utf-8")
    return program
