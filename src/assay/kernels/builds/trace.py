"""Building the libraries to preload, kept like the kernels: the profiling library, one per MPI, and
the library that samples call stacks, without MPI.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from assay.cache import cache_folder
from assay.kernels.builds import trace_wrappers
from assay.kernels.builds.compiling import compiled
from assay.kernels.builds.identity import source_digest
from assay.kernels.builds.sealed import (
    BUILD_LOG,
    copy_sources,
    digest_of,
    install,
    is_intact,
    key_of,
    working_folder,
)
from assay.kernels.builds.single import SingleBuild, single_build
from assay.kernels.builds.trace_wrappers import read_rules, wrappers
from assay.kernels.sources import native_sources
from assay.version import VERSION

LIBRARY = "libassay-trace.so"
_NAME = "The profiling library"
FLAGS = ("-std=c++20", "-O2", "-fPIC", "-Wall", "-Wextra", "-fno-exceptions", "-fno-rtti")
# The library exports no C++ names and needs no C++ library. It has no undefined MPI symbols,
# because it is loaded into every process that the command starts, including launchers and shells.
_LINK = ("-shared", "-static-libgcc", "-static-libstdc++", "-Wl,--version-script=exports.map")
_NEEDED = ("-Wl,-z,defs", "-ldl")  # after the files
# The code that marks steps (native/heartbeat) is C.
_STEPS = ("-x", "c", "-std=c99", "-O2", "-fPIC", "-Wall", "-Wextra", "-c")
_HIDDEN = ("-fvisibility-inlines-hidden", "-Wno-deprecated-declarations")
# Without MPI's C++ functions, whose library programs in C and Fortran don't load.
_C_ONLY = ("-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX")

SAMPLER = "libassay-sampler.so"
_SAMPLER_FLAGS = (
    "-std=c++20", "-O2", "-fPIC", "-Wall", "-Wextra", "-fno-exceptions", "-fno-rtti",
    "-fvisibility-inlines-hidden",
)  # fmt: skip
# It needs no C++ library, and contains the unwinder, whose search for tables it replaces.
_SAMPLER_LINK = (
    "-shared", "-static-libgcc", "-static-libstdc++", "-Wl,--version-script=sampling/exports.map",
    "-Wl,--wrap=_Unwind_Find_FDE",
)  # fmt: skip
_SAMPLER_NEEDED = ("-Wl,-z,defs", "-ldl", "-lrt", "-lpthread")  # after the files
_SAMPLER_NAME = "The library that samples call stacks"


def build_trace(
    mpicxx: str,
    environment: Mapping[str, str] | None = None,
    progress: Callable[[str], None] | None = None,
    *,
    sources: Path | None = None,
) -> Path:
    """The profiling library for the MPI of ``mpicxx``: from the cache, else built now.

    ``environment``: variables for ``mpicxx`` in addition to this process's. ``progress`` is called
    with a sentence before the build, which takes some seconds. Raises AssayError if the library
    can't be compiled (the compiler's output is in ``detail``), and if the cache can't be written.
    """
    folder = (sources or native_sources()) / "trace"
    command = [mpicxx, "-E", "-x", "c++", "-"]
    header = compiled(_NAME, command, environment, text="#include <mpi.h>\n").out
    builds = cache_folder("builds")
    content = _content(mpicxx, header, folder)
    library = builds / key_of(content) / LIBRARY
    if is_intact(library.parent, LIBRARY):
        return library
    if progress:
        progress("The profiling library is being built (once per MPI).")
    with working_folder(builds) as work:
        # A copy is built, since sources edited during the build would be kept under a wrong key.
        copy = copy_sources(folder, work / "trace")
        copy_sources(folder.parent / "heartbeat", work / "heartbeat")
        content = _content(mpicxx, header, copy)
        library = builds / key_of(content) / LIBRARY
        functions, definitions = wrappers(read_rules(copy / "functions.txt"), header)
        (copy / "functions.inc").write_text(functions, "utf-8")
        (copy / "wrappers.cpp").write_text(definitions, "utf-8")
        files = [str(path.relative_to(copy)) for path in sorted(copy.glob("*.cpp"))]
        for part in ("events", "files"):
            files += [str(path.relative_to(copy)) for path in sorted(copy.glob(f"{part}/*.cpp"))]
        flags = [*FLAGS, *_HIDDEN, *_C_ONLY, *_LINK, "-I."]
        # The wrapper adds -lmpi, which would load MPI into programs that don't use it.
        needed = _without_mpi(compiled(_NAME, [mpicxx, "-show"], environment).out.split())
        steps = [*needed, *_STEPS, "../heartbeat/heartbeat.c"]
        log = "".join(compiled(_NAME, steps, environment, copy))
        linked = [*needed, *flags, *files, "heartbeat.o", *_NEEDED, "-o", LIBRARY]
        log += "".join(compiled(_NAME, linked, environment, copy))
        (copy / BUILD_LOG).write_text(log, "utf-8")
        install((copy / LIBRARY, copy / BUILD_LOG), content, work / "ready", library.parent)
    return library


def _without_mpi(command: list[str]) -> list[str]:
    return [word for word in command if not word.startswith(("-l", "-L", "-Wl,"))]


def _content(mpicxx: str, header: str, sources: Path) -> dict[str, object]:
    """Everything that the library depends on, as JSON."""
    return {
        "program": LIBRARY,
        "assay": VERSION,
        "sources": source_digest(sources),
        "steps": source_digest(sources.parent / "heartbeat"),
        "generator": digest_of(Path(trace_wrappers.__file__)),
        "header": header,
        "compiler": mpicxx,
        "flags": [*FLAGS, *_HIDDEN, *_C_ONLY, *_LINK, *_NEEDED, *_STEPS],
        "machine": os.uname().machine,
    }


def build_sampler(
    progress: Callable[[str], None] | None = None, *, sources: Path | None = None
) -> Path:
    """The library: from the cache if it is there, else built now, in about 3 s.

    ``progress`` is called with a sentence before the build. Raises AssayError as ``single_build``
    does.
    """

    def compile_library(compiler: str, folder: Path) -> str:
        parts = ("sampling", "files")
        files = [path for part in parts for path in sorted(folder.glob(f"{part}/*.cpp"))]
        words = [
            compiler,
            *_SAMPLER_FLAGS,
            *_SAMPLER_LINK,
            "-I.",
            *(str(path) for path in files),
            *_SAMPLER_NEEDED,
        ]
        return "".join(compiled(_SAMPLER_NAME, [*words, "-o", SAMPLER], folder=folder))

    return single_build(
        SingleBuild(
            file=SAMPLER,
            name="the library that samples call stacks",
            folders=("sampling", "files", "events"),
            flags=(*_SAMPLER_FLAGS, *_SAMPLER_LINK, *_SAMPLER_NEEDED),
            compile=compile_library,
        ),
        (sources or native_sources()) / "trace",
        progress,
    )
