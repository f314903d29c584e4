"""A program that calls functions of every kind, on each MPI of this machine: profile and trace have
the counts that it counts itself, and each message of the trace has its partner.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path

import msgspec
import numpy as np
import pytest

from assay.kernels.builds.trace import build_trace
from assay.trace.events import Trace
from assay.trace.matching import match
from assay.trace.reading import RUN_FILE
from assay.trace.reading_trace import read_trace
from mpi_counts import PROFILE
from mpi_libraries import MPI_LIBRARIES, MpiLibrary, compile_c
from profiles import RUN
from quick_part import first_quickly

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("polite_waiting")]
RANKS, INT = 3, 4
BY_THREADS = 180  # messages of a rank's three threads


def _run(library: MpiLibrary, folder: Path, *, tool: str = "") -> dict[int, Counter[str]]:
    """Runs the program; what each rank counted. ``tool``: a library behind the profiling one."""
    if not library.is_there:
        pytest.skip(f"{library.name} is not installed")
    program = compile_c(library, PROFILE / "every_kind.c", folder / "program")
    (folder / RUN_FILE).write_bytes(msgspec.json.encode(RUN))
    environment = [f"LD_PRELOAD={build_trace(library.cxx)} {tool}", f"ASSAY_PROFILE_DIR={folder}"]
    environment.append("ASSAY_PROFILE_TRACE=1")
    done = subprocess.run(
        [*library.run, "-n", str(RANKS), "env", *environment, program, folder / "file"],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    assert "assay: " not in done.stderr
    counts: dict[int, Counter[str]] = {rank: Counter() for rank in range(RANKS)}
    for line in done.stdout.splitlines():
        rank, name, count = line.split()
        counts[int(rank)][name] = int(count)
    assert all(sum(own.values()) > 3 * BY_THREADS for own in counts.values())
    return counts


def _of_profile(path: Path) -> Counter[str]:
    found: Counter[str] = Counter()
    for line in path.read_text().splitlines():
        record = json.loads(line)
        if record["type"] == "call":
            found[record["function"]] += record["calls"]
    return found


def _of_trace(trace: Trace, rank: int) -> Counter[str]:
    events = trace.ranks[rank].events
    found: Counter[str] = Counter()
    for function, count in zip(events.function, events.count, strict=True):
        name = trace.functions[function]
        if name == "Finalize":  # which the program doesn't count, since it is the last
            continue
        if name in ("Start_receive", "Start_precv"):
            name = "Start_receive"
        elif name.startswith("Start_"):
            name = "Start"
        found[name] += int(count)
    return found


@pytest.mark.parametrize("library", first_quickly(MPI_LIBRARIES), ids=lambda one: one.name)
def test_profile_and_trace_have_the_programs_own_counts(
    tmp_path: Path, library: MpiLibrary
) -> None:
    counts = _run(library, tmp_path)
    trace = read_trace(tmp_path)
    for rank, own in counts.items():
        assert _of_profile(tmp_path / f"rank-{rank}.jsonl") == own
        assert _of_trace(trace, rank) == own - Counter(Init_thread=1)
    matched = match(trace)
    assert matched.unmatched == matched.left_out == ()
    assert len(matched.messages) > RANKS * BY_THREADS
    flat = matched.flat
    received = matched.messages.received_in
    assert np.all(received >= 0)
    assert np.all(flat.end[received] >= flat.begin[matched.messages.send])
    assert all(rank.complete for rank in trace.ranks)
    _check_details(trace)


@pytest.mark.parametrize("library", first_quickly(MPI_LIBRARIES), ids=lambda one: one.name)
def test_a_request_is_not_mistaken_for_a_later_one_with_its_handle(
    tmp_path: Path, library: MpiLibrary
) -> None:
    """Each thread waits for its own requests, and MPI reuses handles before MPI_Wait returns."""
    if not library.is_there:
        pytest.skip(f"{library.name} is not installed")
    tool = tmp_path / "tool.so"
    command = [library.cc, "-shared", "-fPIC", PROFILE / "slow_waits.c", "-o", tool]
    subprocess.run(command, check=True, timeout=60)
    _run(library, tmp_path, tool=str(tool))
    trace = read_trace(tmp_path)
    for rank in trace.ranks:
        calls, requests = rank.events.completions()
        thread = {
            number: rank.events.thread[event]
            for event, number in enumerate(rank.events.request.tolist())
            if number >= 0
        }
        assert len(requests) == len(thread) > BY_THREADS
        assert [thread[number] for number in requests.tolist()] == rank.events.thread[
            calls
        ].tolist()
    matched = match(trace)
    assert matched.unmatched == matched.left_out == ()


def _check_details(trace: Trace) -> None:
    """Actual sources, tags and bytes, and communicators, from the program's text."""
    for rank in trace.ranks:
        before, events = (rank.rank + RANKS - 1) % RANKS, rank.events
        names = np.array(trace.functions)[events.function]
        assert rank.begin <= events.begin.min() < events.end.max() <= rank.end < rank.begin + 100
        first = int(np.flatnonzero(names == "Irecv")[0])  # from any source, with any tag
        assert (events.peer[first], events.tag[first], events.received[first]) == (before, 5, 12)
        (both,) = np.flatnonzero(names == "Sendrecv")
        assert (events.peer[both], events.tag[both]) == ((rank.rank + 1) % RANKS, 6)
        assert (events.source[both], events.source_tag[both]) == (before, 6)
        assert (events.sent[both], events.received[both]) == (4 * INT, 4 * INT)
        matched = int(np.flatnonzero(names == "Mrecv")[0])
        assert (events.peer[matched], events.tag[matched]) == (before, 9)
        assert events.received[matched] == 6 * INT
        (bcast,) = np.flatnonzero(names == "Bcast")
        communicator = trace.communicators[events.communicator[bcast]]
        assert communicator.members == tuple(range(rank.rank % 2, RANKS, 2))
        assert events.peer[bcast] == rank.rank % 2
        assert trace.communicators[communicator.parent or 0].members == communicator.members
        (put,) = np.flatnonzero(names == "Put")
        assert (events.peer[put], events.sent[put]) == ((rank.rank + 1) % RANKS, INT)
        # Each request that was begun and not freed was completed once.
        requests = events.request[events.request >= 0]
        assert sorted(events.completed_request) == sorted(requests)
