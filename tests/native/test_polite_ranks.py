"""Ranks that outnumber the CPUs sleep: the library is in their processes, and in no others."""

from __future__ import annotations

import os
import subprocess

import pytest

from native_build import TOOLS
from polite_ranks import polite, sleeping_yield


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [1, len(os.sched_getaffinity(0)) + 1])
def test_the_library_is_in_ranks_that_outnumber_the_cpus(ranks: int) -> None:
    done = subprocess.run(
        [TOOLS / "mpirun", "-n", str(ranks), "cat", "/proc/self/maps"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env=os.environ | polite(ranks),
    )
    loaded = {line.split()[-1] for line in done.stdout.splitlines() if line.split()[5:]}
    crowded = ranks > len(os.sched_getaffinity(0))
    assert (str(sleeping_yield()) in loaded) == crowded
