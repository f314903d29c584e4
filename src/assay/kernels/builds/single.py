"""Building one native file without MPI, such as a program or a library, kept like the kernels."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.cache import cache_folder
from assay.errors import AssayError
from assay.kernels.builds.identity import source_digest
from assay.kernels.builds.sealed import (
    BUILD_LOG,
    copy_sources,
    install,
    is_intact,
    key_of,
    working_folder,
)
from assay.version import VERSION


@dataclass(frozen=True)
class SingleBuild:
    """A file to build: ``file``, from the named folders of native sources, with flags."""

    file: str
    #: Name in messages, in the middle of a sentence. ``compile`` gets the compiler and a copy of
    #: the sources, makes ``file`` in it and returns the compiler's output.
    name: str
    folders: Sequence[str]
    flags: Sequence[str]
    compile: Callable[[str, Path], str]


def single_build(
    build: SingleBuild, sources: Path, progress: Callable[[str], None] | None = None
) -> Path:
    """The built file: from the cache if it is there, else built now from ``sources``.

    ``progress`` is called with a sentence before the build. Raises AssayError if there is no C++
    compiler or it can't compile the sources (its output is in ``detail``), and if the cache can't
    be written. Concurrent builds use separate folders.
    """
    compiler = _compiler(build.name)
    builds = cache_folder("builds")
    built = builds / key_of(_content(build, compiler, sources)) / build.file
    if is_intact(built.parent, build.file):
        return built
    if progress:
        progress(f"{build.name[0].upper()}{build.name[1:]} is being built (once).")
    with working_folder(builds) as work:
        # A copy is built, since sources edited during the build would be kept under a wrong key.
        copy = work / "native"
        for name in build.folders:
            copy_sources(sources / name, copy / name)
        content = _content(build, compiler, copy)
        built = builds / key_of(content) / build.file
        (copy / BUILD_LOG).write_text(build.compile(compiler, copy), "utf-8")
        install((copy / build.file, copy / BUILD_LOG), content, work / "ready", built.parent)
    return built


def _content(build: SingleBuild, compiler: str, sources: Path) -> dict[str, object]:
    """Everything that the file depends on, as JSON."""
    return {
        "program": build.file,
        "assay": VERSION,
        "sources": {name: source_digest(sources / name) for name in build.folders},
        "compiler": compiler,
        "flags": list(build.flags),
        "machine": os.uname().machine,
    }


def _compiler(name: str) -> str:
    """$CXX, else the system's first C++ compiler; raises AssayError if there is none."""
    for compiler in (os.environ.get("CXX"), "g++", "c++", "clang++"):
        found = shutil.which(compiler) if compiler else None
        if found:
            return found
    raise AssayError(
        f"There is no C++ compiler to build {name}.",
        where="PATH",
        fix="Install g++ or clang++, or set CXX.",
    )
