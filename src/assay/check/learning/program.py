"""The sealed measuring program in the folder of a fleet's checks."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
from collections.abc import Callable
from pathlib import Path

from assay.errors import AssayError
from assay.plain_files import new_sibling, read_plain
from assay.version import VERSION

#: The folder of the programs in the folder of a fleet's checks.
PROGRAMS = "program"
_DIGITS = 12
_SHA256 = re.compile(r"([0-9a-f]{64})  (\S+)\n?")
_PROGRAM_MODE, _NOTE_MODE = 0o755, 0o644


def sealed_program(folder: Path, digest: str) -> Path:
    """The file of the program with this SHA-256, which need not exist."""
    return folder / PROGRAMS / f"assay-check-{digest[:_DIGITS]}"


def program_for(
    folder: Path, kind: str, progress: Callable[[str], None] | None = None
) -> tuple[Path, str]:
    """The program that all nodes of a kind measure with, and its SHA-256; built if there is none.

    The first node of a kind puts it there, so that the others use the same file. Another version of
    assay puts its own beside it: records of two programs aren't mixed. Raises AssayError if it
    can't be built or written.
    """
    named = folder / PROGRAMS / f"{kind}-{VERSION}.sha256"
    digest = _noted(named)
    if digest is not None and sealed_program(folder, digest).exists():
        return sealed_program(folder, digest), digest
    from assay.kernels.builds.check import build_check

    content = build_check(progress).read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    program = sealed_program(folder, digest)
    try:
        make_folder(named.parent)
        if not program.exists():
            _put(program, content, _PROGRAM_MODE)
        note = f"{digest}  {program.name}\n".encode()
        # Of nodes that build at one time, the first one wins.
        if not _put(named, note, _NOTE_MODE, keep=True):
            other = _noted(named)
            if other is not None and sealed_program(folder, other).exists():
                digest = other
            else:
                _put(named, note, _NOTE_MODE)
    except OSError as error:
        raise cannot_write(named.parent, error) from None
    return sealed_program(folder, digest), digest


def make_folder(folder: Path) -> None:
    """Create a folder that only its owner can write to, whatever the umask. Raises OSError."""
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o755, parents=True)
        folder.chmod(0o755)


def cannot_write(place: Path, error: OSError) -> AssayError:
    """The error for a folder of checks that can't be written."""
    return AssayError(
        f"The folder of checks can't be written: {error.strerror or error}.",
        where=str(place),
        fix="Make room there, or name another with --folder."
        if error.errno in (errno.ENOSPC, errno.EDQUOT)
        else "Run this as the owner of the folder, such as root, or name another with --folder.",
    )


def _noted(named: Path) -> str | None:
    """The digest in a file as of sha256sum(1); None if there is none."""
    try:
        match = _SHA256.fullmatch(read_plain(named).decode("ascii", "replace"))
    except OSError:
        return None
    return match[1] if match else None


def _put(path: Path, content: bytes, mode: int, *, keep: bool = False) -> bool:
    """Write a whole file under its name. With ``keep``, False if there is one already."""
    descriptor, new = new_sibling(f".{path.name}.", path.parent, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if not keep:
            new.rename(path)
            return True
        try:
            path.hardlink_to(new)
        except FileExistsError:
            return False
        return True
    finally:
        new.unlink(missing_ok=True)
