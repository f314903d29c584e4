"""Descriptions of clusters to simulate, and where SimGrid is for tests that need it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from assay.simulation.cluster import SimulatedCluster, cluster_of
from assay.simulation.simgrid import find_simgrid
from assay.toml import parse_toml

BASE = """schema = 1
[topology]
kind = "single"
hosts = 4
[network]
latency = { value = "20 us", uncertainty = 0 }
bandwidth = { value = "100 MB/s", uncertainty = 0 }
[memory]
latency = "1 us"
bandwidth = "4 GB/s"
[node]
cores = 2
"""


def cluster(text: str = BASE) -> SimulatedCluster:
    return cluster_of(parse_toml(text, Path("cluster.toml")))


def simgrid_path() -> Path | None:
    """A smpirun, or a folder with it, that is not on PATH."""
    named = os.environ.get("ASSAY_TEST_SIMGRID")
    return Path(named) if named else None


def smpicc_path() -> str | None:
    """SimGrid's compiler, on PATH or beside the smpirun that is named."""
    named = simgrid_path()
    if named is not None:
        beside = (named if named.is_dir() else named.parent) / "smpicc"
        return str(beside) if beside.exists() else None
    return shutil.which("smpicc")


needs_simgrid = pytest.mark.skipif(
    find_simgrid(simgrid_path()) is None,
    reason="SimGrid's smpirun isn't on PATH (nor named by ASSAY_TEST_SIMGRID).",
)
