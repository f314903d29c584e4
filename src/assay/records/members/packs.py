"""Complete members of large groups, packed into ``members/packs/07.tar`` and 63 other files.

Clusters limit the number of files, and each of thousands of measuring nodes writes a dozen. So a
complete member of a large group is appended to one of these tar files as ``00071.tar.gz``, and its
folder is removed. After a crash between these two steps, a member may exist both in a pack and as a
folder. The incomplete last entry of a killed writer is overwritten by the next writer.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import shutil
import tarfile
import tempfile
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from assay.errors import AssayError
from assay.plain_files import new_folder, open_plain, plain_folder, reading
from assay.records.files import cannot_read, cannot_write, temporary_prefix

# Minimum number of members of a group that is packed, and the number of packs.
PACKED_FROM = 256
PACKS = 64
FOLDER = "packs"
_SUFFIX = ".tar.gz"
_BLOCK = 512
# Seconds to wait for another writer of the pack, and seconds after which its lock counts as
# abandoned.
_PATIENCE, _STALE = 60.0, 3600.0
_PAUSE = 0.05
# Level of gzip: streams shrink to a sixth; higher levels take longer and save little.
_LEVEL = 5
# Bounds of what a member of another party unpacks to: bytes per compressed byte after the first
# 64 MiB.
_MOST_RATIO, _FREE = 300, 64 << 20


@dataclass(frozen=True)
class PackedMember:
    """Where a member is: ``size`` bytes of a pack from ``offset``."""

    pack: Path
    offset: int
    size: int


def pack_of(members: Path, number: int) -> Path:
    """The pack of a member; ``members``: the group's folder of members."""
    return members / FOLDER / f"{number % PACKS:02d}.tar"


def packed_members(members: Path) -> dict[int, PackedMember]:
    """Every packed member by its number; empty without packs.

    Raises AssayError if a pack can't be read.
    """
    found: dict[int, PackedMember] = {}
    try:
        for pack in sorted(_packs(members).glob("*.tar")):
            found |= _members_of(pack)[0]
    except OSError as error:
        raise cannot_read(members / FOLDER, error) from None
    return found


def _packs(members: Path) -> Path:
    """The folder of the packs. Raises OSError if it is a link, or below a link."""
    return plain_folder(plain_folder(members) / FOLDER)


def is_packed(members: Path, number: int) -> bool:
    """Whether a member is in its pack."""
    try:
        _packs(members)
        return number in _members_of(pack_of(members, number))[0]
    except OSError:
        return False


def pack_member(folder: Path, *more: Path) -> bool:
    """Append a complete member's folder to its pack, with further files as ``jobs/NAME``, and
    remove them; returns whether it did. It doesn't if another process keeps the pack for a minute.

    Raises AssayError if the pack can't be written; the folder is then still there.
    """
    number = int(folder.name)
    pack = pack_of(folder.parent, number)
    content = _archive(folder, more)
    try:
        _packs(folder.parent).mkdir(exist_ok=True)
        with _held(pack.with_suffix(".lock")) as held:
            if not held:
                return False
            _append(pack, number, content)
        # Renamed first: a partly removed folder would look like an unfinished run.
        gone = new_folder(temporary_prefix(folder.name), folder.parent)
        folder.rename(gone / folder.name)
        shutil.rmtree(gone, ignore_errors=True)
        for path in more:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise cannot_write(pack, error) from None
    return True


@contextlib.contextmanager
def unpacked(member: PackedMember) -> Iterator[Path]:
    """A temporary folder with the member's files. Raises AssayError if it can't be read."""
    with tempfile.TemporaryDirectory(prefix="assay-member-") as folder:
        try:
            with reading(member.pack) as file:
                file.seek(member.offset)
                content = file.read(member.size)
        except OSError as error:
            raise cannot_read(member.pack, error) from None
        try:
            whole = io.BytesIO(_inflated(content))
            with tarfile.open(fileobj=whole, mode="r:") as archive:
                _extract(archive, Path(folder))
        except (gzip.BadGzipFile, zlib.error, tarfile.TarError, EOFError, ValueError) as error:
            raise AssayError(
                f"A member of the group can't be unpacked: {error}.",
                where=str(member.pack),
                fix="The file was damaged; restore it from a copy, or measure again.",
            ) from None
        yield Path(folder)


def _inflated(content: bytes) -> bytes:
    """The unpacked bytes, whose checksum is compared. Raises ValueError if they are too many."""
    most = _FREE + _MOST_RATIO * len(content)
    with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
        found = file.read(most + 1)
    if len(found) > most:
        raise ValueError("it unpacks to more than its size permits")
    return found


def _extract(archive: tarfile.TarFile, folder: Path) -> None:
    """Write the files; raises ValueError for a name that leads out of the folder."""
    for entry in archive:
        path = folder / entry.name
        inside = ".." not in Path(entry.name).parts and path.is_relative_to(folder)
        if not entry.isfile() or not inside:
            raise ValueError(f"'{entry.name}' is not a file of a run")
        content = archive.extractfile(entry)
        path.parent.mkdir(parents=True, exist_ok=True)
        if content is not None:
            path.write_bytes(content.read())


def _archive(folder: Path, more: tuple[Path, ...]) -> bytes:
    """The files as a compressed tar, without hidden ones."""
    buffer = io.BytesIO()
    try:
        with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=_LEVEL) as archive:
            for path in sorted(folder.rglob("*")):
                name = path.relative_to(folder)
                if path.is_file() and not any(part.startswith(".") for part in name.parts):
                    archive.add(path, str(name))
            for path in more:
                archive.add(path, f"jobs/{path.name}")
    except OSError as error:
        raise cannot_read(folder, error) from None
    return buffer.getvalue()


def _members_of(pack: Path) -> tuple[dict[int, PackedMember], int]:
    """The complete members of a pack, and the position of the next one."""
    found: dict[int, PackedMember] = {}
    end = 0
    try:
        file = reading(pack)
    except FileNotFoundError:
        return found, end
    with file:
        size = os.fstat(file.fileno()).st_size
        while end + _BLOCK <= size:
            file.seek(end)
            try:
                header = tarfile.TarInfo.frombuf(file.read(_BLOCK), "utf-8", "strict")
            except tarfile.HeaderError:  # the end, or the incomplete entry of a killed writer
                break
            begin = end + _BLOCK
            after = begin + -(-header.size // _BLOCK) * _BLOCK
            number = header.name.removesuffix(_SUFFIX)
            if header.size < 0 or after > size or not number.isdecimal():
                break
            found[int(number)] = PackedMember(pack, begin, header.size)
            end = after
    return found, end


def _append(pack: Path, number: int, content: bytes) -> None:
    """Write an entry after the last complete entry, followed by the end of the archive."""
    _, end = _members_of(pack)
    header = tarfile.TarInfo(f"{number:05d}{_SUFFIX}")
    header.size, header.mtime, header.mode = len(content), int(time.time()), 0o644
    padding = -len(content) % _BLOCK
    entry = header.tobuf(tarfile.USTAR_FORMAT) + content + bytes(padding + 2 * _BLOCK)
    with os.fdopen(open_plain(pack, os.O_RDWR | os.O_CREAT), "r+b") as file:
        file.seek(end)
        file.write(entry)
        file.truncate()
        file.flush()
        os.fsync(file.fileno())


@contextlib.contextmanager
def _held(lock: Path) -> Iterator[bool]:
    """Hold a lock that is a folder; yields whether it is held.

    File systems without file locks, or with locks that hold only within a node, still create a
    folder only once across all nodes.
    """
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            lock.mkdir()
            break
        except FileExistsError:
            with contextlib.suppress(OSError):
                if time.time() - lock.stat().st_mtime > _STALE:
                    lock.rmdir()
                    continue
        if time.monotonic() > until:
            yield False
            return
        time.sleep(_PAUSE)
    try:
        yield True
    finally:
        with contextlib.suppress(OSError):
            lock.rmdir()
