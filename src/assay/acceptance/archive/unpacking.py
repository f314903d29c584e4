"""Unpacks the archive of another party: nothing is written outside of a temporary folder."""

from __future__ import annotations

import contextlib
import hashlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from assay.acceptance.archive.entries import BLOCK, END, DamagedArchive, padding, parse_header
from assay.acceptance.archive.layout import SIGNATURE, SUMS, parse_sums
from assay.acceptance.archive.stream import Inflater
from assay.errors import AssayError
from assay.plain_files import reading
from assay.records.files import cannot_read

_CHUNK = 1 << 20
# Maximum number of files, and of bytes of a file that is read as a whole.
_MOST_FILES = 200_000
MOST_READ = 64 << 20


@dataclass(frozen=True)
class UnpackedArchive:
    """An archive whose form is right; whether its files have the listed digests is open."""

    folder: Path
    #: SHA-256 of the archive's file, and of its content: of ``sums``.
    sha256: str
    digest: str
    #: ``SHA256SUMS``: its bytes, and the digests that it states.
    sums: bytes
    listed: dict[str, str]
    #: The digests that the files have, without the list and its signature.
    found: dict[str, str]
    #: None if there is no signature.
    signature: bytes | None


class _Hashed:
    """A file that hashes what is read of it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.digest = hashlib.sha256()

    def read(self, size: int) -> bytes:
        content = self._file.read(size)
        self.digest.update(content)
        return content


@contextlib.contextmanager
def unpacked_archive(path: Path) -> Iterator[UnpackedArchive]:
    """The archive in a temporary folder, which is removed at the end.

    Raises AssayError if the file can't be read, isn't an archive or doesn't fit on the disk, and
    DamagedArchive if it is one whose bytes are not as assay writes them.
    """
    with tempfile.TemporaryDirectory(prefix="assay-archive-") as temporary:
        try:
            with reading(path) as file:
                found = _unpacked(file, Path(temporary), str(path))
        except DamagedArchive as error:
            raise DamagedArchive(error.what, str(path)) from None
        except OSError as error:
            if error.filename != str(path) and error.filename is not None:
                raise _cannot_unpack(error) from None
            raise cannot_read(path, error) from None
        yield found


def _unpacked(file: BinaryIO, folder: Path, where: str) -> UnpackedArchive:
    hashed = _Hashed(file)
    stream = Inflater(hashed, where)  # type: ignore[arg-type]
    found: dict[str, str] = {}
    held: dict[str, bytes] = {}
    last = ""
    while True:
        block = stream.read(BLOCK)
        if block == bytes(BLOCK):
            if block + stream.read(BLOCK) != END:
                raise DamagedArchive("The archive's end isn't as assay writes it.")
            break
        name, size = parse_header(block)
        if name in (SUMS, SIGNATURE):
            if found or name in held or (name == SIGNATURE) != bool(held):
                raise DamagedArchive(f"'{name}' isn't at the beginning of the archive.")
            held[name] = _whole(stream, name, size)
        else:
            if name <= last:
                raise DamagedArchive(f"'{name}' isn't in its place in the archive.")
            last = name
            found[name] = _file(stream, folder / name, name, size)
        if any(stream.read(padding(size))):
            raise DamagedArchive(f"The bytes after '{name}' aren't as assay writes them.")
        if len(found) > _MOST_FILES:
            raise DamagedArchive(f"The archive has more than {_MOST_FILES:,} files.")
    stream.finish()
    if SUMS not in held:
        raise DamagedArchive(f"The archive has no {SUMS}.")
    return UnpackedArchive(
        folder=folder,
        sha256=hashed.digest.hexdigest(),
        digest=hashlib.sha256(held[SUMS]).hexdigest(),
        sums=held[SUMS],
        listed=parse_sums(held[SUMS]),
        found=found,
        signature=held.get(SIGNATURE),
    )


def _whole(stream: Inflater, name: str, size: int) -> bytes:
    if size > MOST_READ:
        raise DamagedArchive(f"'{name}' is too large.")
    return stream.read(size)


def _file(stream: Inflater, path: Path, name: str, size: int) -> str:
    """Unpack one file; returns its SHA-256."""
    digest = hashlib.sha256()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            while size:
                chunk = stream.read(min(size, _CHUNK))
                digest.update(chunk)
                file.write(chunk)
                size -= len(chunk)
    except (FileExistsError, NotADirectoryError):
        raise DamagedArchive(f"'{name}' is both a file and a folder.") from None
    except OSError as error:
        raise _cannot_unpack(error) from None
    return digest.hexdigest()


def _cannot_unpack(error: OSError) -> AssayError:
    return AssayError(
        f"The archive can't be unpacked: {error.strerror}.",
        where=tempfile.gettempdir(),
        fix="Free some space, or name another folder for temporary files with TMPDIR.",
    )
