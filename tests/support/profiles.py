"""Profiles whose numbers are known, and a program that has a known one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from assay.trace.model import ProfiledRun, SourcePlace
from assay.trace.reading import RUN_FILE
from mpi_counts import built_against_mpi

Record = dict[str, Any]
RUN = ProfiledRun(1, "0.1.0", ["mpirun", "-n", "2", "./app"], "/work", 1e9, 11.0, 0, "MPICH 5", "x")
PLACES = [
    SourcePlace("./app", 100, "exchange", "/src/app.c", 7),
    SourcePlace("./app", 200, "solve", "", 0),
]


def profiled_program() -> Path:
    """``known_pattern.cpp``, compiled for the embedded MPI."""
    return built_against_mpi("known_pattern.cpp", "-g")


def header(rank: int | None, wall: float = 10.0, ranks: int = 2, **more: object) -> Record:
    """The first record of a rank."""
    return {
        "type": "profile", "version": 1, "rank": rank, "ranks": ranks, "process": 1,
        "host": "n1", "ended": "finalize", "threads": "single", "begin": 5.0, "begin_wall": 1e9,
        "wall": wall, "runs": 0, "unfinished": 0, "fortran": True, "complete": True, **more,
    }  # fmt: skip


def kind(name: str, calls: int, time: float) -> Record:
    """The sum over a kind of function."""
    return {"type": "kind", "kind": name, "calls": calls, "time": time}


def call(function: str, time: float, *, calls: int = 1, payload: int = 0, **more: object) -> Record:
    """An entry; its size class follows from the bytes per call."""
    each = payload // calls
    return {
        "type": "call", "function": function, "image": "./app", "offset": 100, "peer": None,
        "size_class": each.bit_length(), "calls": calls, "bytes": payload, "time": time,
        "least": time / calls, "most": time / calls, **more,
    }  # fmt: skip


def sent(to: int | None, messages: int, payload: int) -> Record:
    """What was sent to a rank."""
    return {"type": "peer", "peer": to, "messages": messages, "bytes": payload}


def write_profile(
    folder: Path, ranks: Mapping[str, Sequence[Record]], run: ProfiledRun = RUN
) -> Path:
    """The folder of a profile; ``ranks``: the records between first and last by file."""
    folder.mkdir(exist_ok=True)
    (folder / RUN_FILE).write_bytes(msgspec.json.encode(run))
    for name, records in ranks.items():
        lines = [*records, {"type": "end", "entries": len(records), "lost_communicators": 0}]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / f"rank-{name}.jsonl").write_text(text)
    return folder


def two_ranks(folder: Path) -> Path:
    """Rank 0 computes 6 s of 10 s, rank 1 8 s; the rest is in Send, Recv and Allreduce."""
    return write_profile(
        folder,
        {
            "0": [
                header(0),
                kind("point", 4, 1.0), kind("collective", 2, 3.0), kind("life", 1, 50.0),
                call("Init", 50.0),
                call("Send", 1.0, calls=4, payload=4000, peer=1),
                call("Allreduce", 3.0, calls=2, payload=16, offset=200),
                sent(1, 4, 4000),
            ],
            "1": [
                header(1),
                kind("point", 4, 1.5), kind("collective", 2, 0.5),
                call("Recv", 1.5, calls=4, payload=8000, peer=0),
                call("Allreduce", 0.5, calls=2, payload=16, offset=200),
            ],
        },
        msgspec.structs.replace(RUN, places=PLACES),
    )  # fmt: skip
