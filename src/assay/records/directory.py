"""The run directory: made, found, locked, appended to, sealed. The files are the database.

``manifest.json`` is written once at the start, ``raw/*.jsonl`` by the kernels, ``launches.jsonl`` a
line a launch; tables, report and seal follow from them and may be made again at any time.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

from assay import __version__
from assay.config import NO_PRICES, Prices
from assay.errors import AssayError, nearest
from assay.plans.model import Plan
from assay.records.files import append_line, cannot_write, write_atomically
from assay.records.model import MANIFEST_SCHEMA, LaunchRecord, Manifest
from assay.records.summary import RunSummary

MANIFEST = "manifest.json"
LAUNCHES = "launches.jsonl"
SEAL = "seal.json"
RAW = "raw"
REPORT = "report.html"

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
        """Whether the run was finished and sealed."""
        return (self.path / SEAL).exists()

    def manifest(self) -> Manifest:
        """Read ``manifest.json``; raises AssayError if it isn't one or is of another version."""
        path = self.path / MANIFEST
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            raise AssayError(
                "There is no run here.", where=str(self.path), mend="`assay runs` lists them."
            ) from None
        except OSError as error:
            raise AssayError(f"Can't read: {error.strerror}.", where=str(path)) from None
        version = _decode(content, _Versioned, path).schema
        if version != MANIFEST_SCHEMA:
            raise AssayError(
                f"The run has schema version {version}; this assay reads {MANIFEST_SCHEMA}.",
                where=str(path),
                mend="Use the assay that wrote it, or a newer one.",
            )
        return _decode(content, Manifest, path)

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
            except msgspec.DecodeError:
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

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the run for writing. The kernel drops the lock with the process, however it ends."""
        try:
            descriptor = os.open(self.path / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise cannot_write(self.path / ".lock", error) from None
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise AssayError(
                    "Another assay is working on this run.",
                    where=str(self.path),
                    mend="Wait for it, or start another run.",
                ) from None
            yield
        finally:
            os.close(descriptor)

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
        return summary if summary and summary.manifest == MANIFEST_SCHEMA else None

    def seal(self, summary: RunSummary | None = None) -> None:
        """Write checksums of everything that can't be made again. Last step of a complete run."""
        files = sorted(
            path
            for path in self.path.rglob("*")
            if path.is_file() and not path.name.startswith(".") and path.name not in (SEAL, REPORT)
        )
        sums = {str(path.relative_to(self.path)): _sha256(path) for path in files}
        seal = Seal(schema=1, utc=time.time(), files=sums, summary=summary)
        write_atomically(self.path / SEAL, msgspec.json.format(msgspec.json.encode(seal)))

    def broken_seal(self) -> list[str]:
        """Files that are missing or differ from what was sealed; empty if all is as it was."""
        path = self.path / SEAL
        seal = _decode(path.read_bytes(), Seal, path)
        return [
            name
            for name, digest in seal.files.items()
            if not (self.path / name).is_file() or _sha256(self.path / name) != digest
        ]


class _Versioned(msgspec.Struct):
    schema: int


def _decode(content: bytes, kind: type[_T], path: Path) -> _T:
    try:
        return msgspec.json.decode(content, type=kind)
    except msgspec.DecodeError as error:
        raise AssayError(
            f"This is not what was written: {error}.",
            where=str(path),
            mend="The file was damaged or edited; the raw records in the run are unharmed.",
        ) from None


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
) -> RunDirectory:
    """Make the run's directory with its manifest; it appears under its name only when whole.

    Raises AssayError where ``root`` can't be written.
    """
    utc = time.time()
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(utc))
    stem = "-".join((stamp, _word(system_name), _word(plan.name)))
    try:
        root.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{stem}.", dir=root))
        temporary.chmod(0o755)
        (temporary / RAW).mkdir()
    except OSError as error:
        raise cannot_write(root, error) from None
    try:
        for attempt in range(1, 1000):
            name = stem if attempt == 1 else f"{stem}-{attempt}"
            manifest = Manifest(
                schema=MANIFEST_SCHEMA,
                run=name,
                utc=utc,
                assay=__version__,
                command=command,
                plan=plan,
                system=system,
                toolchains=toolchains,
                prices=prices,
            )
            write_atomically(
                temporary / MANIFEST, msgspec.json.format(msgspec.json.encode(manifest))
            )
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
    return [
        RunDirectory(path)
        for path in sorted(root.iterdir())
        if not path.name.startswith(".") and (path / MANIFEST).is_file()
    ]


def find_run(root: Path, name: str = "", *, incomplete: bool = False) -> RunDirectory:
    """The run at a path, or the one whose name contains ``name``, or the newest.

    ``incomplete`` looks among the unfinished alone. Raises AssayError for none or several.
    """
    if name and (Path(name) / MANIFEST).is_file():
        return RunDirectory(Path(name))
    runs = [run for run in list_runs(root) if not (incomplete and run.complete)]
    if not name:
        if not runs:
            kind = "unfinished run" if incomplete else "run"
            raise AssayError(
                f"There is no {kind}.", where=str(root), mend="`assay run quick` makes one."
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
            mend=nearest(name, (run.name for run in runs)),
        )
    raise AssayError(
        f"'{name}' is part of {len(found)} runs' names.",
        where=str(root),
        mend="Name one: " + ", ".join(run.name for run in found[:5]) + ".",
    )
