"""The run directory: finding, locking, appending, sealing.

``manifest.json`` is written once, when there is a plan; kernels write ``raw/*.jsonl``;
``launches.jsonl`` gets a line per launch. Tables, report and seal are computed from these files and
can be recomputed at any time.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

from assay.config import HOST_NAME
from assay.decoding import UNREADABLE
from assay.errors import AssayError, nearest
from assay.model.plan import Plan
from assay.plain_files import is_plain, plain_folder, read_plain, reading
from assay.records.access.trust import is_own
from assay.records.files import (
    append_line,
    cannot_read,
    cannot_write,
    clear_leftovers,
    hold,
    pretty_json,
    write_atomically,
)
from assay.records.jobs import FOLDER as JOBS_FOLDER
from assay.records.jobs import JOBS
from assay.records.members.packs import is_packed, packed_members
from assay.records.model import MANIFEST_SCHEMA, LaunchRecord, Manifest
from assay.records.request import REQUEST, REQUEST_SCHEMA, TAG, RunRequest
from assay.records.summary import RunSummary

MANIFEST = "manifest.json"
LAUNCHES = "launches.jsonl"
NODES = "nodes.jsonl"
SEAL = "seal.json"
RAW = "raw"
MEMBERS = "members"
REPORT = "report.html"
_UNSEALED = (SEAL, REPORT, JOBS, JOBS_FOLDER)

_YEAR_10000 = 253_402_300_800.0
_T = TypeVar("_T")


class Seal(msgspec.Struct, frozen=True):
    """``seal.json``: the SHA-256 of each file of a complete run, by its path in the run."""

    schema: int
    utc: float
    files: dict[str, str]
    #: The run's data for lists of runs.
    summary: RunSummary | None = None


class _SealSummary(msgspec.Struct):
    """Only the summary of a seal, so that listing runs does not decode the files' digests."""

    summary: RunSummary | None = None


class Facts(msgspec.Struct, frozen=True):
    """The manifest's facts about the machine, without the plan, which is most of the file."""

    schema: int
    assay: str
    system: dict[str, object]
    toolchains: dict[str, dict[str, object]]


class RunDirectory:
    """One run on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.raw = path / RAW
        self._launches = 0
        self._folders: tuple[tuple[int, int], ...] = ()

    @property
    def name(self) -> str:
        """The run's name, which is the name of its directory."""
        return self.path.name

    @property
    def complete(self) -> bool:
        """Whether the run was finished and sealed; for a group, whether all of its runs were."""
        if (self.path / MEMBERS).is_dir():
            request = self.request()
            if request is None or request.members is None:
                return False
            packed = packed_members(self.path / MEMBERS)
            return all(
                n in packed or (self.member(n).path / SEAL).exists() for n in range(request.members)
            )
        if (self.path / SEAL).exists():
            return True
        members = self.path.parent
        return (
            members.name == MEMBERS and self.name.isdecimal() and is_packed(members, int(self.name))
        )

    def member(self, number: int) -> RunDirectory:
        """The run of a member of a group, which may not exist yet."""
        return RunDirectory(self.path / MEMBERS / f"{number:05d}")

    @property
    def begun(self) -> bool:
        """Whether it has a plan, and so a manifest."""
        return (self.path / MANIFEST).exists()

    def manifest(self) -> Manifest:
        """Read ``manifest.json``; raises AssayError if it is missing or can't be read."""
        if not self.begun and (self.path / REQUEST).exists():
            raise AssayError(
                "The run has no plan yet: its job has not started measuring.",
                where=str(self.path),
                fix="`assay runs --follow` shows the state of the job.",
            )
        self._check_member()
        manifest = _read(self.path / MANIFEST, Manifest, MANIFEST_SCHEMA)
        rule = manifest.plan.replication
        _check_time(manifest.utc, self.path / MANIFEST)
        _check_ids(manifest.plan, self.path / MANIFEST)
        given = [time for time in (rule.budget, rule.every) if time is not None]
        if min(given) <= 0.0 and not manifest.imported:
            raise _not_written("invalid times in the plan", self.path / MANIFEST)
        return manifest

    def _check_member(self) -> None:
        """Raises AssayError if a member of a group is a link, or lies in one."""
        if self.path.parent.name != MEMBERS:
            return
        for folder in (self.path.parent, self.path):
            try:
                plain_folder(folder)
            except OSError as error:
                raise cannot_read(folder, error) from None

    def facts(self) -> Facts:
        """The manifest's facts about the machine; raises AssayError as ``manifest`` does."""
        return _read(self.path / MANIFEST, Facts, MANIFEST_SCHEMA)

    def request(self) -> RunRequest | None:
        """Read ``request.json``; None for a run that was planned directly, without a request."""
        if not (self.path / REQUEST).exists():
            return None
        request = _read(self.path / REQUEST, RunRequest, REQUEST_SCHEMA)
        _check_time(request.utc, self.path / REQUEST)
        _check_names(request, self.path / REQUEST)
        return request

    def begin(self, manifest: Manifest) -> None:
        """Write the manifest of a run that so far had only a request. Raises AssayError."""
        write_atomically(self.path / MANIFEST, pretty_json(manifest))

    def launches(self) -> list[LaunchRecord]:
        """The launches whose end assay recorded; torn lines are skipped. Raises AssayError."""
        path = self.path / LAUNCHES
        try:
            lines = read_plain(path).split(b"\n")
        except FileNotFoundError:
            return []
        except OSError as error:
            raise cannot_read(path, error) from None
        records = []
        for line in lines:
            try:
                records.append(msgspec.json.decode(line, type=LaunchRecord))
            except UNREADABLE:
                continue
        return records

    def streams(self) -> list[Path]:
        """The raw streams, in the order of their launches. Raises AssayError."""
        try:
            return sorted(plain_folder(self.raw).glob("*.jsonl"))
        except OSError as error:
            raise cannot_read(self.raw, error) from None

    def new_launch(self) -> str:
        """A name for the next launch: its number in the run and random hexadecimal digits."""
        self._check_unmoved()
        # Listed once: listing a folder of thousands of files takes longer than starting a launch.
        self._launches = self._launches or len(self.streams())
        self._launches += 1
        return f"{self._launches - 1:04d}-{os.urandom(3).hex()}"

    def _check_unmoved(self) -> None:
        """Raises AssayError if the run's folders are not the same as at its first launch here."""
        try:
            here = [path.stat() for path in (self.path, plain_folder(self.raw))]
        except OSError as error:
            raise cannot_write(Path(error.filename or self.raw), error) from None
        found = tuple((status.st_dev, status.st_ino) for status in here)
        self._folders = self._folders or found
        if found != self._folders:
            raise Damaged(
                "The run's folder was replaced during the measurement.",
                where=str(self.path),
                fix="Check who can write to the folder of the runs.",
            )

    def append_launch(self, record: LaunchRecord) -> None:
        """Add one line to ``launches.jsonl``."""
        append_line(self.path / LAUNCHES, msgspec.json.encode(record))

    def append_nodes(self, nodes: Iterable[msgspec.Struct]) -> None:
        """Add a line to ``nodes.jsonl`` for each host, as surveyed now."""
        lines = [msgspec.json.encode(node) for node in nodes]
        if lines:
            append_line(self.path / NODES, b"\n".join(lines))

    @contextmanager
    def locked(self, *, patience: float = 0.0) -> Iterator[None]:
        """Lock the run for writing; waits up to ``patience`` seconds for other processes."""
        with hold(self.path / ".lock", patience=patience):
            self.clear_leftovers()
            yield

    def clear_leftovers(self) -> None:
        """Remove incomplete files that killed processes left in the run."""
        for folder in (self.path, self.raw, self.path / JOBS_FOLDER):
            clear_leftovers(folder)

    def summary(self) -> RunSummary | None:
        """The seal's summary of the run; None if the run isn't sealed or has another version.

        Raises AssayError if the seal can't be read.
        """
        path = self.path / SEAL
        try:
            content = read_plain(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise cannot_read(path, error) from None
        summary = _decode(content, _SealSummary, path).summary
        if summary is not None:
            _check_time(summary.utc, path)
        return summary if summary and summary.manifest == MANIFEST_SCHEMA else None

    def seal(self, summary: RunSummary | None = None) -> None:
        """Write checksums of all files except seal, reports and jobs, which completes the run.

        Records of jobs are left out, since the job that seals the run has not ended yet.
        """
        sums = {name: _sha256(self.path / name) for name in self._sealable()}
        seal = Seal(schema=1, utc=time.time(), files=sums, summary=summary)
        write_atomically(self.path / SEAL, msgspec.json.format(msgspec.json.encode(seal)))

    def broken_seal(self) -> list[str]:
        """Files that disagree with the seal: missing, changed or added files.

        Empty if all agree. Raises AssayError if the seal can't be read.
        """
        path = self.path / SEAL
        try:
            seal = _decode(read_plain(path), Seal, path)
            found = self._sealable()
            changed = [
                name
                for name, digest in seal.files.items()
                if not self._is_inside(name) or _sha256(self.path / name) != digest
            ]
        except OSError as error:
            raise cannot_read(Path(error.filename or path), error) from None
        except ValueError as error:  # an invalid file name
            raise _not_written(str(error), path) from None
        if MANIFEST not in seal.files:
            changed.append(f"{SEAL} (names no {MANIFEST})")
        return [*changed, *(f"{name} (was not sealed)" for name in found if name not in seal.files)]

    def _is_inside(self, name: str) -> bool:
        """Whether a name denotes a file in the run that is not reached through a link."""
        path = self.path / name
        if ".." in Path(name).parts or not path.is_relative_to(self.path) or not is_plain(path):
            return False
        return not any(
            folder.is_symlink() for folder in path.parents if self.path in folder.parents
        )

    def _sealable(self) -> list[str]:
        """The files that a seal holds, by their paths in the run."""
        paths = sorted(
            path.relative_to(self.path)
            for path in self.path.rglob("*")
            if path.is_symlink() or path.is_file()
        )
        return [
            str(path)
            for path in paths
            if not any(part.startswith(".") for part in path.parts)
            and path.parts[0] not in _UNSEALED
            and not path.parts[0].startswith("report")
        ]


class Damaged(AssayError):
    """A file of a run was damaged or edited."""


class _Versioned(msgspec.Struct):
    schema: int


def _read(path: Path, kind: type[_T], schema: int) -> _T:
    """A file of a run. Raises AssayError if it is missing or has another version."""
    try:
        content = read_plain(path)
    except FileNotFoundError:
        if is_run(path.parent):
            raise Damaged(
                f"The run has lost its {path.name}.",
                where=str(path.parent),
                fix="Restore it from a copy: without it the run can't be read.",
            ) from None
        raise AssayError(
            "There is no run here.", where=str(path.parent), fix="`assay runs` lists them."
        ) from None
    except OSError as error:
        raise cannot_read(path, error) from None
    version = _decode(content, _Versioned, path).schema
    if version != schema:
        raise AssayError(
            f"The run has schema version {version}; this assay reads {schema}.",
            where=str(path),
            fix="Use the version of assay that wrote it, or a newer one.",
        )
    return _decode(content, kind, path)


def _decode(content: bytes, kind: type[_T], path: Path) -> _T:
    try:
        return msgspec.json.decode(content, type=kind)
    except UNREADABLE as error:
        raise _not_written(str(error), path) from None


def _not_written(why: str, path: Path) -> Damaged:
    return Damaged(
        f"The content is not what assay wrote: {why}.",
        where=str(path),
        fix="The file was damaged or edited; restore it from a copy, or measure again.",
    )


def _check_time(utc: float, path: Path) -> None:
    """Raises Damaged for times outside the years 1970 to 9999."""
    if not 0.0 <= utc < _YEAR_10000:
        raise _not_written("an invalid time", path)


def _check_names(request: RunRequest, path: Path) -> None:
    """Raises Damaged for a tag or hosts that could be an option of a command, or match any job."""
    if not TAG.fullmatch(request.tag):
        raise _not_written(f"'{request.tag[:40]}' is not a tag of jobs", path)
    for host in request.hosts or ():
        if not HOST_NAME.fullmatch(host):
            raise _not_written(f"'{host[:80]}' is not the name of a host", path)


def _check_ids(plan: Plan, path: Path) -> None:
    """Raises Damaged if the plan refers to a cell that it doesn't have."""
    named = {*plan.expected, *plan.first, *plan.fitted, *plan.between}
    named |= plan.forecasts.keys() | plan.earlier.keys()
    if not named <= {cell.id for cell in plan.cells}:
        raise _not_written("it refers to cells that it doesn't have", path)


def _sha256(path: Path) -> str:
    with reading(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def list_runs(root: Path) -> list[RunDirectory]:
    """The runs under ``root``, oldest first; none if there is no such folder."""
    if not root.is_dir():
        return []
    clear_leftovers(root.resolve())
    # Sorted by name: comparing paths takes longer than reading thousands of them.
    names = sorted(name for name in os.listdir(root) if not name.startswith("."))  # noqa: PTH208
    return [RunDirectory(path) for name in names if is_run(path := root / name)]


def is_run(path: Path) -> bool:
    """Whether the path is a run or a group of runs, planned or only requested."""
    if (path / MANIFEST).is_file() or (path / REQUEST).is_file():
        return True
    # A run without its manifest is damaged, but still a run.
    return (path / SEAL).is_file() or ((path / RAW).is_dir() and (path / LAUNCHES).is_file())


def find_run(root: Path, name: str = "", *, incomplete: bool = False) -> RunDirectory:
    """The run at a path, or the run whose name contains ``name``, or the newest run.

    ``incomplete``: only unfinished runs are searched. Raises AssayError for none or several.
    """
    if name and is_run(Path(name)):
        return RunDirectory(Path(name))
    runs = [run for run in list_runs(root) if not (incomplete and run.complete)]
    if not name and incomplete:  # in a shared folder: this user's own runs
        runs = [run for run in runs if is_own(run.path)] or runs
    if not name:
        if not runs:
            kind = "unfinished run" if incomplete else "run"
            raise AssayError(
                f"There is no {kind}.", where=str(root), fix="`assay run quick` creates one."
            )
        return runs[-1]
    exact = [run for run in runs if run.name == name]
    found = exact or [run for run in runs if name in run.name]
    if len(found) == 1:
        return found[0]
    if not found:
        raise AssayError(
            f"There is no run '{name}'.",
            where=str(root),
            fix=nearest(name, (run.name for run in runs)),
        )
    raise AssayError(
        f"'{name}' is part of {len(found)} runs' names.",
        where=str(root),
        fix="Name one: " + ", ".join(run.name for run in found[:5]) + ".",
    )
