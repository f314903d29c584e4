"""Profiles of programs by the profiling library, and the messages of a kernel."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from assay.kernels.builds.trace import build_trace
from assay.kernels.builds.trace_wrappers import read_rules
from assay.model.placement import Value
from kernel_runs import assert_verified, measure, plain
from native_build import NATIVE, TOOLS, digest, kept_in_cache
from patient_ranks import library

PROFILE = NATIVE / "tests" / "profile"
_RECEIVING = {"Recv", "Irecv", "Mrecv", "Imrecv"}
SENDING = {
    rule.name
    for rule in read_rules(NATIVE / "trace" / "functions.txt")
    if rule.kind in ("point", "collective") and rule.name not in _RECEIVING
} | {"Start"}


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
    """The library to preload, for the embedded MPI."""
    return build_trace(str(TOOLS / "mpicxx"))


def compile_against_mpi(to: Path, *arguments: str | Path) -> None:
    """Compiles sources of ``native/tests/profile``."""
    flags = ["-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([TOOLS / "mpicxx", *flags, *arguments, "-o", to], cwd=PROFILE, check=True)


@cache
def built_against_mpi(source: str, *flags: str) -> Path:
    """A program of ``native/tests/profile``, compiled once for all processes."""

    def compile_to(folder: Path) -> None:
        compile_against_mpi(folder / Path(source).stem, *flags, source)

    content = [path.read_bytes() for path in sorted(PROFILE.iterdir())]
    version = digest(repr((TOOLS, flags)).encode(), *content)
    kept = kept_in_cache(f"program-{Path(source).stem}", version, compile_to)
    return kept / Path(source).stem


def counting_environment(folder: Path, *, preloaded: bool = True) -> list[str]:
    """The command that starts each rank of a program with counting off until MPI_Pcontrol(1)."""
    words = ["env", f"ASSAY_PROFILE_DIR={folder}", "ASSAY_PROFILE_START=off"]
    preload = f"LD_PRELOAD={counting_library()} {library()}"
    return [*words, preload] if preloaded else words


def read_profile(path: Path) -> list[dict[str, Any]]:
    """The records of a rank; raises if the last one is missing."""
    records: list[dict[str, Any]] = [json.loads(line) for line in path.read_text().splitlines()]
    assert records[0]["type"] == "profile"
    assert records[-1]["type"] == "end"
    return records


def read_counts(folder: Path, ranks: int) -> list[RankCounts]:
    """What the ranks sent, from the profiles that they wrote when they ended; raises if one is
    missing or incomplete. Sends to MPI_PROC_NULL and receives aren't counted.
    """
    found = []
    for rank in range(ranks):
        first, *records = read_profile(folder / f"rank-{rank}.jsonl")
        assert first["rank"] == rank
        assert first["complete"]
        functions: dict[str, tuple[int, int]] = {}
        for one in records:
            if (
                one["type"] != "call"
                or one["function"] not in SENDING
                or one["peer"] == "proc_null"
            ):
                continue
            calls, payload = functions.get(one["function"], (0, 0))
            functions[one["function"]] = (calls + one["calls"], payload + one["bytes"])
        peers = {one["peer"]: one["bytes"] for one in records if one["type"] == "peer"}
        found.append(RankCounts(first["runs"], functions, peers))
    return found


def sent_by(kernel: str, parameters: Mapping[str, Value], ranks: int, threads: int = 1) -> Sent:
    """The messages of the timed part of a whole benchmark (one that is never batched)."""
    with tempfile.TemporaryDirectory() as folder:
        prefix = counting_environment(Path(folder))
        (record,) = measure(
            plain(), (kernel, parameters), ranks=ranks, threads=threads, samples=(2, 2),
            prefix=prefix,
        )  # fmt: skip
        assert_verified(record)
        assert record.batch == 1
        counts = read_counts(Path(folder), ranks)
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
