"""The trace of programs that end in different ways, with a full disk, and with wrong clocks."""

from __future__ import annotations

import subprocess
from pathlib import Path

import msgspec
import numpy as np
import pytest

from assay.subjects.profile.findings import find
from assay.subjects.profile.traced.findings import find_trace
from assay.trace.events import Trace
from assay.trace.matching import match
from assay.trace.reading import RUN_FILE, read_profile
from assay.trace.reading_trace import read_matched, read_trace, trace_summary
from mpi_counts import PROFILE, built_against_mpi, counting_library
from native_build import TOOLS
from patient_ranks import library
from profiles import RUN, profiled_program

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("polite_waiting")]
RANKS = 2


def _program() -> Path:
    return built_against_mpi("ways_to_end.cpp", "-pthread")


def _variables(folder: Path, *more: str) -> list[str]:
    (folder / RUN_FILE).write_bytes(msgspec.json.encode(RUN))
    preload = f"LD_PRELOAD={counting_library()} {library()}"
    mine = [f"ASSAY_PROFILE_DIR={folder}", preload, "ASSAY_PROFILE_TRACE=1"]
    return ["env", *mine, *more]


def _run(folder: Path, way: str, *, status: int | None = 0) -> subprocess.CompletedProcess[str]:
    command = [TOOLS / "mpirun", "-n", str(RANKS), *_variables(folder), _program(), way]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert status is None or done.returncode == status, done.stderr
    return done


def _calls(trace: Trace, rank: int, function: str) -> int:
    events = trace.ranks[rank].events
    index = trace.functions.index(function) if function in trace.functions else -1
    return int(events.count[events.function == index].sum())


@pytest.mark.parametrize("way", ["", "fork", "exit", "abort", "terminate"])
def test_the_trace_is_complete_however_the_program_ends(tmp_path: Path, way: str) -> None:
    """Of the ranks that ended by themselves: MPI may kill the others."""
    _run(tmp_path, way, status=0 if way in ("", "fork") else None)
    trace = read_trace(tmp_path)
    complete = [rank.rank for rank in trace.ranks if rank.complete]
    assert complete and (way not in ("", "fork") or complete == [0, 1])
    for rank in complete:
        assert _calls(trace, rank, "Send") == 2
        assert _calls(trace, rank, "Wait") == 2


def test_a_killed_program_leaves_what_was_flushed(tmp_path: Path) -> None:
    """No rank writes a profile; the traces have all calls until 0.25 s before the last call."""
    _run(tmp_path, "kill", status=None)
    assert not list(tmp_path.glob("rank-*.jsonl"))
    trace = read_trace(tmp_path)
    assert [rank.complete for rank in trace.ranks] == [False] * RANKS
    for rank in range(RANKS):
        assert _calls(trace, rank, "Send") >= 1002
    assert "incomplete on ranks 0, 1" in trace_summary(tmp_path)
    # Torn in the middle of a block, as by a machine that fails: what is before it can be read.
    path = tmp_path / "rank-0.trace"
    path.write_bytes(path.read_bytes()[:-1])
    assert 0 <= _calls(read_trace(tmp_path), 0, "Send") < 1004


def test_only_regions_that_are_switched_on_are_recorded(tmp_path: Path) -> None:
    """Three of at least 20 ms, with at least 100 ms behind each, which no time contains."""
    variables = _variables(tmp_path, "ASSAY_PROFILE_START=off")
    command = [TOOLS / "mpirun", "-n", str(RANKS), *variables, _program(), "regions"]
    subprocess.run(command, timeout=120, check=True)
    trace = read_trace(tmp_path)
    profile = read_profile(tmp_path)
    for rank, one in zip(trace.ranks, profile.ranks, strict=True):
        assert _calls(trace, rank.rank, "Send") == 3
        assert set(np.unique(rank.events.function)) == {
            trace.functions.index(name) for name in ("Irecv", "Send", "Wait")
        }
        assert one.header.runs == 3
        assert 0.06 <= one.header.covered <= one.header.wall - 0.3
        # The trace has what any rank recorded.
        assert one.header.covered <= rank.wall + 1e-5
    assert 0.06 <= trace.end - trace.begin <= profile.ranks[0].header.wall - trace.cut + 1e-3
    found = find(profile)
    assert found.regions is not None and found.regions.regions == 3 and found.regions.share < 0.9
    assert found.unknown == []
    assert len(match(trace).messages) == 3 * RANKS


@pytest.mark.long
def test_of_too_many_calls_the_first_are_read(tmp_path: Path) -> None:
    """Of all ranks up to the same moment; the rest is named once, not call by call."""
    command = [TOOLS / "mpirun", "-n", "2", *_variables(tmp_path), profiled_program(), "1500"]
    subprocess.run(command, timeout=120, check=True, capture_output=True)
    whole, part = read_matched(tmp_path), read_matched(tmp_path, most=4000)
    assert whole.trace.left_out == 0
    assert 0.3 * len(whole.trace) < len(part.trace) < 0.9 * len(whole.trace)
    # Each rank of the whole has a call of MPI_Finalize, too, which no rank records.
    assert part.trace.left_out == len(whole.trace) - RANKS - len(part.trace)
    for few, all_ in zip(part.trace.ranks, whole.trace.ranks, strict=True):
        number = len(few.events)
        assert np.allclose(few.events.begin, all_.events.begin[:number], atol=1e-4)
        assert few.end <= part.trace.end
    found = find_trace(part)
    assert [text for text in found.unknown if "calls are analysed" in text] == found.unknown
    assert found.iterations is not None and found.iterations.times > 250


def test_failed_tests_are_one_event(tmp_path: Path) -> None:
    _run(tmp_path, "tests")
    trace = read_trace(tmp_path)
    for rank in range(RANKS):
        assert _calls(trace, rank, "Test") == 1000
        events = trace.ranks[rank].events
        tests = events.function == trace.functions.index("Test")
        assert np.count_nonzero(tests) < 100


def test_a_full_disk_stops_the_trace_and_not_the_program(tmp_path: Path) -> None:
    """A file system in memory that has room for names only."""
    words = [*_variables(tmp_path), _program(), "threads"]
    full = f"mount -t tmpfs -o size=4k none {tmp_path} && head -c 4096 /dev/zero > {tmp_path}/full"
    made = subprocess.run(["unshare", "-rm", "sh", "-c", full], capture_output=True, check=False)
    if made.returncode:
        pytest.skip(f"no file system can be mounted here: {made.stderr.decode().strip()}")
    command = [TOOLS / "mpirun", "-n", str(RANKS), *words]
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", f'{full} && "$@"', "sh", *command],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    lines = [line for line in done.stderr.splitlines() if line.startswith("assay: ")]
    assert all("No space left on device" in line for line in lines)
    assert sum("trace" in line for line in lines) == RANKS


def test_a_limit_of_the_size_of_files_stops_the_trace_and_not_the_program(tmp_path: Path) -> None:
    """Writing beyond it would send SIGXFSZ, which ends the program."""
    done = _run(tmp_path, "limit")
    lines = [line for line in done.stderr.splitlines() if line.startswith("assay: ")]
    assert all("File too large" in line for line in lines)
    assert sum("trace stops" in line for line in lines) == RANKS
    assert sum("profile" in line for line in lines) == RANKS
    trace = read_trace(tmp_path)
    assert [rank.complete for rank in trace.ranks] == [False] * RANKS


@pytest.mark.parametrize(("trace", "most"), [("0", 8192), ("1", 16384)])
def test_memory_is_constant(tmp_path: Path, trace: str, most: int) -> None:
    """kB per rank; 160,000 calls with 2000 tags, which a trace can't predict."""
    variables = _variables(tmp_path, f"ASSAY_PROFILE_TRACE={trace}")
    done = subprocess.run(
        [TOOLS / "mpirun", "-n", "1", *variables, _program(), "memory"],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    used = [int(line.split()[1]) for line in done.stdout.splitlines() if "memory" in line]
    assert len(used) == 20
    assert 100 < used[-1] < most
    assert used[-1] - used[1] < 64


@pytest.mark.parametrize(
    ("offset", "drift"), [(3_000_000_000, 0), (-5_000_000, 40_000), (250_000, -100_000)]
)
@pytest.mark.long
def test_wrong_clocks_are_corrected(tmp_path: Path, offset: int, drift: int) -> None:
    """Rank 1's clock is wrong by an offset (ns) and a drift (ns per s)."""
    start = [TOOLS / "mpirun"]
    for rank in range(2):
        if rank:
            start += [":"]
        error = [f"ASSAY_TRACE_CLOCK={offset} {drift}"] if rank else []
        compare = "ASSAY_TRACE_COMPARE=always"
        start += ["-n", "1", *_variables(tmp_path, compare, *error), profiled_program(), "400"]
    subprocess.run(start, capture_output=True, text=True, timeout=120, check=True)
    raw = read_trace(tmp_path, corrected=False)
    assert raw.clock_error < 5e-3
    # Without a correction, times of the ranks would differ by the offset.
    begins = [rank.begin for rank in raw.ranks]
    assert abs(begins[1] - begins[0]) < 0.05 + raw.clock_error
    # All ranks leave an Allreduce after all have entered it, up to the error.
    index = raw.functions.index("Allreduce")
    chosen = [rank.events.function == index for rank in raw.ranks]
    entered = np.max([r.events.begin[c] for r, c in zip(raw.ranks, chosen, strict=True)], axis=0)
    left = np.min([r.events.end[c] for r, c in zip(raw.ranks, chosen, strict=True)], axis=0)
    assert len(entered) == 400
    assert np.min(left - entered) > -2 * raw.clock_error
    trace = read_trace(tmp_path)
    matched = match(trace)
    messages = matched.messages
    late = matched.flat.begin[messages.send] - matched.flat.end[messages.received_in]
    assert len(messages) == 800
    assert np.max(late) <= 0


@pytest.mark.parametrize("first", [True, False])
def test_another_tool_on_the_profiling_interface(tmp_path: Path, first: bool) -> None:
    """Each sees the program's calls, whichever is preloaded first; its own aren't the program's,
    as far as it makes them within the program's.
    """
    tool = tmp_path / "tool.so"
    flags = ["-shared", "-fPIC", "-o", tool]
    subprocess.run([TOOLS / "mpicc", PROFILE / "other_tool.c", *flags], check=True, timeout=60)
    libraries = [str(counting_library()), str(tool)]
    preload = f"LD_PRELOAD={' '.join(libraries if first else reversed(libraries))}"
    command = [TOOLS / "mpirun", "-n", str(RANKS), *_variables(tmp_path, preload), _program(), ""]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert [line for line in done.stdout.splitlines() if line] == ["tool 2"] * RANKS
    trace = read_trace(tmp_path)
    for rank in range(RANKS):
        assert _calls(trace, rank, "Send") == 2
        assert _calls(trace, rank, "Wait") == 2
        assert _calls(trace, rank, "Barrier") == (0 if first else 1)


@pytest.mark.flaky(
    reruns=2,
    reason="on a busy machine MPICH fails in some of a thousand runs to make a communicator of "
    "a session, without the library too: UCX reads a bandwidth of 0 from an address",
)
def test_mpi_started_twice_by_sessions(tmp_path: Path) -> None:
    program = tmp_path / "sessions"
    subprocess.run([TOOLS / "mpicc", PROFILE / "sessions.c", "-o", program], check=True, timeout=60)
    command = [TOOLS / "mpirun", "-n", str(RANKS), *_variables(tmp_path), program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines() == [f"sum {RANKS}"] * 2 * RANKS
    assert "assay: " not in done.stderr
    trace = read_trace(tmp_path)
    assert len(trace.ranks) == RANKS
    for rank in range(RANKS):
        assert _calls(trace, rank, "Allreduce") >= 5
