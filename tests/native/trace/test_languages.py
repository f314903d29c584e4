"""One program in four languages has the same profile, which is known from its text.

``ASSAY_TEST_MPI_FORTRAN`` names prefixes of MPI libraries (separated by colons) that have
``bin/mpicc``, ``bin/mpicxx``, ``bin/mpifort`` and ``bin/mpirun``.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from assay.kernels.builds.trace import build_trace
from mpi_counts import PROFILE, read_profile

pytestmark = [pytest.mark.slow, pytest.mark.long]

PREFIXES = [Path(p) for p in os.environ.get("ASSAY_TEST_MPI_FORTRAN", "").split(":") if p]
RANKS, INT = 3, 4
# The lines that differ: the module, the include file, and the types of handles and statuses.
FORTRAN = {
    "mpif.h": ("", "include 'mpif.h'", "integer", "integer", "integer :: status(MPI_STATUS_SIZE)"),
    "use mpi": ("use mpi", "", "integer", "integer", "integer :: status(MPI_STATUS_SIZE)"),
    "use mpi_f08": (
        "use mpi_f08", "", "type(MPI_Comm)", "type(MPI_Request)", "type(MPI_Status) :: status",
    ),
}  # fmt: skip


def _known(rank: int) -> dict[str, tuple[int, int]]:
    """Calls and bytes of ``four_languages``, from its text; the second barrier isn't counted."""
    after, before = (rank + 1) % RANKS, (rank - 1) % RANKS
    assert after != before
    known = {
        "Init": (1, 0), "Comm_dup": (1, 0), "Comm_free": (1, 0), "Waitall": (3, 0), "Wait": (2, 0),
        "Test": (1, 0), "Barrier": (1, 0), "Irecv": (4, (3 * 8 + 2) * INT),
        "Isend": (3, 3 * 8 * INT), "Sendrecv": (1, 5 * INT), "Ssend": (1, 2 * INT),
        "Bcast": (1, 4 * INT * (rank == 0)), "Allreduce": (1, 6 * INT),
        "Iallreduce": (1, 6 * INT), "Alltoall": (1, (RANKS - 1) * INT),
    }  # fmt: skip
    if rank == 0:
        known["Send"] = (1, 7 * INT)
    if rank == 1:
        known["Recv"] = (1, 7 * INT)
    return known


@pytest.mark.skipif(
    not PREFIXES, reason="no MPI with Fortran: ASSAY_TEST_MPI_FORTRAN names no prefix"
)
@pytest.mark.parametrize("language", ["C", *FORTRAN])
@pytest.mark.parametrize("prefix", PREFIXES, ids=str)
def test_counts_are_equal_in_all_languages(tmp_path: Path, prefix: Path, language: str) -> None:
    program, folder = tmp_path / "program", tmp_path / "profile"
    folder.mkdir()
    tools = prefix / "bin"
    if language == "C":
        command = [tools / "mpicc", PROFILE / "four_languages.c"]
    else:
        source = tmp_path / "program.f90"
        use, include, communicator, request, status = FORTRAN[language]
        text = (PROFILE / "four_languages.f90.in").read_text()
        for name, line in (("USE", use), ("INCLUDE", include), ("COMM", communicator),
                           ("REQUEST", request), ("STATUS", status)):  # fmt: skip
            text = text.replace(f"@{name}@", line)
        source.write_text(text)
        command = [tools / "mpifort", "-fallow-argument-mismatch", source]
    subprocess.run([*command, "-o", program], check=True, timeout=120)
    library = build_trace(str(tools / "mpicxx"))
    environment = ["env", f"ASSAY_PROFILE_DIR={folder}", f"LD_PRELOAD={library}"]
    subprocess.run(
        [tools / "mpirun", "-n", str(RANKS), *environment, program], check=True, timeout=120
    )
    for rank in range(RANKS):
        first, *records = read_profile(folder / f"rank-{rank}.jsonl")
        assert first["complete"]
        assert first["unfinished"] == 0
        found: dict[str, tuple[int, int]] = {}
        for one in records:
            if one["type"] == "call":
                calls, payload = found.get(one["function"], (0, 0))
                found[one["function"]] = (calls + one["calls"], payload + one["bytes"])
                assert Path(one["image"]).name == "program"
        assert found == _known(rank)
        after = (rank + 1) % RANKS
        sent = (3 * 8 + 5 + 2 + 7 * (rank == 0)) * INT
        assert {one["peer"]: one["bytes"] for one in records if one["type"] == "peer"} == {
            after: sent
        }
