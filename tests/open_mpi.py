"""The Open MPI that tests are given beside MPICH, where ``ASSAY_TEST_OPENMPI`` names its folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

PREFIX = os.environ.get("ASSAY_TEST_OPENMPI", "")
needs_open_mpi = pytest.mark.skipif(
    not PREFIX or not (Path(PREFIX) / "bin" / "mpirun").exists(),
    reason="no Open MPI: ASSAY_TEST_OPENMPI names no prefix with bin/mpirun",
)
# A toolchain in assay.toml. All who measure with it share one build, of which no speed is asked:
# without optimisation it takes half of the time.
TOOLCHAIN = f'[toolchains.openmpi]\nmpi_prefix = "{PREFIX}"\nflags = "-O0 -march=native"\n'
