"""Opens, reads and writes the file of a node.

A check writes the whole file with one pwrite of 4,096 bytes in place. Compared with a rename, this
needs no second file, no permission to write to the folder, no free space once the file exists, and
it keeps the locked inode. The kernel copies one page within the call, so a killed process leaves
the old or the new content. If a crash of the machine tears the page, CRCs find the damaged parts.
There is no fsync: a crash may cost the last record, and the next check writes it all again.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import stat
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from assay.check.model import CheckRecord
from assay.check.state.exclusion import exclude_others
from assay.check.state.file_names import file_name
from assay.check.state.header import (
    FILE_SIZE,
    HEADER_SIZE,
    SCHEMA,
    NodeHeader,
    OtherSchemaError,
    pack_header,
    unpack_header,
)
from assay.check.state.slots import pack_records, unpack_records
from assay.errors import AssayError
from assay.plain_files import open_plain

#: The folder of the nodes' files in the folder of a fleet's checks.
NODES = "nodes"
_MODE = 0o644
# A reader without the lock may meet a write; it reads again after this time, in s.
_MOMENT, _TRIES = 0.01, 3
_REFUSED = "Only the user of the checks, root or the owner of its folder may write it."


@dataclass(frozen=True)
class NodeContent:
    """What a node's file says."""

    #: None if there is none yet, or if it is damaged.
    header: NodeHeader | None = None
    #: The readable records, the oldest first.
    records: tuple[CheckRecord, ...] = ()
    #: The sequence number of the next record.
    following: int = 1
    #: Damaged places, the header included.
    damaged: int = 0


@dataclass
class NodeFile:
    """The file of this node, held while a check runs. Use it as a context manager."""

    path: Path
    host: str
    content: NodeContent = NodeContent()
    #: Why no record can be written; empty if one can.
    unwritable: str = ""
    _descriptor: int | None = None
    _sequences: list[tuple[int, CheckRecord]] = field(default_factory=list)
    _held: socket.socket | None = None

    def write(self, header: NodeHeader, record: CheckRecord | None = None) -> str:
        """Replace the header, and add a record. Returns why this failed, as a clause; else ""."""
        if self.unwritable or self._descriptor is None:
            return self.unwritable
        known = list(self._sequences)
        if record is not None:
            known.append((self.content.following, record))
        content = pack_header(header) + pack_records(known, FILE_SIZE - HEADER_SIZE)
        try:
            _write_whole(self._descriptor, content)
        except OSError as error:
            return error.strerror or str(error)
        return ""

    def close(self) -> str:
        """Release the lock. Returns why the record didn't reach a file server; else ""."""
        found, self._descriptor = self._descriptor, None
        if self._held is not None:
            self._held.close()
        if found is None:
            return ""
        try:
            os.close(found)
        except OSError as error:
            return error.strerror or str(error)
        return ""

    def __enter__(self) -> NodeFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def open_node_file(folder: Path, host: str) -> NodeFile:
    """The file of a host, locked; created if it is missing and the folder permits.

    ``folder``: that of the fleet's checks. Raises AssayError with status 3 if another check of this
    node runs, and if the file is a link, belongs to or can be written by another user, has another
    schema, or belongs to another host.
    """
    path = folder / NODES / file_name(host)
    try:
        descriptor, unwritable = _opened(path)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EINVAL, errno.EISDIR, errno.ENXIO):
            raise _refused(path, "is not a regular file") from None
        descriptor, unwritable = None, error.strerror or str(error)
    found = NodeFile(path=path, host=host, unwritable=unwritable)
    try:
        if descriptor is not None:
            _check_owner(path, descriptor)
            found._descriptor = descriptor
        found._held = exclude_others(descriptor if not unwritable else None, host)
        if descriptor is not None:
            raw = _read_whole(descriptor)
            found.content, found._sequences = _parsed(raw, path)
            _check_host(found.content, host, path)
    except OSError as error:
        found.close()
        found.unwritable = error.strerror or str(error)
    except BaseException:
        if found._descriptor is None and descriptor is not None:
            os.close(descriptor)
        found.close()
        raise
    return found


def read_node_file(path: Path) -> NodeContent:
    """What a node's file says, read without its lock, as by a report on a fleet.

    Raises AssayError with status 3 for another schema, and OSError.
    """
    content = NodeContent()
    for attempt in range(_TRIES):
        if attempt:
            time.sleep(_MOMENT)
        descriptor = open_plain(path, os.O_RDONLY)
        try:
            content = _parsed(_read_whole(descriptor), path)[0]
        finally:
            os.close(descriptor)
        if not content.damaged:
            break
    return content


def _opened(path: Path) -> tuple[int, str]:
    """A descriptor of the file, and why it can't be written, if so."""
    try:
        return open_plain(path, os.O_RDWR | os.O_CREAT, _MODE), ""
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise
        why = error.strerror or str(error)
    return open_plain(path, os.O_RDONLY), why


def _check_owner(path: Path, descriptor: int) -> None:
    """Raises AssayError unless only this user, root or the owner of its folder can have written it.

    A trusted user gave that folder to its owner, such as the scheduler's user. No database of users
    is asked, since it may hang.
    """
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise _refused(path, "is not a regular file")
    if status.st_uid not in (os.geteuid(), 0, path.parent.stat().st_uid):
        raise _refused(path, f"belongs to user {status.st_uid}")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise _refused(path, "can be written by other users")


def _refused(path: Path, why: str) -> AssayError:
    return AssayError(
        f"This node's file of checks {why}.",
        where=str(path),
        fix=f"Remove it. {_REFUSED}",
        status=3,
    )


def _read_whole(descriptor: int) -> bytes:
    # One byte more than a file has, to see whether it is longer.
    return os.pread(descriptor, FILE_SIZE + 1, 0)


def _write_whole(descriptor: int, content: bytes) -> None:
    written = os.pwrite(descriptor, content, 0)
    if written != len(content):  # the file system became full within the first page of the file
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    if os.fstat(descriptor).st_size != FILE_SIZE:
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, FILE_SIZE)


def _parsed(raw: bytes, path: Path) -> tuple[NodeContent, list[tuple[int, CheckRecord]]]:
    if not raw:  # created, and not yet written
        return NodeContent(), []
    try:
        header = unpack_header(raw[:HEADER_SIZE])
    except OtherSchemaError as error:
        raise AssayError(
            f"This node's file has schema {error.args[0]}, and this assay reads {SCHEMA}.",
            where=str(path),
            fix="Use the version of assay that wrote it, or remove the file.",
            status=3,
        ) from None
    numbered, damaged = unpack_records(raw[HEADER_SIZE:FILE_SIZE])
    content = NodeContent(
        header=header,
        records=tuple(record for _, record in numbered),
        following=_following(numbered),
        damaged=damaged + (header is None) + (len(raw) != FILE_SIZE),
    )
    return content, numbered


def _following(numbered: Sequence[tuple[int, CheckRecord]]) -> int:
    return (numbered[-1][0] + 1) % (1 << 32) if numbered else 1


def _check_host(content: NodeContent, host: str, path: Path) -> None:
    if content.header is not None and content.header.host != host:
        raise AssayError(
            f"This node's file names the node '{content.header.host}'.",
            where=str(path),
            fix="Remove it: it was copied or renamed.",
            status=3,
        )
