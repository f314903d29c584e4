"""Building the decoder of traces: a small shared library without MPI, kept like the kernels."""

from __future__ import annotations

import os
import shutil
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

LIBRARY = "libassay-decoder.so"
_NAME = "The decoder of traces"
FLAGS = ("-std=c++20", "-O2", "-fPIC", "-Wall", "-Wextra", "-shared", "-DNDEBUG")
_FOLDERS = ("decoder", "events")


def build_trace_decoder(*, flags: tuple[str, ...] = (), sources: Path | None = None) -> Path:
    """The decoder: from the cache if it is there, else built now, in about 2 s.

    ``flags``: further ones. Raises AssayError if there is no C++ compiler or it can't compile it
    (its output is in ``detail``), and if the cache can't be written.
    """
    folder = (sources or native_sources()) / "trace"
    compiler = _compiler()
    builds = cache_folder("builds")
    library = builds / key_of(_content(compiler, folder, flags)) / LIBRARY
    if is_intact(library.parent, LIBRARY):
        return library
    with working_folder(builds) as work:
        # A copy is built, since sources edited during the build would be kept under a wrong key.
        copy = work / "trace"
        for name in _FOLDERS:
            copy_sources(folder / name, copy / name)
        content = _content(compiler, copy, flags)
        library = builds / key_of(content) / LIBRARY
        command = [compiler, *FLAGS, *flags, "-I.", "decoder/decoder.cpp", "decoder/order.cpp"]
        command += ["-o", LIBRARY]
        log = compiled(_NAME, command, folder=copy)
        (copy / BUILD_LOG).write_text("".join(log), "utf-8")
        install((copy / LIBRARY, copy / BUILD_LOG), content, work / "ready", library.parent)
    return library


def _content(compiler: str, sources: Path, flags: tuple[str, ...]) -> dict[str, object]:
    """All that the library depends on, as JSON."""
    return {
        "program": LIBRARY,
        "assay": assay.__version__,
        "sources": {name: source_digest(sources / name) for name in _FOLDERS},
        "compiler": compiler,
        "flags": [*FLAGS, *flags],
        "machine": os.uname().machine,
    }


def _compiler() -> str:
    """$CXX, else the system's first C++ compiler; raises AssayError if there is none."""
    for name in (os.environ.get("CXX"), "g++", "c++", "clang++"):
        found = shutil.which(name) if name else None
        if found:
            return found
    raise AssayError(
        "There is no C++ compiler, which the decoder of traces is built with.",
        where="PATH",
        fix="Install g++ or clang++, or set CXX.",
    )
