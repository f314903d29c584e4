"""storage.io500: phases on real files, stonewall with wear-out, planted damage, interruptions."""

from __future__ import annotations

import itertools
import math
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from assay.kernels import find_kernel
from assay.kernels.storage.io500 import DATA_PHASES, FILE_PHASES, HARD_RECORD, TIMED_PHASES
from assay.model.placement import Placement
from assay.records.schema import MeasurementOrder
from kernel_runs import faulty, measure, measure_faults, plain, sanitized
from native_build import NATIVE, TOOLS
from storage_runs import begun

NAME = "storage.io500"
KERNEL = find_kernel(NAME)
KIB, MIB = 1 << 10, 1 << 20
# A time that no test waits for: the files end first.
SHORT = {"seconds": 20.0, "files": 12, "transfer": 8 * KIB, "space": 4 * MIB}
SCORES = ("bandwidth_score", "metadata_score", "score")


def given(**changes):
    return {p.name: p.default for p in KERNEL.parameters} | changes


def assert_good(record) -> None:
    assert (record.status, record.error, record.verified) == ("ok", None, True), record


def geometric_mean(values: list[float]) -> float:
    return math.prod(values) ** (1 / len(values))


# Checks without running anything.


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"seconds": 0.0}, "must be above 0"),
        ({"seconds": 1e6}, "at most 86400"),
        ({"record": 47_001}, "not a multiple of 8 B"),
        ({"transfer": 1_000_004}, "not a multiple of 8 B"),
        ({"directory": "/nowhere/at/all"}, "no directory '/nowhere/at/all'"),
    ],
)
def test_impossible_parameters_are_refused_with_the_reason(parameters, words, tmp_path) -> None:
    assert words in KERNEL.check(given(directory=str(tmp_path)) | parameters, Placement())
    assert KERNEL.check(given(directory=str(tmp_path)), Placement()) is None


# Real files.


@pytest.mark.slow
@pytest.mark.parametrize("api", ["posix", "mpiio"])
def test_all_phases_are_timed_scored_and_leave_nothing(tmp_path, api) -> None:
    (tmp_path / "mine").write_text("stays")
    parameters = {**SHORT, "api": api, "directory": str(tmp_path)}
    (record,) = measure(plain(), (NAME, parameters), ranks=2)
    assert_good(record)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
    series = {each.metric: each.values for each in record.series}
    phases = [*DATA_PHASES, *FILE_PHASES]
    assert set(series) == {"time", *phases, *SCORES}
    assert len({len(values) for values in series.values()}) == 1
    assert all(value > 0 for values in series.values() for value in values)
    for at in range(len(series["time"])):
        data = geometric_mean([series[name][at] for name in DATA_PHASES])
        files = geometric_mean([series[name][at] for name in FILE_PHASES])
        assert series["bandwidth_score"][at] == pytest.approx(data)
        assert series["metadata_score"][at] == pytest.approx(files)
        assert series["score"][at] == pytest.approx(math.sqrt(data * files))
    # Costs are times of a GiB, or of a thousand files.
    facts = record.facts
    assert facts["easy_files"] == facts["hard_files"] == 24
    for name, work in (
        ("ior_easy_write", facts["easy_bytes"] / 2**30),
        ("ior_hard_read", facts["hard_bytes"] / 2**30),
        ("mdtest_hard_stat", 24 / 1000),
        ("find", (24 + 24 + 2 + 1 + 1) / 1000),  # large files, and the one with the time
    ):
        assert series[name][-1] == pytest.approx(facts[f"time.{name}"] / work)
    # A share of the space for each kind: 40% of 2 MiB for a rank's records.
    steps = int(0.4 * 2 * MIB / (8 * KIB)), int(0.4 * 2 * MIB / HARD_RECORD)
    assert facts["easy_bytes"] == 2 * steps[0] * 8 * KIB
    assert facts["hard_bytes"] == 2 * steps[1] * HARD_RECORD
    assert facts["limited"] == ", ".join(TIMED_PHASES)
    assert facts["reads_from"] == "another rank"
    names = [f"file.{rank}.{index}" for rank in range(2) for index in range(12)]
    assert facts["found_files"] == sum("01" in name for name in names)


@pytest.mark.slow
def test_the_search_finds_the_names_that_a_list_of_all_has(tmp_path) -> None:
    parameters = {**SHORT, "files": 330, "space": 64 * MIB, "directory": str(tmp_path)}
    (record,) = measure(plain(), (NAME, parameters), ranks=3, samples=(1, 1))
    assert_good(record)
    names = [f"file.{rank}.{index}" for rank, index in itertools.product(range(3), range(330))]
    assert record.facts["found_files"] == sum("01" in name for name in names)


@pytest.mark.slow
def test_every_rank_writes_as_much_as_the_fastest_had_when_the_time_ended(tmp_path) -> None:
    """On planted clocks the last of three ranks passes the time after 10 steps, the first after
    30, so that the time ends exactly and the others wear out.
    """
    parameters = {"seconds": 100.0, "transfer": 8 * KIB, "directory": str(tmp_path)}
    order = (NAME, {**parameters, "fault": "clock"})
    (record,) = measure(faulty(), order, ranks=3, samples=(1, 1))
    assert_good(record)
    facts = record.facts
    assert facts["easy_bytes"] == 3 * 30 * 8 * KIB
    assert facts["hard_bytes"] == 3 * 30 * HARD_RECORD
    assert facts["easy_files"] == facts["hard_files"] == 3 * 30
    assert "limited" not in facts
    for phase in TIMED_PHASES:
        assert facts[f"slowest_share.{phase}"] == pytest.approx(1 / 3)


@pytest.mark.slow
@pytest.mark.sanitizable
def test_damage_is_found(tmp_path) -> None:
    """A flipped bit, a read of the wrong place; files lost or left over."""
    faults = ("byte", "elsewhere", "lost", "kept")
    orders = [(NAME, {**SHORT, "fault": fault, "directory": str(tmp_path)}) for fault in faults]
    measure_faults(*orders, ranks=2)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_rank_that_stops_with_the_time_is_found(tmp_path) -> None:
    order = (NAME, {"seconds": 100.0, "fault": "early", "directory": str(tmp_path)})
    (record,) = measure(faulty(), order, ranks=3, samples=(1, 1))
    assert record.status == "failed" and "the file ends at offset" in record.error, record
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_wrong_parameters_and_directories_are_reported(tmp_path) -> None:
    cases = [
        ({"seconds": -1.0}, "'seconds' must be above 0"),
        ({"record": 4_004}, "'record' must be a multiple of 8"),
        ({"space": 1000}, "'space' must be at least"),
        ({"transfer": 1 << 30, "record": 1 << 30, "directory": "/dev/shm"}, "too little space"),
        ({"directory": "/sys"}, "can't write in the directory '/sys'"),
        ({"directory": str(tmp_path / "none")}, "there is no directory"),
    ]
    orders = [(NAME, {**SHORT, "directory": str(tmp_path), **changes}) for changes, _ in cases]
    for (_, words), record in zip(cases, measure(plain(), *orders, ranks=2), strict=True):
        assert record.status == "failed" and words in record.error, record
    assert list(tmp_path.iterdir()) == []


@contextmanager
def small_filesystem(where: Path) -> Iterator[None]:
    """A file system that reports more space than a user may use: few files fit (inodes)."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount")
    mount = ["mount", "-t", "tmpfs", "-o", "size=64m,nr_inodes=64", "none", where]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        yield
    finally:
        subprocess.run(["umount", where], check=True)


@pytest.mark.slow
def test_space_that_ends_in_the_middle_is_one_sentence_and_leaves_nothing(tmp_path) -> None:
    with small_filesystem(tmp_path):
        parameters = {**SHORT, "files": 100, "space": 32 * MIB, "directory": str(tmp_path)}
        (record,) = measure(plain(), (NAME, parameters), ranks=2, samples=(1, 1))
        assert record.status == "failed"
        assert "No space left on device; free some space" in record.error
        assert "\n" not in record.error
        assert list(tmp_path.iterdir()) == []


_WITHOUT_MPI_IO = """
#include <cstdio>
#include "storage/mpi_file.hpp"
#include "harness/values.hpp"
int main() {
  try {
    assay::require_mpi_io();
  } catch (const assay::KernelError& error) {
    std::puts(error.what());
  }
}
"""


@pytest.mark.long
def test_an_mpi_without_mpi_io_is_one_sentence(tmp_path) -> None:
    """Compiled as for such a library: no call of MPI-IO is left, which couldn't be linked."""
    source, program = tmp_path / "main.cpp", tmp_path / "main"
    source.write_text(_WITHOUT_MPI_IO)
    command = [TOOLS / "mpicxx", "-std=c++20", "-DASSAY_WITHOUT_MPI_IO", f"-I{NATIVE}"]
    subprocess.run(
        [*command, source, NATIVE / "storage" / "mpi_file.cpp", "-o", program], check=True
    )
    said = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    assert said == "this MPI library was built without MPI-IO: use api=posix\n"
    symbols = subprocess.run(["nm", "-u", program], check=True, capture_output=True, text=True)
    assert "MPI_File" not in symbols.stdout


def running(directory: Path, scratch: Path) -> subprocess.Popen[bytes]:
    """mpirun with a measurement of hours whose first phase has begun."""
    parameters = {"seconds": 3600.0, "transfer": 512, "space": 1 << 40, "directory": str(directory)}
    order = MeasurementOrder("m", NAME, parameters, 0.01, 0.95, 60.0, 1, 1)
    return begun(order, directory, scratch)


@pytest.mark.slow
def test_a_phase_ends_early_after_sigterm_and_its_files_are_removed(tmp_path) -> None:
    place, scratch = tmp_path / "place", tmp_path / "scratch"
    place.mkdir()
    scratch.mkdir()
    process = running(place, scratch)
    for child in children(process.pid):
        os.kill(child, signal.SIGTERM)
    process.wait(60)
    assert list(place.iterdir()) == []
    assert '"status":"interrupted"' in (scratch / "stream").read_text()


@pytest.mark.slow
def test_the_next_measurement_removes_what_a_killed_one_left(tmp_path) -> None:
    place, scratch = tmp_path / "place", tmp_path / "scratch"
    place.mkdir()
    scratch.mkdir()
    process = running(place, scratch)
    for child in children(process.pid):
        os.kill(child, signal.SIGKILL)
    process.wait(60)
    assert len(list(place.iterdir())) == 1
    parameters = {**SHORT, "directory": str(place)}
    (after,) = measure(plain(), (NAME, parameters), samples=(1, 1))
    assert_good(after)
    assert after.facts["leftovers_removed"] == 1
    assert list(place.iterdir()) == []


def children(launcher: int) -> list[int]:
    """The ranks of a launch, at any depth below its launcher."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents.setdefault(int(fields[1]), []).append(int(entry.name))
    found, todo = [], [launcher]
    while todo:
        below = parents.get(todo.pop(), [])
        todo += below
        found += [
            pid for pid in below if Path(f"/proc/{pid}/exe").resolve().name == "assay-kernels"
        ]
    return found


@pytest.mark.sanitized
@pytest.mark.slow
@pytest.mark.sanitizable
@pytest.mark.parametrize("ranks", [1, 3])
def test_runs_clean_under_the_sanitizers(tmp_path, ranks) -> None:
    orders = [
        (NAME, {**SHORT, "api": api, "directory": str(tmp_path)}) for api in ("posix", "mpiio")
    ]
    for record in measure(sanitized(), *orders, ranks=ranks):
        assert_good(record)
