"""``previous.json``: the run that was the newest of its store when a run began.

It holds digests of that run's files, and the seal of the run covers it. So the runs of a store form
a chain: a removed run leaves a name that no longer leads anywhere, and a changed run no longer has
the digests that its successor recorded. There is no file of the store that could become outdated,
and nothing to lock: runs that begin at the same time name the same run and have the same number.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

import msgspec

from assay.decoding import UNREADABLE
from assay.plain_files import read_plain, reading
from assay.records.directory import MANIFEST, MEMBERS, SEAL, is_run
from assay.records.files import pretty_json, write_atomically
from assay.records.request import REQUEST

PREVIOUS = "previous.json"
PREVIOUS_SCHEMA = 1
# Files that are written once, so that a later digest must be the same.
_FINAL = (MANIFEST, REQUEST, SEAL)
# Number of the newest names among which the highest number is searched: a clock that was ahead for
# a while gave some runs names that stay the newest.
_NEWEST = 8


class PreviousRun(msgspec.Struct, frozen=True):
    """The content of ``previous.json``."""

    schema: int
    #: Number of this run in its store, from 1: the previous run's number and 1.
    number: int
    #: Name of the previous run; null for the first run.
    run: str | None = None
    #: SHA-256 of ``manifest.json``, ``request.json`` and ``seal.json`` of the previous run, if they
    #: existed; they don't change.
    files: dict[str, str] = {}


def newest_of(root: Path) -> PreviousRun:
    """What the next run in a store records about the newest one.

    Without a readable store, it is as for the first run.
    """
    try:
        names = sorted(name for name in os.listdir(root) if not name.startswith("."))  # noqa: PTH208
    except OSError:
        names = []
    newest: list[str] = []
    for name in reversed(names):
        if is_run(root / name):
            newest.append(name)
        if len(newest) == _NEWEST:
            break
    if not newest:
        return PreviousRun(PREVIOUS_SCHEMA, 1)
    numbers = {name: _number(root / name) for name in newest}
    last = max(newest, key=lambda name: (numbers[name], name))
    return PreviousRun(
        schema=PREVIOUS_SCHEMA,
        number=max(numbers[last], 1) + 1,
        run=last,
        files=final_digests(root / last),
    )


def write_previous(folder: Path, root: Path) -> None:
    """Record the store's newest run in the folder of a new run; members of groups have no chain.

    Raises AssayError if the folder can't be written.
    """
    if root.name != MEMBERS or not is_run(root.parent):
        write_atomically(folder / PREVIOUS, pretty_json(newest_of(root)))


def read_previous(run: Path) -> PreviousRun | None:
    """What a run recorded; None for a run of an earlier version, or if it can't be read."""
    try:
        found = msgspec.json.decode(read_plain(run / PREVIOUS), type=PreviousRun)
    except (OSError, *UNREADABLE):
        return None
    return found if found.schema == PREVIOUS_SCHEMA else None


def final_digests(run: Path) -> dict[str, str]:
    """The SHA-256 of a run's files that don't change once they exist."""
    found = {}
    for name in _FINAL:
        with contextlib.suppress(OSError), reading(run / name) as file:
            found[name] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def _number(run: Path) -> int:
    previous = read_previous(run)
    return previous.number if previous is not None else 0
