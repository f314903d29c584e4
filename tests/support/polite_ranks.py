"""The environment of ranks that share CPUs with each other and with other tests.

While a message is missing, MPICH's ranks yield their CPU. If ranks outnumber the CPUs, they mostly
yield to ranks that yield as well: eight ranks on two CPUs spend 95% of their CPU time on that. A
preloaded library makes them sleep 50 µs instead. Their calls and messages stay the same.
"""

from __future__ import annotations

import os
import subprocess
from functools import cache
from pathlib import Path

from assay.processes import POLITE_WAITING
from native_build import digest, kept_in_cache

_SOURCE = Path(__file__).with_name("sleeping_yield.c")


@cache
def sleeping_yield() -> Path:
    """The library to preload."""

    def compile_to(folder: Path) -> None:
        flags = ["-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
        subprocess.run(["cc", *flags, _SOURCE, "-o", folder / "library.so"], check=True)

    version = digest(_SOURCE.read_bytes())
    return kept_in_cache("sleeping-yield", version, compile_to) / "library.so"


def polite(ranks: int) -> dict[str, str]:
    """Variables for a launcher of this many ranks."""
    if ranks <= len(os.sched_getaffinity(0)):
        return dict(POLITE_WAITING)
    return {**POLITE_WAITING, "LD_PRELOAD": str(sleeping_yield())}
