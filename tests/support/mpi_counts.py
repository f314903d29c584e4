"""Counts the messages of a kernel, through MPI's profiling interface."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from assay.model.placement import Value
from kernel_runs import assert_verified, measure, plain
from native_build import NATIVE, TOOLS

PROFILE = NATIVE / "tests" / "profile"


@dataclass(frozen=True)
class RankCounts:
    """The messages of one rank in ``runs`` marked runs: (calls, bytes) by function, without
    ``MPI_``; ``peers``: bytes to each rank that was sent data individually.
    """

    runs: int
    functions: dict[str, tuple[int, int]] = field(default_factory=dict)
    peers: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Sent:
    """One operation, all ranks together: messages, their payload in bytes, and both by function;
    ``peers``: bytes sent individually from one rank to another.
    """

    messages: float
    bytes: float
    functions: dict[str, tuple[float, float]]
    peers: dict[tuple[int, int], float]


@cache
def counting_library() -> Path:
    """The library to preload."""
    library = Path(tempfile.mkdtemp(prefix="assay-mpi-counts-")) / "libmpi_counts.so"
    compile_against_mpi(library, "mpi_counts.cpp", "-fPIC", "-shared")
    return library


def compile_against_mpi(to: Path, *arguments: str) -> None:
    """Compiles sources of ``native/tests/profile``."""
    flags = ["-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([TOOLS / "mpicxx", *flags, *arguments, "-o", to], cwd=PROFILE, check=True)


def read_counts(path: Path, ranks: int) -> list[RankCounts]:
    """The counts that the ranks wrote when they ended; raises if one is missing."""
    found = []
    for rank in range(ranks):
        first, *lines = path.with_name(f"{path.name}.{rank}").read_text().splitlines()
        word, runs = first.split()
        assert word == "runs"
        words = [line.split() for line in lines]
        functions = {w[0]: (int(w[1]), int(w[2])) for w in words if w[0] != "to"}
        peers = {int(w[1]): int(w[2]) for w in words if w[0] == "to"}
        found.append(RankCounts(int(runs), functions, peers))
    return found


def sent_by(kernel: str, parameters: Mapping[str, Value], ranks: int, threads: int = 1) -> Sent:
    """The messages of the timed part of a whole benchmark (one that is never batched)."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "counts")
        prefix = ["env", f"LD_PRELOAD={counting_library()}", f"ASSAY_MPI_COUNTS={path}"]
        (record,) = measure(
            plain(), (kernel, parameters), ranks=ranks, threads=threads, samples=(2, 2),
            prefix=prefix,
        )  # fmt: skip
        assert_verified(record)
        assert record.batch == 1
        counts = read_counts(path, ranks)
    runs = len(record.series[0].values)
    assert {rank.runs for rank in counts} == {runs}
    functions: dict[str, tuple[float, float]] = {}
    for rank in counts:
        for name, (calls, payload) in rank.functions.items():
            before = functions.get(name, (0.0, 0.0))
            functions[name] = (before[0] + calls / runs, before[1] + payload / runs)
    return Sent(
        sum(calls for calls, _ in functions.values()),
        sum(payload for _, payload in functions.values()),
        functions,
        {
            (rank, peer): payload / runs
            for rank, one in enumerate(counts)
            for peer, payload in one.peers.items()
        },
    )
