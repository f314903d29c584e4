"""Members of large groups in packs: nothing is lost, whatever is killed half way."""

from __future__ import annotations

import io
import os
import shutil
import tarfile
import threading
import time
from pathlib import Path

import pytest

from assay.errors import AssayError
from assay.records.group import describe_members, read_group, unfinished_members
from assay.records.members import packs
from assay.records.members.packs import (
    is_packed,
    pack_member,
    pack_of,
    packed_members,
    unpacked,
)
from assay.records.reading import read_run
from fleet_builder import CELLS, make_group


def make_member(members: Path, number: int, size: int = 100) -> dict[str, bytes]:
    """A folder with files of random contents, by their names."""
    folder = members / f"{number:05d}"
    (folder / "raw").mkdir(parents=True)
    files = {"manifest.json": os.urandom(size), "raw/0.jsonl": b"", "seal.json": b"{}"}
    for name, content in files.items():
        (folder / name).write_bytes(content)
    (folder / ".lock").touch()
    return files


def content_of(members: Path, number: int) -> dict[str, bytes]:
    with unpacked(packed_members(members)[number]) as folder:
        return {
            str(path.relative_to(folder)): path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file()
        }


def test_packed_members_are_whole_and_their_folders_are_gone(tmp_path: Path) -> None:
    files = {}
    for number in (3, 67, 131, 4):
        files[number] = make_member(tmp_path, number, size=700 * number)
        output = tmp_path / f"0001-{number}.out"
        output.write_text("said")
        assert pack_member(tmp_path / f"{number:05d}", output) and not output.exists()
        files[number][f"jobs/{output.name}"] = b"said"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["03.tar", "04.tar", "packs"]
    assert packed_members(tmp_path).keys() == files.keys()
    for number, each in files.items():
        assert content_of(tmp_path, number) == each
        assert is_packed(tmp_path, number) and not is_packed(tmp_path, number + 64 * 9)
    # Ordinary tools read them.
    with tarfile.open(pack_of(tmp_path, 3)) as archive:
        assert archive.getnames() == ["00003.tar.gz", "00067.tar.gz", "00131.tar.gz"]


def test_a_writer_that_was_killed_loses_nothing_of_others(tmp_path: Path) -> None:
    """Every length at which the last entry can be cut, and what is appended afterwards."""
    kept = make_member(tmp_path, 0)
    pack_member(tmp_path / "00000")
    pack = pack_of(tmp_path, 0)
    first = pack.read_bytes()
    make_member(tmp_path, 64)
    pack_member(tmp_path / "00064")
    both = pack.read_bytes()
    end = len(both) - 1024  # both blocks of zeros at the end
    begin = len(first) - 1024
    for cut in (*range(begin, end, 97), end - 1, end):
        pack.write_bytes(both[:cut])
        whole = {0, 64} if cut >= end else {0}
        assert packed_members(tmp_path).keys() == whole, cut
        files = make_member(tmp_path, 128)
        assert pack_member(tmp_path / "00128")
        assert packed_members(tmp_path).keys() == whole | {128}
        assert (content_of(tmp_path, 0), content_of(tmp_path, 128)) == (kept, files)


def test_writers_at_the_same_time_wait_for_each_other(tmp_path: Path) -> None:
    numbers = range(0, 64 * 12, 64)
    files = {number: make_member(tmp_path, number, size=3000) for number in numbers}
    writers = [
        threading.Thread(target=pack_member, args=(tmp_path / f"{number:05d}",))
        for number in numbers
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert {number: content_of(tmp_path, number) for number in numbers} == files


def test_a_lock_is_respected_until_its_holder_must_be_dead(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(packs, "_PATIENCE", 0.1)
    make_member(tmp_path, 1)
    lock = pack_of(tmp_path, 1).with_suffix(".lock")
    lock.mkdir(parents=True)
    assert not pack_member(tmp_path / "00001")
    assert (tmp_path / "00001" / "seal.json").exists() and not is_packed(tmp_path, 1)
    os.utime(lock, (time.time() - 7200,) * 2)
    assert pack_member(tmp_path / "00001") and not lock.exists()


def test_a_group_reads_alike_packed_or_not(tmp_path: Path) -> None:
    """As of earlier versions, whose members are all folders; then some, then all in packs."""
    hosts = ["n1", "n2", "n3"]
    group = make_group(tmp_path, hosts, lambda cell, host, launch: 1e-3, cells=CELLS[:1])
    members = group.path / "members"
    plain = read_group(group.path)
    shutil.copytree(members / "00001", tmp_path / "copy")
    for number in (1, 0, 2):
        assert pack_member(members / f"{number:05d}")
        if number == 1:  # as after a crash between the two steps
            shutil.copytree(tmp_path / "copy", members / "00001")
        found = read_group(group.path)
        assert [member.host for member in found.members] == hosts
        for one, other in zip(found.members, plain.members, strict=True):
            assert one.run is not None and other.run is not None
            assert one.run == other.run
            assert [m.record.series for m in one.run.measurements] == [
                m.record.series for m in other.run.measurements
            ]
        assert unfinished_members(group.path, 3) == [] and group.complete
        assert describe_members(group.path, 4) == {"complete": 3, "missing": 1}
        assert group.member(number).complete
    shutil.rmtree(members / "00001")
    pack = pack_of(members, 1)
    damaged = bytearray(pack.read_bytes())
    damaged[2000:2100] = bytes(100)
    pack.write_bytes(damaged)
    broken = read_group(group.path).members[1]
    assert broken.state == "failed" and str(pack) in broken.problem
    assert "restore it from a copy" in broken.problem or "can't be unpacked" in broken.problem


def test_an_unpacked_member_is_an_ordinary_run(tmp_path: Path) -> None:
    group = make_group(tmp_path, ["n1"], lambda cell, host, launch: 1e-3, cells=CELLS[:1])
    pack_member(group.path / "members" / "00000")
    with unpacked(packed_members(group.path / "members")[0]) as folder:
        assert read_run(folder).complete


def test_a_name_that_leads_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    make_member(tmp_path, 5)
    (tmp_path / "outside").write_text("x")
    content = tmp_path / "evil.tar.gz"
    with tarfile.open(content, "w:gz") as archive:
        archive.add(tmp_path / "outside", "../outside")
    pack_of(tmp_path, 5).parent.mkdir()
    packs._append(pack_of(tmp_path, 5), 5, content.read_bytes())
    with (
        pytest.raises(AssayError, match="not a file of a run"),
        unpacked(packed_members(tmp_path)[5]),
    ):
        pass


def test_a_member_that_unpacks_to_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Packs may come from another party, in an archive of an acceptance."""
    monkeypatch.setattr(packs, "_FREE", 1 << 16)
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        entry = tarfile.TarInfo("raw/bomb.jsonl")
        entry.size = 32 << 20
        archive.addfile(entry, io.BytesIO(bytes(entry.size)))
    pack_of(tmp_path, 5).parent.mkdir()
    packs._append(pack_of(tmp_path, 5), 5, content.getvalue())
    with (
        pytest.raises(AssayError, match="unpacks to more than its size permits"),
        unpacked(packed_members(tmp_path)[5]),
    ):
        pass


def test_a_size_below_zero_ends_a_pack(tmp_path: Path) -> None:
    """It would otherwise lead back to the same entry without end."""
    pack = pack_of(tmp_path, 5)
    pack.parent.mkdir()
    header = tarfile.TarInfo("00005.tar.gz")
    header.size = -512
    pack.write_bytes(header.tobuf(tarfile.GNU_FORMAT) + bytes(4096))
    assert packed_members(tmp_path) == {}
