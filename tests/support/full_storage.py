"""Storage on which some files can't be written further: a quota or a full disk, planted.

A preloaded library makes ``write``, ``pwrite`` and the creation of files fail with a given error,
as the kernel does when a quota or a disk is exhausted.
"""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

from native_build import digest, kept_in_cache
from patient_ranks import library as patience

_SOURCE = Path(__file__).with_suffix(".c")


@cache
def library() -> Path:
    """The library, built once. Raises subprocess.CalledProcessError."""

    def compile_to(folder: Path) -> None:
        flags = ["-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
        subprocess.run(["cc", *flags, _SOURCE, "-o", folder / "full.so"], check=True)

    return kept_in_cache("full-storage", digest(_SOURCE.read_bytes()), compile_to) / "full.so"


def full(pattern: str, after: int, error: int) -> dict[str, str]:
    """The environment of ranks in which writing fails with that errno.

    ``pattern``: of the whole paths of the files. ``after``: the number of bytes that a rank may
    write to them; a new file counts as one.
    """
    return {
        "LD_PRELOAD": f"{library()} {patience()}",
        "ASSAY_TEST_FULL": pattern,
        "ASSAY_TEST_FULL_AFTER": str(after),
        "ASSAY_TEST_FULL_ERRNO": str(error),
    }
