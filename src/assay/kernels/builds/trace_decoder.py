"""Building the decoder of traces: a small shared library without MPI."""

from __future__ import annotations

from pathlib import Path

from assay.kernels.builds.compiling import compiled
from assay.kernels.builds.single import SingleBuild, single_build
from assay.kernels.sources import native_sources

LIBRARY = "libassay-decoder.so"
SOURCES = ("decoder/decoder.cpp", "decoder/graph.cpp", "decoder/order.cpp", "decoder/origins.cpp")
FLAGS = ("-std=c++20", "-O2", "-fPIC", "-Wall", "-Wextra", "-shared", "-DNDEBUG")


def build_trace_decoder(*, flags: tuple[str, ...] = (), sources: Path | None = None) -> Path:
    """The decoder: from the cache if it is there, else built now, in about 2 s.

    ``flags``: further compiler flags. Raises AssayError as ``single_build`` does.
    """

    def compile_library(compiler: str, folder: Path) -> str:
        command = [compiler, *FLAGS, *flags, "-I.", *SOURCES]
        return "".join(compiled("The decoder of traces", [*command, "-o", LIBRARY], folder=folder))

    return single_build(
        SingleBuild(
            file=LIBRARY,
            name="the decoder of traces",
            folders=("decoder", "events"),
            flags=(*FLAGS, *flags),
            compile=compile_library,
        ),
        (sources or native_sources()) / "trace",
    )
