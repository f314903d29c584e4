"""storage.*: work formulas and refusals, real files, planted damage, and leftovers of kills."""

from __future__ import annotations

import os
import resource
import signal
import socket
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest

from assay.errors import AssayError
from assay.kernels import find_kernel
from assay.kernels.storage.files import METHODS, OPERATIONS, READS
from assay.model.placement import Placement
from assay.model.plan import PlanContext
from assay.plans.expand import Measure, expand
from assay.plans.levels import read_levels
from assay.plans.plan_target import Fitting
from assay.records.schema import MeasurementOrder
from kernel_runs import measure, measure_faults, plain, sanitized
from storage_runs import begun

FILE, PARALLEL, METADATA = map(
    find_kernel, ("storage.file", "storage.parallel", "storage.metadata")
)
KIB, MIB = 1 << 10, 1 << 20
SMALL = {"record": 4 * KIB, "file_size": 256 * KIB}


def given(kernel, **changes):
    return {p.name: p.default for p in kernel.parameters} | changes


def assert_good(record) -> None:
    assert (record.status, record.error, record.verified) == ("ok", None, True), record
    for series in record.series:
        assert series.values and all(value >= 0 for value in series.values), series.metric


# Checks without running anything.


@pytest.mark.parametrize("op", OPERATIONS)
@pytest.mark.parametrize(("in_file", "records", "stride"), [(64, 0, 17), (3000, 10, 5), (1, 7, 2)])
def test_work_equals_the_count_over_the_records(op, in_file, records, stride) -> None:
    parameters = given(
        FILE, op=op, record=4096, file_size=4096 * in_file, records=records, stride=stride
    )
    if op == "stride_read":
        walked = len(range(0, in_file, stride))
    elif op.startswith("random"):
        walked = len(list(range(in_file))[: records or 1024])
    else:
        walked = in_file
    assert FILE.work(parameters, 3, 1) == {"bytes": 3 * 4096 * walked, "operations": 3 * walked}


def test_work_of_many_ranks() -> None:
    assert PARALLEL.work(given(PARALLEL, bytes=10 * MIB, record=MIB), 4, 1) == {
        "bytes": 40 * MIB,
        "operations": 40,
    }
    assert METADATA.work(given(METADATA, files=30), 4, 1) == {"operations": 120}


def refusal(kernel, placement=None, **parameters):
    return kernel.check(given(kernel, **parameters), placement or Placement())


def test_possible_parameters_are_not_refused(tmp_path) -> None:
    for kernel in (FILE, PARALLEL, METADATA):
        assert refusal(kernel, directory=str(tmp_path)) is None
    assert refusal(FILE, method="direct", record=8192, directory=str(tmp_path)) is None


@pytest.mark.parametrize(
    ("kernel", "parameters", "words"),
    [
        (FILE, {"record": 3 * KIB, "file_size": 64 * KIB}, "does not divide file_size = 64 KiB"),
        (FILE, {"record": 1000}, "not a multiple of 512"),
        (FILE, {"record": 6 * KIB, "file_size": 12 * KIB, "method": "direct"}, "of 4096 B"),
        (FILE, {"op": "read", "method": "fsync"}, "for writing"),
        (FILE, {"directory": "/nowhere/at/all"}, "no directory '/nowhere/at/all'"),
        (FILE, {"file_size": 1 << 60}, "are free"),
        (PARALLEL, {"api": "mpiio", "method": "direct"}, "for api = posix"),
        (PARALLEL, {"api": "mpiio_collective"}, "not layout = own"),
        (PARALLEL, {"bytes": 3 * MIB, "record": 2 * MIB}, "does not divide bytes"),
        (PARALLEL, {"directory": "/dev/null"}, "no directory '/dev/null'"),
        (METADATA, {"directory": "/nowhere"}, "no directory '/nowhere'"),
    ],
)
def test_impossible_parameters_are_refused_with_the_reason(kernel, parameters, words) -> None:
    assert words in refusal(kernel, **parameters)


def test_a_plan_refuses_before_anything_is_launched(tmp_path) -> None:
    where = str(tmp_path / "missing")
    measures = [Measure("storage.file", {"directory": read_levels(where, "directory", "", [])})]
    with pytest.raises(AssayError, match="There is no directory"):
        expand(measures, Fitting(PlanContext(cores=2)))


def test_space_counts_per_rank_and_other_nodes_are_not_checked(tmp_path) -> None:
    status = os.statvfs(tmp_path)
    record = 4 * KIB
    half = int(status.f_bavail * status.f_frsize * 0.6) // record * record
    sizes = {"record": record, "file_size": half, "directory": str(tmp_path)}
    assert refusal(FILE, **sizes) is None
    assert "are free" in refusal(FILE, Placement(ppn=2), **sizes)
    assert refusal(FILE, Placement(nodes=2), **{**sizes, "directory": "/nowhere"}) is None


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_directory_that_is_read_only_is_refused(tmp_path) -> None:
    tmp_path.chmod(0o500)
    assert "can't be written" in refusal(FILE, directory=str(tmp_path))


# Real files.


@pytest.mark.slow
def test_every_operation_and_method_writes_only_its_own_files(tmp_path) -> None:
    """On two ranks; O_DIRECT where the file system takes it."""
    (tmp_path / "mine").write_text("stays")
    cases = [
        {"op": op, "method": method, "directory": str(tmp_path), **SMALL}
        for op in OPERATIONS
        for method in METHODS
        if not (op in READS and method in ("fsync", "dsync"))
    ]
    found = measure(plain(), *((FILE.name, case) for case in cases), ranks=2)
    for case, record in zip(cases, found, strict=True):
        if record.error and "does not support O_DIRECT" in record.error:
            continue
        assert_good(record)
        in_sample = FILE.work(given(FILE, **case), 1, 1)["operations"]
        assert record.parameters["records"] == in_sample
        assert record.parameters["directory"] == str(tmp_path.resolve())
        names = [series.metric for series in record.series]
        random = case["op"].startswith("random")
        assert names == ["time", *(["latency", "latency_p99"] if random else [])]
        assert len({len(series.values) for series in record.series}) == 1
        assert 0 <= record.facts.get("from_cache", 0) <= 1
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.slow
def test_the_kernel_reports_data_from_the_cache(tmp_path) -> None:
    """Data just written and read again come from memory, dropped data from the device."""
    ops = [("reread", "buffered"), ("read", "buffered"), ("write", "buffered"), ("write", "fsync")]
    cases = [{"op": o, "method": m, "directory": str(tmp_path), **SMALL} for o, m in ops]
    shares = [r.facts for r in measure(plain(), *((FILE.name, case) for case in cases))]
    if shares[0]["filesystem"] not in ("ext4", "xfs", "btrfs") or "from_cache" not in shares[0]:
        pytest.skip("a file system without a device, or a system that does not tell")
    assert shares[0]["from_cache"] == 1
    assert shares[1]["from_cache"] < 0.1
    assert shares[2].get("from_cache", 1) > 0.9
    assert shares[3]["from_cache"] == 0


@pytest.mark.slow
def test_data_fetched_by_another_rank_count_as_from_the_device(tmp_path) -> None:
    """Read-ahead in a shared file fetches the other ranks' records too."""
    case = {"op": "read", "layout": "strided", "record": 4 * KIB, "bytes": MIB}
    (record,) = measure(plain(), (PARALLEL.name, {**case, "directory": str(tmp_path)}), ranks=2)
    assert_good(record)
    if record.facts["filesystem"] not in ("ext4", "xfs", "btrfs"):
        pytest.skip("a file system without a device")
    assert record.facts.get("from_cache", 0) < 0.05


@pytest.mark.slow
def test_odd_sizes_and_single_records(tmp_path) -> None:
    cases = [
        {"op": op, "record": record, "file_size": record * count, "directory": str(tmp_path)}
        for op in OPERATIONS
        for record, count in ((512, 35), (512 * 11, 3), (64 * KIB, 1))
    ]
    for record in measure(plain(), *((FILE.name, case) for case in cases)):
        assert_good(record)


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [1, 2])
def test_all_ranks_concurrently_in_every_way(tmp_path, ranks) -> None:
    cases = [
        {"op": op, "layout": layout, "api": api, "bytes": 64 * KIB, "record": 8 * KIB}
        for op in ("write", "read")
        for layout in ("own", "shared", "strided")
        for api in ("posix", "mpiio", "mpiio_collective")
        if (layout, api) != ("own", "mpiio_collective")
    ]
    orders = [(PARALLEL.name, {**case, "directory": str(tmp_path)}) for case in cases]
    for record in measure(plain(), *orders, ranks=ranks):
        assert_good(record)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_files_are_created_and_removed(tmp_path) -> None:
    cases = [
        {"op": op, "layout": layout, "files": 50, "directory": str(tmp_path)}
        for op in ("create", "stat", "unlink")
        for layout in ("own", "shared")
    ]
    for record in measure(plain(), *((METADATA.name, case) for case in cases), ranks=2):
        assert_good(record)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.sanitizable
def test_damage_is_found(tmp_path) -> None:
    """A flipped bit, a record that was never written, a read of the wrong place; lost files."""
    files = [("read", "none"), *((op, "byte") for op in OPERATIONS)]
    files += [("write", "skip"), ("rewrite", "skip"), ("random_write", "skip")]
    files += [(op, "elsewhere") for op in ("read", "reread", "random_read")]
    orders = [
        (FILE.name, {**SMALL, "op": op, "fault": f, "directory": str(tmp_path)}) for op, f in files
    ]
    ways = [("posix", "own"), ("mpiio", "shared"), ("mpiio_collective", "strided")]
    shared = [(w, op, "byte") for w in ways for op in ("write", "read")]
    shared += [(w, "read", "elsewhere") for w in ways] + [(w, "write", "skip") for w in ways[:2]]
    sizes = {"bytes": 64 * KIB, "record": 8 * KIB, "directory": str(tmp_path)}
    for (api, layout), op, fault in shared:
        way = {"api": api, "layout": layout, "op": op, "fault": fault}
        orders.append((PARALLEL.name, {**sizes, **way}))
    looks = [("create", "lost"), ("stat", "lost"), ("stat", "twin"), ("unlink", "kept")]
    orders += [
        (METADATA.name, {"files": 9, "op": op, "fault": f, "directory": str(tmp_path)})
        for op, f in looks
    ]
    measure_faults(*orders, ranks=2)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_wrong_parameters_and_directories_are_reported(tmp_path) -> None:
    cases = [
        (FILE, {"record": 1000}, "multiple of 512"),
        (FILE, {"record": 512, "method": "direct"}, "multiple of 4096"),
        (FILE, {"record": 4096, "file_size": 5000}, "multiple of the record"),
        (FILE, {"op": "read", "method": "dsync"}, "is for writing"),
        (FILE, {"directory": str(tmp_path / "none")}, "there is no directory"),
        (FILE, {"directory": "/sys"}, "can't write in the directory '/sys'"),
        (FILE, {"file_size": 1 << 50}, "with 5% to spare"),
        (PARALLEL, {"api": "mpiio_collective"}, "not layout=own"),
        (PARALLEL, {"api": "mpiio", "method": "direct"}, "for api=posix"),
        (METADATA, {"files": 0}, "between 1 and"),
    ]
    orders = [(k.name, {"directory": str(tmp_path), **changes}) for k, changes, _ in cases]
    for (_, _, words), record in zip(cases, measure(plain(), *orders, ranks=2), strict=True):
        assert record.status == "failed" and words in record.error, record
    assert list(tmp_path.iterdir()) == []


@contextmanager
def largest_file(size: int):
    """Processes launched meanwhile can't write longer files: simulates a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.slow
def test_a_full_disk_is_an_error_and_leaves_nothing(tmp_path) -> None:
    here = {"directory": str(tmp_path)}
    orders = [
        (FILE.name, {"op": "write", "file_size": 12 * MIB, **here}),
        (FILE.name, {"op": "read", "file_size": 12 * MIB, **here}),
        (PARALLEL.name, {"bytes": 6 * MIB, "layout": "shared", "api": "mpiio_collective", **here}),
        (FILE.name, {"op": "write", "file_size": MIB, **here}),
    ]
    with largest_file(8 * MIB):  # MPI's own segments are files of some megabytes
        *failed, after = measure(plain(), *orders, ranks=2)
    for record in failed:
        assert record.status == "failed", record
    assert "File too large; raise the limit" in failed[0].error
    assert_good(after)  # the launch continues
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_disk_that_is_full(tmp_path) -> None:
    """A file system that reports more space than it has: a tmpfs shared with another writer."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount")
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "none", tmp_path],
        check=False,
        capture_output=True,
    )
    if done.returncode:
        pytest.skip("mounting is not allowed here")
    try:
        here = {"directory": str(tmp_path), "record": 64 * KIB}
        orders = [
            (FILE.name, {"file_size": 3 * MIB, **here}),
            (FILE.name, {"file_size": 4 * MIB, **here}),
        ]
        fits, short = measure(plain(), *orders)
        assert_good(fits)
        assert fits.facts["filesystem"] == "tmpfs"
        assert short.status == "failed" and "too little space" in short.error
        assert list(tmp_path.iterdir()) == []
        subprocess.run(["mount", "-o", "remount,ro", tmp_path], check=True)
        assert "can't be written" in refusal(FILE, directory=str(tmp_path))
        (read_only,) = measure(plain(), orders[0])
        assert "Read-only file system" in read_only.error
    finally:
        subprocess.run(["umount", tmp_path], check=True)


# Leftovers, and files that must not change.


def long_measurement(directory: Path, scratch: Path) -> subprocess.Popen[bytes]:
    """mpirun with a measurement of a minute that has begun."""
    parameters = {"op": "rewrite", "directory": str(directory), **SMALL}
    order = MeasurementOrder("m", FILE.name, parameters, 1e-9, 0.95, 60.0, 5, 1_000_000)
    return begun(order, directory, scratch)


def maker_of(directory: Path) -> int:
    return int(directory.name.split("_")[-3])


@pytest.mark.slow
def test_leftovers_of_a_kill_are_removed_at_the_next_use(tmp_path) -> None:
    place, scratch = tmp_path / "place", tmp_path / "scratch"
    place.mkdir()
    scratch.mkdir()
    process = long_measurement(place, scratch)
    (left,) = place.iterdir()
    orders = [(METADATA.name, {"files": 3, "directory": str(place)})]
    (beside,) = measure(plain(), *orders)
    assert_good(beside)
    assert "leftovers_removed" not in beside.facts  # its creator is running
    assert [path.name for path in left.glob("data.*")], "a running measurement's files were removed"
    os.kill(maker_of(left), signal.SIGKILL)
    process.wait(60)
    assert left.is_dir()
    (after,) = measure(plain(), *orders)
    assert_good(after)
    assert after.facts["leftovers_removed"] == 1
    assert list(place.iterdir()) == []


@pytest.mark.slow
def test_a_regular_end_leaves_nothing(tmp_path) -> None:
    place, scratch = tmp_path / "place", tmp_path / "scratch"
    place.mkdir()
    scratch.mkdir()
    process = long_measurement(place, scratch)
    (left,) = place.iterdir()
    os.kill(maker_of(left), signal.SIGTERM)
    process.wait(60)
    assert list(place.iterdir()) == []


@pytest.mark.slow
def test_links_are_never_followed_and_foreign_files_stay(tmp_path) -> None:
    """Links with names of ended processes, which a removal that follows links would enter."""
    place, treasure = tmp_path / "place", tmp_path / "treasure"
    for folder in (place, treasure, treasure / "inner"):
        folder.mkdir()
    (treasure / "gold").write_text("mine")
    (treasure / "inner" / "gold").write_text("mine")
    host, dead = socket.gethostname(), 2**22 + 1  # above any pid
    name = f"assay-storage_{host}_{dead}_1_"
    (place / f"{name}a").symlink_to(treasure)  # the directory itself
    trap = place / f"{name}b"
    trap.mkdir()
    (trap / "data.0").symlink_to(treasure / "gold")  # a file in it
    (trap / "rank.0").symlink_to(treasure / "inner")  # a directory in it
    elsewhere = place / f"assay-storage_other-host_{dead}_1_c"
    elsewhere.mkdir()  # without a lock: of another host, whose processes are unknown
    used = place / f"{name}d"
    used.mkdir()
    (used / "gold").write_text("mine")  # a foreign file in it
    odd = place / "assay-storage_notes"
    odd.mkdir()
    (odd / "gold").write_text("mine")
    (record,) = measure(plain(), (METADATA.name, {"files": 3, "directory": str(place)}))
    assert_good(record)
    assert record.facts["leftovers_removed"] == 1
    assert sorted(place.iterdir()) == sorted([place / f"{name}a", elsewhere, used, odd])
    assert [p.read_text() for p in treasure.rglob("gold")] == ["mine", "mine"]
    assert (odd / "gold").read_text() == (used / "gold").read_text() == "mine"


@pytest.mark.sanitized
@pytest.mark.slow
@pytest.mark.sanitizable
def test_runs_clean_under_the_sanitizers(tmp_path) -> None:
    here = {"directory": str(tmp_path)}
    orders = [
        *((FILE.name, {"op": op, "record": 512, "file_size": 5120, **here}) for op in OPERATIONS),
        *((FILE.name, {"op": op, "method": "fsync", **SMALL, **here}) for op in ("write",)),
        (PARALLEL.name, {"bytes": 5120, "record": 512, "layout": "strided", **here}),
        (PARALLEL.name, {"bytes": 5120, "record": 512, "api": "mpiio", "op": "read", **here}),
        *((METADATA.name, {"op": op, "files": 5, **here}) for op in ("create", "stat", "unlink")),
    ]
    for record in measure(sanitized(), *orders, ranks=2):
        assert_good(record)
