"""Learning checks in files: ``DIR/learning/HOST.jsonl``, a line each."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from assay.check.learning.program import cannot_write, make_folder
from assay.check.model import DeviceSet, Fact, Reading
from assay.check.state.file_names import file_name
from assay.decoding import UNREADABLE
from assay.errors import AssayError
from assay.ownership import why_untrusted
from assay.plain_files import reading
from assay.units import counted

LEARNING = "learning"
SCHEMA = "assay-check-learning-1"
_SUFFIX = ".jsonl"
# A line of a node with a thousand CPUs has half a megabyte.
_LONGEST = 1 << 24


class LearningRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One learning check."""

    schema: str = SCHEMA
    #: Version of assay.
    assay: str
    host: str
    #: Unix time of its begin, s.
    utc: float
    #: SHA-256 of the measuring program.
    program: str
    facts: list[Fact]
    #: By component, a mapping for each round.
    rounds: list[dict[str, Reading]]
    #: The devices that were measured; None without any.
    devices: DeviceSet | None = None


class _Head(msgspec.Struct):
    schema: str = ""


def prepare(folder: Path, host: str) -> None:
    """Create the folder of learning checks. Raises AssayError if a record can't be added to it."""
    path = folder / LEARNING / file_name(host, _SUFFIX)
    try:
        make_folder(path.parent)
    except OSError as error:
        raise cannot_write(path.parent, error) from None
    place = path if path.exists() else path.parent
    if not os.access(place, os.W_OK):
        raise cannot_write(place, PermissionError(errno.EACCES, os.strerror(errno.EACCES)))


def add_record(folder: Path, record: LearningRecord) -> Path:
    """Append a line to the file of its host, after ``prepare``. Returns the file; raises
    AssayError.
    """
    from assay.records.files import append_line

    path = folder / LEARNING / file_name(record.host, _SUFFIX)
    append_line(path, msgspec.json.encode(record), option="--folder DIR")
    return path


def read_records(folder: Path) -> tuple[list[LearningRecord], list[str]]:
    """All learning checks of a fleet by host and time, and sentences on what isn't used.

    Files that others can have written aren't used: they would decide which nodes fail. Raises
    AssayError if the folder can't be read.
    """
    try:
        paths = sorted((folder / LEARNING).glob(f"*{_SUFFIX}"))
    except OSError as error:
        raise AssayError(
            f"The learning checks can't be read: {error.strerror}.", where=str(folder)
        ) from None
    found: list[LearningRecord] = []
    problems: list[str] = []
    for path in paths:
        try:
            if why := why_untrusted(path):
                problems.append(f"{path.name} left out: it {why}.")
                continue
            found += _read(path, problems)
        except OSError as error:
            problems.append(f"{path.name} can't be read: {error.strerror}.")
    return sorted(found, key=lambda record: (record.host, record.utc)), problems


def _read(path: Path, problems: list[str]) -> Iterator[LearningRecord]:
    damaged = other = 0
    with reading(path) as file:
        while line := file.readline(_LONGEST):
            try:
                if msgspec.json.decode(line, type=_Head).schema == SCHEMA:
                    yield msgspec.json.decode(line, type=LearningRecord)
                else:
                    other += 1
            except UNREADABLE:
                damaged += line.strip() != b""
    if damaged:
        problems.append(f"{path.name}: {counted(damaged, 'damaged line')} left out.")
    if other:
        problems.append(f"{path.name}: {counted(other, 'line')} of another schema left out.")
