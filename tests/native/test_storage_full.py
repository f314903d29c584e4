"""storage.* where a quota or the disk ends in the middle: one sentence, and nothing is left."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import prepared_assay
from assay.records.schema import MeasurementOrder, MeasurementRecord
from full_storage import full
from kernel_runs import launch_environment, measure, plain
from storage_runs import begun
from waiting import wait_for

pytestmark = pytest.mark.slow

KIB, MIB = 1 << 10, 1 << 20
IO500 = {"seconds": 20.0, "files": 12, "transfer": 8 * KIB, "space": 4 * MIB}
FIX = "free some space, or use smaller files"
SAID = {errno.EDQUOT: "Disk quota exceeded", errno.ENOSPC: "No space left on device"}
# The phases that write, by the names of their files, and the bytes or files that fit.
PHASES = {
    "ior-easy-write": ("*/place/*/data.[01]", 100 * KIB),
    "ior-hard-write": ("*/place/*/data", 100 * KIB),
    "mdtest-easy-write": ("*/place/*/rank.[01]/file.*", 5),
    "mdtest-hard-write": ("*/place/*/shared/file.*", 5 * 3902),
}


def attempted(
    folder: Path, pattern: str, after: int, error: int, *orders: tuple[str, dict[str, object]]
) -> list[MeasurementRecord]:
    """The records of these kernels in ``folder``, where that much can be written, then another one
    beside it that is complete.
    """
    place, beside = folder / "place", folder / "beside"
    place.mkdir()
    beside.mkdir()
    (place / "mine").write_text("stays")
    words = [f"{name}={value}" for name, value in full(pattern, after, error).items()]
    here = [(kernel, {**given, "directory": str(place)}) for kernel, given in orders]
    other = {"record": 4 * KIB, "file_size": 64 * KIB, "directory": str(beside)}
    *failed, after_them = measure(
        plain(), *here, ("storage.file", other), ranks=2, samples=(1, 1), prefix=["env", *words]
    )
    assert (after_them.status, after_them.verified) == ("ok", True), after_them
    assert [path.name for path in place.iterdir()] == ["mine"]
    assert list(beside.iterdir()) == []
    return failed


def assert_one_sentence(record: MeasurementRecord, error: int) -> None:
    assert record.status == "failed" and not record.series, record
    assert record.error is not None and "\n" not in record.error
    assert SAID[error] in record.error and FIX in record.error, record.error


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize(
    "error", [errno.EDQUOT, pytest.param(errno.ENOSPC, marks=pytest.mark.long)]
)
def test_a_phase_of_io500_that_may_write_no_more(tmp_path: Path, phase: str, error: int) -> None:
    pattern, after = PHASES[phase]
    (record,) = attempted(tmp_path, pattern, after, error, ("storage.io500", IO500))
    assert_one_sentence(record, error)


@pytest.mark.parametrize(
    ("phase", "error"),
    [
        ("ior-easy-write", errno.EDQUOT),
        pytest.param("ior-hard-write", errno.EDQUOT, marks=pytest.mark.long),
        pytest.param("ior-easy-write", errno.ENOSPC, marks=pytest.mark.long),
        pytest.param("ior-hard-write", errno.ENOSPC, marks=pytest.mark.long),
    ],
)
def test_the_same_by_mpi_io(tmp_path: Path, phase: str, error: int) -> None:
    pattern, after = PHASES[phase]
    order = ("storage.io500", {**IO500, "api": "mpiio"})
    (record,) = attempted(tmp_path, pattern, after, error, order)
    assert_one_sentence(record, error)


def test_the_other_kernels_say_the_same(tmp_path: Path) -> None:
    many = {"record": 4 * KIB, "file_size": MIB}
    ways = [
        ("own", "posix"),
        ("shared", "posix"),
        ("shared", "mpiio"),
        ("shared", "mpiio_collective"),
    ]
    orders: list[tuple[str, dict[str, object]]] = [
        ("storage.file", {**many, "op": op}) for op in ("write", "read", "random_write")
    ]
    orders += [
        ("storage.parallel", {"bytes": MIB, "record": 64 * KIB, "layout": layout, "api": api})
        for layout, api in ways
    ]
    orders += [("storage.metadata", {"files": 50, "op": op}) for op in ("create", "stat")]
    # Creating files counts, too: none of these fits.
    for record in attempted(tmp_path, "*/place/*/*", 20, errno.EDQUOT, *orders):
        assert_one_sentence(record, errno.EDQUOT)


def test_a_user_keeps_what_was_measured_beside_it(tmp_path: Path) -> None:
    """``assay measure`` of two directories, of which one has a quota."""
    for name in ("free", "limited"):
        (tmp_path / name).mkdir()
    (tmp_path / "limited" / "mine").write_text("stays")
    limits = full("*/limited/*/data", 100 * KIB, errno.EDQUOT)
    words = [f"{name}={value}" for name, value in IO500.items()]
    command = [
        *(sys.executable, "-m", "assay", "measure", "storage.io500", *words, "seconds=1"),
        *("directory=free,limited", "--ppn", "2", "--launches", "1", "--budget", "60 s", "--json"),
    ]
    command.remove("seconds=20.0")
    done = prepared_assay.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=300,
        env={**launch_environment(), **limits},
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    cells = {cell["cell"]["parameters"]["directory"]: cell for cell in json.loads(done.stdout)}
    assert cells["free"]["verified"] is True and cells["free"]["metrics"]["score"]["median"] > 0
    error = cells["limited"]["error"]
    assert cells["limited"]["status"] == "failed" and "\n" not in error
    assert SAID[errno.EDQUOT] in error and FIX in error
    assert list((tmp_path / "free").iterdir()) == []
    assert [path.name for path in (tmp_path / "limited").iterdir()] == ["mine"]


# Real file systems.


@contextmanager
def mounted(where: Path, *words: str | Path) -> Iterator[None]:
    if os.geteuid() != 0:
        pytest.skip("only root can mount")
    done = subprocess.run(["mount", *words, where], check=False, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"mounting is not allowed here: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", where], check=True)


def test_a_disk_that_another_writer_fills_meanwhile(tmp_path: Path) -> None:
    """A memory file system that shrinks to what it holds, as soon as a file of each rank exists."""
    place, scratch = tmp_path / "place", tmp_path / "scratch"
    place.mkdir()
    scratch.mkdir()
    parameters = {"seconds": 3600.0, "transfer": 512, "space": 1 << 40, "directory": str(place)}
    order = MeasurementOrder("m", "storage.io500", parameters, 0.01, 0.95, 60.0, 1, 1)
    with mounted(place, "-t", "tmpfs", "-o", "size=8g", "none"):
        process = begun(order, place, scratch)

        def shrunk() -> bool:
            status = os.statvfs(place)
            used = (status.f_blocks - status.f_bfree) * status.f_frsize
            resize = ["mount", "-o", f"remount,size={used + MIB}", place]
            return subprocess.run(resize, check=False, capture_output=True).returncode == 0

        wait_for(shrunk)
        process.wait(120)
        assert list(place.iterdir()) == []
    text = (scratch / "stream").read_text()
    assert '"status":"failed"' in text and SAID[errno.ENOSPC] in text and FIX in text


@pytest.mark.long
@pytest.mark.parametrize("api", ["posix", "mpiio"])
def test_a_real_quota(tmp_path: Path, api: str) -> None:
    """Of a Btrfs in a file: its quotas hold for root, too."""
    missing = [name for name in ("mkfs.btrfs", "btrfs") if not shutil.which(name)]
    if missing:
        pytest.skip(f"no file system with quotas: there is no {missing[0]}")
    image, place = tmp_path / "image", tmp_path / "place"
    with image.open("wb") as file:
        file.truncate(512 * MIB)
    place.mkdir()
    subprocess.run(["mkfs.btrfs", "-q", image], check=True, capture_output=True)
    with mounted(place, "-o", "loop", image):
        for words in (["quota", "enable", place], ["qgroup", "limit", "16M", place]):
            subprocess.run(["btrfs", *words], check=True, capture_output=True)
        given = {"seconds": 20.0, "transfer": MIB, "api": api, "directory": str(place)}
        (record,) = measure(plain(), ("storage.io500", given), ranks=2, samples=(1, 1))
        assert_one_sentence(record, errno.EDQUOT)
        assert list(place.iterdir()) == []
