"""The file of the measuring program: whether it is the one that a baseline names."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from assay.errors import AssayError
from assay.ownership import untrusted_above, why_untrusted

_AGAIN = "Remove it if it is there, then run 'assay check --record' and 'assay check --learn'."


def program_digest(path: Path) -> str:
    """SHA-256 of the program, as baselines name it. Raises AssayError if it can't be read."""
    with _opened(path) as descriptor:
        return _digest_of(descriptor)


@contextlib.contextmanager
def verified_program(path: Path, digest: str) -> Iterator[int]:
    """A descriptor of the program, to be executed by it: the file that was verified, even if
    another one takes its name meanwhile.

    Raises AssayError if it can't be read, if another user can have written it or can replace it,
    or if its SHA-256 is not ``digest``.
    """
    with _opened(path) as descriptor:
        why = why_untrusted(path)
        above = untrusted_above(path)
        if why or above:
            place, reason = (path, why) if why else above or (path, "")
            what = "measuring program" if place == path else "folder of the measuring program"
            raise AssayError(
                f"The {what} {reason}, so that others decide what a check runs.",
                where=str(place),
                fix="Give it to root or to the user that runs the checks, and let only them write.",
            )
        found = _digest_of(descriptor)
        if found != digest:
            raise AssayError(
                f"The measuring program has the digest {found[:12]}, but the baseline was "
                f"measured with {digest[:12]}.",
                where=str(path),
                fix=_AGAIN,
            )
        yield descriptor


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise AssayError(
            f"The measuring program can't be read: {error.strerror}.", where=str(path), fix=_AGAIN
        ) from None
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _digest_of(descriptor: int) -> str:
    digest = hashlib.sha256()
    offset = 0
    try:
        while part := os.pread(descriptor, 1 << 20, offset):
            digest.update(part)
            offset += len(part)
    except OSError as error:
        raise AssayError(
            f"The measuring program can't be read: {error.strerror}.", fix=_AGAIN
        ) from None
    return digest.hexdigest()
