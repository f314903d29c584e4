"""Writes archives: the same files always give the same bytes."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from assay.acceptance.archive.entries import END, header, padding
from assay.acceptance.archive.layout import SIGNATURE, SUFFIX, SUMS, sums_text
from assay.acceptance.archive.stream import Deflater
from assay.errors import AssayError
from assay.plain_files import new_sibling, reading
from assay.records.files import cannot_read, cannot_write, temporary_prefix

OPTION = "--bundle FILE"
_CHUNK = 1 << 20

# The content of a file, or the file that holds it with the digest that it had when it was judged.
Content = bytes | tuple[Path, str]


def check_target(path: Path) -> None:
    """Raise AssayError for an archive's path without its suffix."""
    if not path.name.endswith(SUFFIX) or path.name == SUFFIX:
        raise AssayError(
            "An archive's name ends in .tar.gz.",
            where=f"--bundle {path}",
            fix="Name, for example, --bundle acceptance.tar.gz.",
        )


def digests_of(contents: Mapping[str, Content]) -> dict[str, str]:
    """The SHA-256 of each file."""
    return {
        name: hashlib.sha256(each).hexdigest() if isinstance(each, bytes) else each[1]
        for name, each in contents.items()
    }


def write_archive(path: Path, contents: Mapping[str, Content], signature: bytes | None) -> None:
    """Write an archive of these files, with their list and its signature, atomically.

    Raises AssayError if a file has changed, can't be read or isn't allowed, or if the archive can't
    be written. Then nothing is left of it.
    """
    first: dict[str, Content] = {SUMS: sums_text(digests_of(contents))}
    if signature is not None:
        first[SIGNATURE] = signature
    try:
        descriptor, temporary = new_sibling(temporary_prefix(path.name), path.parent)
    except OSError as error:
        raise cannot_write(path, error, OPTION) from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            stream = Deflater(file)
            for name, content in (*first.items(), *sorted(contents.items())):
                _add(stream, name, content, path)
            _write(stream, END, path)
            with _writing(path):
                stream.finish()
                file.flush()
                os.fsync(file.fileno())
        with _writing(path):
            temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise cannot_write(path, error, OPTION) from None


def _write(stream: Deflater, content: bytes, path: Path) -> None:
    with _writing(path):
        stream.write(content)


def _add(stream: Deflater, name: str, content: Content, path: Path) -> None:
    if isinstance(content, bytes):
        _write(stream, _header(name, len(content), name), path)
        _write(stream, content + bytes(padding(len(content))), path)
        return
    source, digest = content
    try:
        with reading(source) as file:
            size = os.fstat(file.fileno()).st_size
            _write(stream, _header(name, size, str(source)), path)
            if _copied(file, stream, size, path) != digest:
                raise changed(source)
    except OSError as error:
        raise cannot_read(source, error) from None
    _write(stream, bytes(padding(size)), path)


def _copied(file: BinaryIO, stream: Deflater, size: int, path: Path) -> str:
    """Copy this number of bytes; returns their SHA-256, or nothing if the file has fewer."""
    digest = hashlib.sha256()
    while size:
        chunk = file.read(min(size, _CHUNK))
        if not chunk:
            return ""
        _write(stream, chunk, path)
        digest.update(chunk)
        size -= len(chunk)
    return digest.hexdigest()


def _header(name: str, size: int, where: str) -> bytes:
    try:
        return header(name, size)
    except ValueError as error:
        raise AssayError(
            f"The file can't be archived: {error}.",
            where=where,
            fix="Move it out of the run, or rename it.",
        ) from None


def changed(path: Path) -> AssayError:
    """The error for a file that changed between judging and archiving."""
    return AssayError(
        "The file changed while the archive was written.",
        where=str(path),
        fix="Wait until the run is finished, and try again.",
    )
