"""The Open MPI that tests are given beside MPICH, where ``ASSAY_TEST_OPENMPI`` names its folder."""

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
# Beside "embedded", where a test is parametrised by toolchains: it takes a build of its own.
OPEN_MPI = pytest.param("openmpi", marks=[needs_open_mpi, pytest.mark.long])
# A toolchain in assay.toml. All who measure with it share one build, of which no speed is asked:
# without optimisation it takes a quarter of the time.
_NAME, _FLAGS = "openmpi", "-O0 -march=native"
TOOLCHAIN = f'[toolchains.{_NAME}]\nmpi_prefix = "{PREFIX}"\nflags = "{_FLAGS}"\n'


@cache
def build_open_mpi() -> None:
    """The kernels of ``TOOLCHAIN``, of which others would each build theirs if they met."""
    entry = ToolchainConfig(mpi_prefix=PREFIX, flags=_FLAGS)
    with by_one_at_a_time("open-mpi"):
        building.build_kernels(select_toolchain(_NAME, Config(toolchains={_NAME: entry})))
