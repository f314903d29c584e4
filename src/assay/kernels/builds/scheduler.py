"""Building the model of a scheduler: one native program without MPI."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from assay.kernels.builds.compiling import compiled
from assay.kernels.builds.single import SingleBuild, single_build
from assay.kernels.sources import native_sources

PROGRAM = "assay-scheduler"
# Products are rounded before they are added, so that priorities are equal on all processors.
FLAGS = ("-std=c++20", "-O2", "-ffp-contract=off", "-DNDEBUG")


def build_scheduler(
    progress: Callable[[str], None] | None = None, *, sources: Path | None = None
) -> Path:
    """The program of the scheduler's model: from the cache if it is there, else built now.

    ``progress`` is called with a sentence before the build, which takes some seconds. Raises
    AssayError as ``single_build`` does.
    """
    return single_build(
        SingleBuild(
            file=PROGRAM,
            name="the model of the scheduler",
            folders=("scheduler", "third_party"),
            flags=FLAGS,
            compile=_compile,
        ),
        sources or native_sources(),
        progress,
    )


def _compile(compiler: str, folder: Path) -> str:
    """Compile and link the files; returns the compiler's output."""
    files = sorted((folder / "scheduler").glob("*.cpp"))
    objects = [f"{file.stem}.o" for file in files]

    def run(command: list[str]) -> str:
        return "".join(compiled("The model of the scheduler", command, folder=folder))

    def compile_file(file: Path, target: str) -> str:
        include = ("-I", ".", "-isystem", "third_party")
        return run([compiler, *FLAGS, *include, "-c", f"scheduler/{file.name}", "-o", target])

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        output = list(pool.map(compile_file, files, objects))
    return "".join((*output, run([compiler, *FLAGS, *objects, "-o", PROGRAM])))
