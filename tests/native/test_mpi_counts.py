"""The profiling library against a program whose messages are known."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from mpi_counts import (
    RankCounts,
    compile_against_mpi,
    counting_environment,
    counting_library,
    read_counts,
)
from native_build import TOOLS

INT, DOUBLE = 4, 8
ROOT = 1


def _known(rank: int, ranks: int) -> dict[str, tuple[int, int]]:
    """Calls and bytes of one run of ``known_messages.cpp``, from its text."""
    root = rank == ROOT
    singles = ("Send", "Ssend", "Bsend", "Rsend", "Isend", "Issend", "Ibsend", "Irsend")
    known = {name: (1, count * INT) for count, name in enumerate(singles, 1)}
    known |= {
        "Barrier": (8, 0),
        "Sendrecv": (1, 9 * INT),
        "Sendrecv_replace": (1, 10 * INT),
        "Start": (3, (11 + 12 + 12) * INT),
        "Bcast": (1, root * INT),
        "Reduce": (1, 2 * INT),
        "Allreduce": (1, 3 * INT),
        "Scan": (1, 4 * INT),
        "Exscan": (1, 5 * INT),
        "Reduce_scatter_block": (1, 6 * ranks * INT),
        "Reduce_scatter": (1, sum(7 + other for other in range(ranks)) * INT),
        "Allgather": (2, 2 * 8 * INT),
        "Allgatherv": (1, (9 + rank) * INT),
        "Gather": (1, 10 * INT),
        "Gatherv": (1, (11 + rank) * INT),
        "Scatter": (1, root * 12 * ranks * INT),
        "Scatterv": (1, root * sum(13 + other for other in range(ranks)) * INT),
        "Alltoall": (1, 14 * (ranks - 1) * INT),
        "Alltoallv": (1, sum(15 + rank + o for o in range(ranks) if o != rank) * INT),
        "Alltoallw": (1, sum(16 + rank + o for o in range(ranks) if o != rank) * INT),
        "Iallreduce": (1, 17 * DOUBLE),
        "Ialltoall": (1, 18 * (ranks - 1) * INT),
    }
    return known


def _known_peers(rank: int, ranks: int) -> dict[int, int]:
    """Bytes of one run to each other rank: single messages go to the next one."""
    single = sum(range(1, 9)) + 9 + 10 + 11 + 12 + 12
    return {
        other: INT
        * ((15 + rank + other) + (16 + rank + other) + (other == (rank + 1) % ranks) * single)
        for other in range(ranks)
        if other != rank
    }


@pytest.mark.slow
@pytest.mark.parametrize("preloaded", [False, True])
def test_known_messages_are_counted(tmp_path: Path, preloaded: bool) -> None:
    """Two marked runs; messages outside of them, to MPI_PROC_NULL, or received don't count."""
    program, counts, ranks = tmp_path / "known_messages", tmp_path / "counts", 3
    linked = [] if preloaded else [counting_library()]
    compile_against_mpi(program, "known_messages.cpp", *linked)
    prefix = ["env", f"LD_LIBRARY_PATH={counting_library().parent}"]
    prefix += counting_environment(counts, ranks, preloaded=preloaded)
    counts.mkdir()
    subprocess.run([TOOLS / "mpirun", "-n", str(ranks), *prefix, program], check=True, timeout=60)
    for rank, found in enumerate(read_counts(counts, ranks)):
        known = _known(rank, ranks)
        peers = {other: 2 * sent for other, sent in _known_peers(rank, ranks).items()}
        twice = {name: (2 * n, 2 * b) for name, (n, b) in known.items()}
        assert found == RankCounts(2, twice, peers)
