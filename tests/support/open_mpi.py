"""The Open MPI for tests in addition to MPICH; ``ASSAY_TEST_OPENMPI`` names its folder."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest

from assay.config import Config, ToolchainConfig
from assay.kernels import building
from assay.kernels.toolchains import select_toolchain
from native_build import by_one_at_a_time

PREFIX = os.environ.get("ASSAY_TEST_OPENMPI", "")
needs_open_mpi = pytest.mark.skipif(
    not PREFIX or not (Path(PREFIX) / "bin" / "mpirun").exists(),
    reason="no Open MPI: ASSAY_TEST_OPENMPI names no prefix with bin/mpirun",
)
# In addition to "embedded", where a test is parametrised by toolchains: it needs its own build.
OPEN_MPI = pytest.param("openmpi", marks=[needs_open_mpi, pytest.mark.long])
# A toolchain in assay.toml. All tests with it share one build without optimisation, which takes a
# quarter of the compile time; its speed doesn't matter.
_NAME, _FLAGS = "openmpi", "-O0 -march=native"
TOOLCHAIN = f'[toolchains.{_NAME}]\nmpi_prefix = "{PREFIX}"\nflags = "{_FLAGS}"\n'


@cache
def build_open_mpi() -> None:
    """Build the kernels of ``TOOLCHAIN`` once, so that concurrent tests don't build them each."""
    entry = ToolchainConfig(mpi_prefix=PREFIX, flags=_FLAGS)
    with by_one_at_a_time("open-mpi"):
        building.build_kernels(select_toolchain(_NAME, Config(toolchains={_NAME: entry})))
