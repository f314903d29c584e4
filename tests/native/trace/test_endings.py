"""The profile of programs that end in different ways; their messages are known."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from mpi_counts import built_against_mpi, counting_library, read_profile
from native_build import TOOLS
from patient_ranks import library

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("patient_ranks")]

RANKS, INT = 2, 4


def _program() -> Path:
    return built_against_mpi("ways_to_end.cpp", "-pthread")


def _run(
    folder: Path | str, way: str, *variables: str, status: int | None = 0
) -> subprocess.CompletedProcess[str]:
    preload = f"LD_PRELOAD={counting_library()} {library()}"
    environment = [f"ASSAY_PROFILE_DIR={folder}", preload, *variables]
    command = [TOOLS / "mpirun", "-n", str(RANKS), "env", *environment, _program(), way]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert status is None or done.returncode == status, done.stderr
    return done


def _calls(records: list[dict[str, Any]], function: str) -> tuple[int, int, int]:
    """Calls, bytes and failed tests of a function."""
    found = [r for r in records if r["type"] == "call" and r["function"] == function]
    keys = ("calls", "bytes", "failed")
    calls, payload, failed = (sum(one.get(key, 0) for one in found) for key in keys)
    return calls, payload, failed


@pytest.mark.parametrize(
    ("way", "ended"),
    [("", "finalize"), ("fork", "finalize"), ("exit", "exit"), ("abort", "abort"),
     ("terminate", "signal")],
)  # fmt: skip
def test_the_profile_is_written_however_the_program_ends(
    tmp_path: Path, way: str, ended: str
) -> None:
    """At least by the rank that ended by itself: MPI may kill the others."""
    _run(tmp_path, way, status=0 if ended == "finalize" else None)
    # A rank that MPI kills while it writes leaves what it has written under another name.
    written = sorted(tmp_path.glob("*.jsonl"))
    names = [f"rank-{rank}.jsonl" for rank in range(RANKS)]
    assert {path.name for path in written} <= set(names)
    assert written and (ended != "finalize" or len(written) == RANKS)
    endings = set()
    for path in written:
        records = read_profile(path)
        endings.add(records[0]["ended"])
        assert _calls(records, "Send")[:2] == (2, 2 * 3 * INT)
        (peer,) = [one for one in records if one["type"] == "peer"]
        assert peer["peer"] == 1 - records[0]["rank"]
        assert (peer["messages"], peer["bytes"]) == (2, 2 * 3 * INT)
    assert ended in endings


def test_failed_tests_are_one_entry_and_an_open_request_is_told(tmp_path: Path) -> None:
    _run(tmp_path, "tests")
    for rank in range(RANKS):
        records = read_profile(tmp_path / f"rank-{rank}.jsonl")
        assert _calls(records, "Test") == (1000, 0, 1000)
        assert len([one for one in records if one.get("function") == "Test"]) == 1
        assert records[0]["unfinished"] == 1


def test_all_threads_are_counted(tmp_path: Path) -> None:
    _run(tmp_path, "threads")
    for rank in range(RANKS):
        records = read_profile(tmp_path / f"rank-{rank}.jsonl")
        assert records[0]["threads"] == "multiple"
        assert records[0]["unfinished"] == 0
        assert [_calls(records, name)[0] for name in ("Send", "Irecv", "Wait")] == [402] * 3


def test_size_classes_are_powers_of_two(tmp_path: Path) -> None:
    _run(tmp_path, "sizes")
    records = read_profile(tmp_path / "rank-0.jsonl")
    found = {r["size_class"]: r["bytes"] for r in records if r.get("function") == "Bcast"}
    assert found == {k + 1: 2**k for k in range(21)}


def test_calls_without_room_are_told(tmp_path: Path) -> None:
    """With room for four keys: those of Init_thread, Irecv, Send and Wait."""
    _run(tmp_path, "sizes", "ASSAY_PROFILE_ENTRIES=4")
    records = read_profile(tmp_path / "rank-0.jsonl")
    (overflow,) = [one for one in records if one["type"] == "overflow"]
    assert overflow["calls"] == 21
    assert overflow["bytes"] == 2**21 - 1
    assert records[-1]["entries"] == 4


def test_a_missing_folder_is_one_line(tmp_path: Path) -> None:
    done = _run(tmp_path / "missing", "")
    lines = [line for line in done.stderr.splitlines() if line.startswith("assay: ")]
    assert len(lines) == RANKS
    assert all("rank-" in line and "No such file or directory" in line for line in lines)


def test_a_full_disk_is_one_line(tmp_path: Path) -> None:
    """A file system in memory that has room for names only."""
    full = f"mount -t tmpfs -o size=4k none {tmp_path} && head -c 4096 /dev/zero > {tmp_path}/full"
    made = subprocess.run(["unshare", "-rm", "sh", "-c", full], capture_output=True, check=False)
    if made.returncode:
        pytest.skip(f"no file system can be mounted here: {made.stderr.decode().strip()}")
    words = [f"ASSAY_PROFILE_DIR={tmp_path}", f"LD_PRELOAD={counting_library()}", _program(), ""]
    command = [TOOLS / "mpirun", "-n", str(RANKS), "env", *words]
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", f'{full} && "$@" && ls {tmp_path}', "sh", *command],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    lines = [line for line in done.stderr.splitlines() if line.startswith("assay: ")]
    assert len(lines) == RANKS
    assert all("No space left on device" in line for line in lines)
    assert done.stdout.split() == ["full"]


def test_a_program_without_mpi_is_left_alone(tmp_path: Path) -> None:
    environment = [f"ASSAY_PROFILE_DIR={tmp_path}", f"LD_PRELOAD={counting_library()}"]
    command = ["env", *environment, "echo", "unharmed"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert (done.stdout, done.stderr) == ("unharmed\n", "")
    assert list(tmp_path.iterdir()) == []
