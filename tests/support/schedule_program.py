"""The native program of the scheduler's model for tests: as shipped, and under the sanitizers."""

from __future__ import annotations

import os
import subprocess
from functools import cache
from pathlib import Path

from assay.kernels.builds.scheduler import build_scheduler
from native_build import NATIVE, digest, kept_in_cache

_FLAGS = (
    *("-std=c++20", "-O1", "-g1", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror"),
    *("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-D_GLIBCXX_ASSERTIONS"),
)


@cache
def plain() -> Path:
    """As ``assay usage`` builds it."""
    return build_scheduler()


@cache
def sanitized() -> Path:
    """With warnings as errors, under the address and undefined-behaviour sanitizers."""
    sources = sorted((NATIVE / "scheduler").glob("*.[ch]pp"))
    # As one unit, for which each header and template is compiled once: two thirds of the time.
    units = [path.name for path in sources if path.suffix == ".cpp"]
    unit = "".join(f'#include "scheduler/{name}"\n' for name in units)
    parts = [part for path in sources for part in (os.fsencode(path.name), path.read_bytes())]

    def compile_to(folder: Path) -> None:
        include = ("-I", str(NATIVE), "-isystem", str(NATIVE / "third_party"))
        target = str(folder / "assay-scheduler")
        command = ["c++", *_FLAGS, *include, "-x", "c++", "-", "-o", target]
        subprocess.run(command, check=True, input=unit, text=True)

    version = digest(" ".join(_FLAGS).encode(), *parts)
    return kept_in_cache(digest(b"scheduler", os.fsencode(NATIVE)), version, compile_to) / (
        "assay-scheduler"
    )
