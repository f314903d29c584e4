"""The file of a node: what a check writes is what the next one reads, and damage costs little."""

from __future__ import annotations

import os
import random
import signal
import stat
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from assay.check.components import COMPONENTS
from assay.check.model import CheckRecord
from assay.check.state.file_names import file_name, host_of
from assay.check.state.header import (
    FILE_SIZE,
    HEADER_SIZE,
    MAGIC,
    MOST_COUNTERS,
    MOST_STATE,
    NodeHeader,
    pack_header,
    unpack_header,
)
from assay.check.state.node_file import NodeFile, open_node_file, read_node_file
from assay.errors import AssayError
from assay.locking import LOCKLESS

HOST = "n0001"
HEADER = NodeHeader(
    host=HOST,
    kind="amd-epyc-7763-128c-512g",
    since=1.7e9,
    healthy=7,
    unhealthy=1,
    undecided=2,
    state=bytes(range(250)) * 4,
    counters=bytes(range(128)),
)
LONGEST = CheckRecord(
    utc=1.7e9 + 0.125,
    outcome="unhealthy",
    seconds=7.75,
    baseline="0123456789ab",
    values={component.name: 2.0**37 for component in COMPONENTS},
    slow=[component.name for component in COMPONENTS],
    partner="n" * 64,
    reason="r" * 100,
)
HEALTHY = CheckRecord(
    utc=1.7e9,
    outcome="healthy",
    seconds=3.5,
    baseline="0123456789ab",
    values={component.name: 2.0**30 for component in COMPONENTS[:6]},
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "nodes").mkdir()
    return tmp_path


def path_in(folder: Path) -> Path:
    return folder / "nodes" / "n0001.check"


def write(folder: Path, record: CheckRecord, header: NodeHeader = HEADER) -> None:
    with open_node_file(folder, HOST) as file:
        assert file.write(header, record) == ""


def refused(folder: Path) -> str:
    with pytest.raises(AssayError) as caught:
        open_node_file(folder, HOST)
    assert caught.value.status == 3
    return caught.value.what


def test_the_next_check_reads_what_the_last_one_wrote(folder: Path) -> None:
    write(folder, LONGEST)
    write(folder, HEALTHY)
    with open_node_file(folder, HOST) as file:
        assert file.content.header == HEADER
        assert file.content.records == (LONGEST, HEALTHY)
        assert file.content.damaged == 0
    assert path_in(folder).stat().st_size == FILE_SIZE
    assert stat.S_IMODE(path_in(folder).stat().st_mode) & 0o022 == 0


def test_a_day_of_jobs_fits_and_the_oldest_records_leave(folder: Path) -> None:
    for index in range(60):
        write(folder, msgspec.structs.replace(HEALTHY, utc=float(index)))
    found = read_node_file(path_in(folder)).records
    assert len(found) >= 24
    assert [record.utc for record in found] == [float(i) for i in range(60 - len(found), 60)]
    for index in range(60):
        write(folder, msgspec.structs.replace(LONGEST, utc=float(index)))
    assert len(read_node_file(path_in(folder)).records) >= 8


def test_records_keep_the_order_of_checks_if_the_clock_jumps_back(folder: Path) -> None:
    for utc in (5e8, 9e8, 1e8):
        write(folder, msgspec.structs.replace(HEALTHY, utc=utc))
    assert [r.utc for r in read_node_file(path_in(folder)).records] == [5e8, 9e8, 1e8]


def test_no_flipped_byte_changes_what_is_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each record is read as it was written, or not at all; the same holds for the header."""
    monkeypatch.setattr("assay.check.state.node_file._MOMENT", 0)
    records = [msgspec.structs.replace(HEALTHY, utc=float(i)) for i in range(6)]
    records += [msgspec.structs.replace(LONGEST, utc=float(i)) for i in range(6, 10)]
    for record in records:
        write(folder, record)
    path = path_in(folder)
    whole = path.read_bytes()
    lost = 0
    with path.open("r+b", buffering=0) as raw:
        for place in range(FILE_SIZE):
            os.pwrite(raw.fileno(), bytes((whole[place] ^ (0xFF if place % 2 else 1),)), place)
            content = read_node_file(path)
            os.pwrite(raw.fileno(), whole[place : place + 1], place)
            assert content.header in (HEADER, None)
            assert set(map(repr, content.records)) <= set(map(repr, records))
            assert len(records) - len(content.records) <= 1
            lost += len(content.records) < len(records)
            if content.header is None or len(content.records) < len(records):
                assert content.damaged > 0
    assert lost > 500


def test_random_damage_never_fails(folder: Path) -> None:
    write(folder, LONGEST)
    path = path_in(folder)
    whole = path.read_bytes()
    drawn = random.Random(7)
    for _ in range(300):
        damaged = bytearray(whole)
        for _ in range(drawn.choice((1, 20, 2000))):
            damaged[drawn.randrange(FILE_SIZE)] = drawn.randrange(256)
        path.write_bytes(damaged[: drawn.randrange(FILE_SIZE + 1)])
        with open_node_file(folder, HOST) as file:
            assert file.content.header in (HEADER, None)
            assert all(record == LONGEST for record in file.content.records)


def test_a_damaged_file_is_whole_again_after_the_next_check(folder: Path) -> None:
    write(folder, HEALTHY)
    path = path_in(folder)
    for damaged in (b"x", bytes(FILE_SIZE), b"y" * 3 * FILE_SIZE, MAGIC):
        path.write_bytes(damaged)
        with open_node_file(folder, HOST) as file:
            assert file.content.header is None
            assert file.content.damaged > 0
        write(folder, HEALTHY)
        content = read_node_file(path)
        assert (content.header, content.damaged) == (HEADER, 0)
        assert content.records == (HEALTHY,)
        assert path.stat().st_size == FILE_SIZE


def test_an_empty_file_is_a_new_one(folder: Path) -> None:
    path_in(folder).touch()
    with open_node_file(folder, HOST) as file:
        assert (file.content.header, file.content.records, file.content.damaged) == (None, (), 0)


def test_another_schema_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.check.state.header.SCHEMA", 9)
    content = pack_header(HEADER)
    monkeypatch.undo()
    path_in(folder).write_bytes(content.ljust(FILE_SIZE, b"\0"))
    assert "schema 9" in refused(folder)


def test_the_file_of_another_host_is_refused(folder: Path) -> None:
    write(folder, HEALTHY, msgspec.structs.replace(HEADER, host="n0002"))
    assert "'n0002'" in refused(folder)


def test_links_and_what_others_can_write_are_refused(folder: Path) -> None:
    write(folder, HEALTHY)
    path = path_in(folder)
    for mode in (0o664, 0o646):
        path.chmod(mode)
        assert "other users" in refused(folder)
    path.rename(folder / "elsewhere")
    path.symlink_to(folder / "elsewhere")
    assert "regular file" in refused(folder)
    path.unlink()
    os.mkfifo(path)
    assert "regular file" in refused(folder)
    path.unlink()
    path.mkdir()
    assert "regular file" in refused(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_file_of_another_user_is_refused_unless_its_folder_is_theirs(folder: Path) -> None:
    write(folder, HEALTHY)
    os.chown(path_in(folder), 12345, 12345)
    assert "user 12345" in refused(folder)
    os.chown(folder / "nodes", 12345, 12345)
    with open_node_file(folder, HOST) as file:
        assert file.content.records == (HEALTHY,)


def test_two_checks_at_once(folder: Path) -> None:
    with open_node_file(folder, HOST):
        script = f"""
            from pathlib import Path
            from assay.check.state.node_file import open_node_file
            open_node_file(Path({str(folder)!r}), {HOST!r})
        """
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True
        )
        assert f"Another check of this node is running (process {os.getpid()})" in done.stderr
    open_node_file(folder, HOST).close()


def test_two_checks_at_once_without_locks_on_files(tmp_path: Path) -> None:
    """The folder is missing, so that there is no file to lock."""
    with open_node_file(tmp_path, HOST) as file:
        assert file.unwritable
        assert "Another check" in refused(tmp_path)
        open_node_file(tmp_path, "another").close()
    open_node_file(tmp_path, HOST).close()


@pytest.mark.parametrize("number", LOCKLESS)
def test_two_checks_at_once_on_a_file_system_without_locks(
    folder: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("assay.check.state.exclusion.fcntl.lockf", refuse)
    with open_node_file(folder, HOST) as file:
        assert file.write(HEADER, HEALTHY) == ""
        assert "Another check" in refused(folder)
    with open_node_file(folder, HOST) as file:
        assert file.content.records == (HEALTHY,)


def test_a_forked_process_that_hangs_holds_no_lock(folder: Path, tmp_path: Path) -> None:
    for place in (folder, tmp_path / "missing"):
        file = open_node_file(place, HOST)
        ready, begun = os.pipe()
        child = os.fork()
        if not child:
            os.write(begun, b"1")
            signal.pause()
        try:
            assert os.read(ready, 1)
            os.close(ready)
            os.close(begun)
            file.close()
            open_node_file(place, HOST).close()
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


CALLS = (
    ("os.open", "os"),
    ("os.pread", "os"),
    ("os.pwrite", "os"),
    ("os.ftruncate", "os"),
    ("os.close", "os"),
    ("fcntl.lockf", "fcntl"),
)


@pytest.mark.parametrize("old", [None, b"", b"short", "whole"])
@pytest.mark.parametrize("after", [False, True])
def test_a_check_killed_between_any_two_calls_leaves_a_readable_file(
    folder: Path, old: bytes | str | None, after: bool
) -> None:
    """Killed before or after the n-th call to the system, for each n."""
    path = path_in(folder)
    for count in range(40):
        path.unlink(missing_ok=True)
        if old == "whole":
            write(folder, HEALTHY)
        elif isinstance(old, bytes):
            path.write_bytes(old)
        child = os.fork()
        if not child:
            _die_at(count, after=after)
            write(folder, LONGEST)
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        with open_node_file(folder, HOST) as file:
            expected = (HEALTHY,) if old == "whole" else ()
            assert file.content.records in (expected, (*expected, LONGEST))
            assert (file.content.damaged > 0) <= (old == b"short")
        if os.WIFEXITED(status):
            assert os.WEXITSTATUS(status) == 0
            assert count > 4
            return
    raise AssertionError("it never ended by itself")


def _die_at(count: int, *, after: bool) -> None:
    import fcntl

    left = count

    def wrapped(call: Callable[..., object]) -> Callable[..., object]:
        def counted(*arguments: object, **named: object) -> object:
            nonlocal left
            left -= 1
            if left < 0 and not after:
                os.kill(os.getpid(), signal.SIGKILL)
            result = call(*arguments, **named)
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return counted

    for name, module in CALLS:
        owner = os if module == "os" else fcntl
        short = name.partition(".")[2]
        setattr(owner, short, wrapped(getattr(owner, short)))


def test_a_file_that_cannot_be_written_says_why(folder: Path) -> None:
    path = path_in(folder)
    write(folder, HEALTHY)
    before = path.read_bytes()
    file = NodeFile(path=path, host=HOST, unwritable="Read-only file system")
    assert file.write(HEADER, HEALTHY) == "Read-only file system"
    assert path.read_bytes() == before


def test_the_largest_header_fits() -> None:
    huge = 1 << 63
    largest = NodeHeader(
        host="h" * 64,
        kind="k" * 80,
        since=1e300,
        healthy=huge,
        unhealthy=huge,
        undecided=huge,
        state=bytes(MOST_STATE),
        counters=bytes(MOST_COUNTERS),
    )
    packed = pack_header(largest)
    assert len(packed) == HEADER_SIZE
    assert unpack_header(packed) == largest
    longer = msgspec.structs.replace(largest, kind="k" * 300)
    assert unpack_header(pack_header(longer)) == largest
    for change in ({"state": bytes(MOST_STATE + 1)}, {"counters": bytes(MOST_COUNTERS + 1)}):
        with pytest.raises(ValueError, match="fit into"):
            pack_header(msgspec.structs.replace(largest, **change))


@pytest.mark.parametrize(
    "host", ["n1", "a/b", "../x", ".hidden", "n 1", "n%2F1", "näh", "x\n", "", "-rf", "\udc80"]
)
def test_names_of_hosts_become_names_of_files_and_back(host: str) -> None:
    name = file_name(host)
    assert "/" not in name
    assert name.isascii()
    assert name.isprintable()
    assert not name.startswith(".") or host == ""
    assert host_of(Path(name)) == host


def test_different_hosts_have_different_files() -> None:
    hosts = ["a/b", "a%2Fb", "a%2fb", "a b", "a_b", "A", "a"]
    assert len({file_name(host) for host in hosts}) == len(hosts)
