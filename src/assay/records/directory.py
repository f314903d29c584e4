"""The run directory: made, found, locked, appended to, sealed. The files are the database.

``manifest.json`` is written once, when there is a plan, ``raw/*.jsonl`` by the kernels,
``launches.jsonl`` a line per launch; tables, report and seal follow from them and may be made again
at any time.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

from assay import __version__
from assay.config import NO_PRICES, Prices
from assay.decoding import UNREADABLE
from assay.errors import AssayError, nearest
from assay.model.plan import Plan
from assay.records.files import (
    append_line,
    cannot_write,
    clear_leftovers,
    hold,
    temporary_prefix,
    write_atomically,
)
from assay.records.jobs import FOLDER as JOBS_FOLDER
from assay.records.jobs import JOBS
from assay.records.model import MANIFEST_SCHEMA, LaunchRecord, Manifest
from assay.records.request import REQUEST, REQUEST_SCHEMA, RunRequest
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
    """``seal.json``: the SHA-256 of each file of a complete run, by its path in the run.

    ``summary``: what a list of runs says of it.
    """

    schema: int
    utc: float
    files: dict[str, str]
    summary: RunSummary | None = None


class _SealSummary(msgspec.Struct):
    """Of a seal the summary alone: there are more files than a list of runs should decode."""

    summary: RunSummary | None = None


class Facts(msgspec.Struct, frozen=True):
    """Of a manifest what tells of the machine, without the plan: a small part of a large file."""

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

    @property
    def name(self) -> str:
        """The run's name, which is its directory's."""
        return self.path.name

    @property
    def complete(self) -> bool:
        """Whether the run was finished and sealed; of a group, whether each of its runs was."""
        if (self.path / MEMBERS).is_dir():
            request = self.request()
            count = request.members if request else None
            return count is not None and all(self.member(n).complete for n in range(count))
        return (self.path / SEAL).exists()

    def member(self, number: int) -> RunDirectory:
        """Of a group: where a node's run lies, or will lie."""
        return RunDirectory(self.path / MEMBERS / f"{number:05d}")

    @property
    def begun(self) -> bool:
        """Whether it has a plan, and so a manifest."""
        return (self.path / MANIFEST).exists()

    def manifest(self) -> Manifest:
        """Read ``manifest.json``; raises AssayError if it isn't one or is of another version."""
        if not self.begun and (self.path / REQUEST).exists():
            raise AssayError(
                "The run has no plan yet: its job has not begun to measure.",
                where=str(self.path),
                fix="`assay runs --follow` says what has become of the job.",
            )
        manifest = _read(self.path / MANIFEST, Manifest, MANIFEST_SCHEMA)
        rule = manifest.plan.replication
        _check_time(manifest.utc, self.path / MANIFEST)
        given = [time for time in (rule.budget, rule.every) if time is not None]
        if min(given) <= 0.0 and not manifest.imported:
            raise _not_written("times of the plan that can't be", self.path / MANIFEST)
        return manifest

    def facts(self) -> Facts:
        """What the manifest says of the machine; raises AssayError as ``manifest`` does."""
        return _read(self.path / MANIFEST, Facts, MANIFEST_SCHEMA)

    def request(self) -> RunRequest | None:
        """Read ``request.json``; None for a run that was planned as it was begun."""
        if not (self.path / REQUEST).exists():
            return None
        request = _read(self.path / REQUEST, RunRequest, REQUEST_SCHEMA)
        _check_time(request.utc, self.path / REQUEST)
        return request

    def begin(self, manifest: Manifest) -> None:
        """Write the manifest of a run that had a request alone. Raises AssayError."""
        write_atomically(self.path / MANIFEST, _pretty(manifest))

    def launches(self) -> list[LaunchRecord]:
        """The launches that ended while assay was there to see it; torn lines are passed over."""
        try:
            lines = (self.path / LAUNCHES).read_bytes().split(b"\n")
        except FileNotFoundError:
            return []
        records = []
        for line in lines:
            try:
                records.append(msgspec.json.decode(line, type=LaunchRecord))
            except UNREADABLE:
                continue
        return records

    def streams(self) -> list[Path]:
        """The raw streams, in the order of their launches."""
        return sorted(self.raw.glob("*.jsonl"))

    def new_launch(self) -> str:
        """A name for the next launch: its number in the run, and letters no other process draws."""
        # Looked up once: in a folder of thousands that takes longer than to begin a launch.
        self._launches = self._launches or len(self.streams())
        self._launches += 1
        return f"{self._launches - 1:04d}-{os.urandom(3).hex()}"

    def append_launch(self, record: LaunchRecord) -> None:
        """Add one line to ``launches.jsonl``."""
        append_line(self.path / LAUNCHES, msgspec.json.encode(record))

    def append_nodes(self, nodes: Iterable[msgspec.Struct]) -> None:
        """Add a line to ``nodes.jsonl`` for each host as it is now."""
        lines = [msgspec.json.encode(node) for node in nodes]
        if lines:
            append_line(self.path / NODES, b"\n".join(lines))

    @contextmanager
    def locked(self, *, patience: float = 0.0) -> Iterator[None]:
        """Hold the run for writing; others who do are waited for ``patience`` seconds."""
        with hold(self.path / ".lock", patience=patience):
            self.clear_leftovers()
            yield

    def clear_leftovers(self) -> None:
        """Remove what killed processes have left half written in the run."""
        for folder in (self.path, self.raw, self.path / JOBS_FOLDER):
            clear_leftovers(folder)

    def summary(self) -> RunSummary | None:
        """What the seal says of the run; None where it isn't sealed, or not by this version.

        Raises AssayError if the seal can't be read.
        """
        path = self.path / SEAL
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise AssayError(f"Can't read: {error.strerror}.", where=str(path)) from None
        summary = _decode(content, _SealSummary, path).summary
        if summary is not None:
            _check_time(summary.utc, path)
        return summary if summary and summary.manifest == MANIFEST_SCHEMA else None

    def seal(self, summary: RunSummary | None = None) -> None:
        """Write checksums of everything that can't be made again. Last step of a complete run.

        What tells of jobs is left out: the one that seals the run has not ended yet.
        """
        sums = {name: _sha256(self.path / name) for name in self._sealable()}
        seal = Seal(schema=1, utc=time.time(), files=sums, summary=summary)
        write_atomically(self.path / SEAL, msgspec.json.format(msgspec.json.encode(seal)))

    def broken_seal(self) -> list[str]:
        """What is not as it was sealed: files that are missing, differ, or were not there.

        Empty if all is as it was. Raises AssayError if the seal can't be read.
        """
        path = self.path / SEAL
        try:
            seal = _decode(path.read_bytes(), Seal, path)
            found = self._sealable()
            changed = [
                name
                for name, digest in seal.files.items()
                if not (self.path / name).is_file() or _sha256(self.path / name) != digest
            ]
        except OSError as error:
            where = error.filename or path
            raise AssayError(f"Can't read: {error.strerror}.", where=str(where)) from None
        except ValueError as error:  # a name that can't be one
            raise _not_written(str(error), path) from None
        if MANIFEST not in seal.files:
            changed.append(f"{SEAL} (names no {MANIFEST})")
        return [*changed, *(f"{name} (was not sealed)" for name in found if name not in seal.files)]

    def _sealable(self) -> list[str]:
        """The files that a seal holds, by their paths in the run."""
        paths = sorted(
            path.relative_to(self.path) for path in self.path.rglob("*") if path.is_file()
        )
        return [
            str(path)
            for path in paths
            if not any(part.startswith(".") for part in path.parts)
            and path.parts[0] not in _UNSEALED
            and not path.parts[0].startswith("report")
        ]


class Damaged(AssayError):
    """A file of a run is not what was written."""


class _Versioned(msgspec.Struct):
    schema: int


def _read(path: Path, kind: type[_T], schema: int) -> _T:
    """A file of a run. Raises AssayError if it isn't there, or is of another version."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        if is_run(path.parent):
            raise Damaged(
                f"The run has lost its {path.name}.",
                where=str(path.parent),
                fix="Restore it from a copy: without it nothing of the run can be understood.",
            ) from None
        raise AssayError(
            "There is no run here.", where=str(path.parent), fix="`assay runs` lists them."
        ) from None
    except OSError as error:
        raise AssayError(f"Can't read: {error.strerror}.", where=str(path)) from None
    version = _decode(content, _Versioned, path).schema
    if version != schema:
        raise AssayError(
            f"The run has schema version {version}; this assay reads {schema}.",
            where=str(path),
            fix="Use the assay that wrote it, or a newer one.",
        )
    return _decode(content, kind, path)


def _pretty(struct: msgspec.Struct) -> bytes:
    return msgspec.json.format(msgspec.json.encode(struct))


def _decode(content: bytes, kind: type[_T], path: Path) -> _T:
    try:
        return msgspec.json.decode(content, type=kind)
    except UNREADABLE as error:
        raise _not_written(str(error), path) from None


def _not_written(why: str, path: Path) -> Damaged:
    return Damaged(
        f"This is not what was written: {why}.",
        where=str(path),
        fix="The file was damaged or edited; restore it from a copy, or measure again.",
    )


def _check_time(utc: float, path: Path) -> None:
    """Raises Damaged for what is no moment from 1970 to 9999."""
    if not 0.0 <= utc < _YEAR_10000:
        raise _not_written("a time that can't be", path)


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def create_run(
    root: Path,
    *,
    plan: Plan,
    system_name: str,
    system: dict[str, object],
    toolchains: dict[str, dict[str, object]],
    command: list[str],
    prices: Prices = NO_PRICES,
    fake: str | None = None,
    name: str | None = None,
) -> RunDirectory:
    """Make the run's directory with its manifest; it appears under its name only when whole.

    ``name``: of the directory; by default it tells time, system and suite. Raises AssayError where
    ``root`` can't be written.
    """
    utc = time.time()

    def fill(folder: Path, run: str) -> None:
        manifest = Manifest(
            schema=MANIFEST_SCHEMA,
            run=run,
            utc=utc,
            assay=__version__,
            command=command,
            plan=plan,
            system=system,
            toolchains=toolchains,
            prices=prices,
            fake=fake,
        )
        (folder / RAW).mkdir(exist_ok=True)
        write_atomically(folder / MANIFEST, _pretty(manifest))

    return _make(root, name or run_stem(utc, system_name, plan.name), fill)


def create_requested(root: Path, stem: str, request: RunRequest) -> RunDirectory:
    """Make the directory of a run, or of a group of them, that jobs will fill.

    ``stem``: its name, see ``run_stem``, if no other run has it. Raises AssayError.
    """

    def fill(folder: Path, run: str) -> None:
        for part in (JOBS_FOLDER, RAW if request.members is None else MEMBERS):
            (folder / part).mkdir(exist_ok=True)
        named = msgspec.structs.replace(request, run=run)
        write_atomically(folder / REQUEST, _pretty(named))

    return _make(root, stem, fill)


def create_imported(root: Path, stem: str, fill: Callable[[Path, str], None]) -> RunDirectory:
    """Make the directory of a run that ``fill`` writes whole, manifest and seal too.

    ``fill`` gets a folder and the run's name, and again with another name if one was taken
    meanwhile. ``stem``: the name, see ``run_stem``, if no other run has it. Raises AssayError.
    """

    def whole(folder: Path, run: str) -> None:
        (folder / RAW).mkdir(exist_ok=True)
        fill(folder, run)

    return _make(root, stem, whole)


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write ``manifest.json`` into a run's folder. Raises AssayError."""
    write_atomically(folder / MANIFEST, _pretty(manifest))


def run_stem(utc: float, system: str, suite: str) -> str:
    """What a run is called: time, system and suite, of which the last two lose odd characters."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(utc))
    return "-".join((stamp, _word(system), _word(suite)))


def _make(root: Path, stem: str, fill: Callable[[Path, str], None]) -> RunDirectory:
    """A run's directory, which ``fill`` gives its first files, under a name nobody else has."""
    try:
        root.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=temporary_prefix(stem), dir=root))
        temporary.chmod(0o755)
    except OSError as error:
        raise cannot_write(root, error) from None
    try:
        for attempt in range(1, 1000):
            name = stem if attempt == 1 else f"{stem}-{attempt}"
            fill(temporary, name)
            try:
                temporary.rename(root / name)  # fails where another run, never empty, has the name
            except FileExistsError:
                continue
            except OSError as error:
                if (root / name).exists():
                    continue
                raise cannot_write(root / name, error) from None
            return RunDirectory(root / name)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    raise AssayError("A thousand runs have this name.", where=str(root / stem))


def _word(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9.]+", "_", text).strip("_.") or "unnamed"


def list_runs(root: Path) -> list[RunDirectory]:
    """The runs under ``root``, oldest first; none if there is no such folder."""
    if not root.is_dir():
        return []
    clear_leftovers(root)
    return [
        RunDirectory(path)
        for path in sorted(root.iterdir())
        if not path.name.startswith(".") and is_run(path)
    ]


def is_run(path: Path) -> bool:
    """Whether a run lies there, or a group of them, planned already or only asked for."""
    if (path / MANIFEST).is_file() or (path / REQUEST).is_file():
        return True
    # One that has lost its manifest is still one.
    return (path / SEAL).is_file() or ((path / RAW).is_dir() and (path / LAUNCHES).is_file())


def find_run(root: Path, name: str = "", *, incomplete: bool = False) -> RunDirectory:
    """The run at a path, or the one whose name contains ``name``, or the newest.

    ``incomplete`` looks among the unfinished alone. Raises AssayError for none or several.
    """
    if name and is_run(Path(name)):
        return RunDirectory(Path(name))
    runs = [run for run in list_runs(root) if not (incomplete and run.complete)]
    if not name:
        if not runs:
            kind = "unfinished run" if incomplete else "run"
            raise AssayError(
                f"There is no {kind}.", where=str(root), fix="`assay run quick` makes one."
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
