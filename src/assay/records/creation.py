"""Creation of run directories under unused names; a directory gets its name when it is complete."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from assay.config import NO_PRICES, Prices
from assay.errors import AssayError
from assay.model.plan import Plan
from assay.plain_files import new_folder
from assay.records.access.trust import check_place
from assay.records.chain.previous import write_previous
from assay.records.directory import MANIFEST, MEMBERS, RAW, RunDirectory
from assay.records.files import cannot_write, pretty_json, temporary_prefix, write_atomically
from assay.records.jobs import FOLDER as JOBS_FOLDER
from assay.records.model import MANIFEST_SCHEMA, Manifest, name_part
from assay.records.request import REQUEST, RunRequest
from assay.version import VERSION


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
    """Create the run's directory with its manifest; it gets its name only when complete.

    ``name``: name of the directory, by default ``run_stem``. Raises AssayError if ``root`` can't be
    written.
    """
    utc = time.time()

    def fill(folder: Path, run: str) -> None:
        manifest = Manifest(
            schema=MANIFEST_SCHEMA,
            run=run,
            utc=utc,
            assay=VERSION,
            command=command,
            plan=plan,
            system=system,
            toolchains=toolchains,
            prices=prices,
            fake=fake,
        )
        (folder / RAW).mkdir(exist_ok=True)
        write_atomically(folder / MANIFEST, pretty_json(manifest))

    return _make(root, name or run_stem(utc, system_name, plan.name), fill)


def create_requested(root: Path, stem: str, request: RunRequest) -> RunDirectory:
    """Create the directory of a run, or of a group of runs, that jobs will fill.

    ``stem``: its name (``run_stem``), with a number appended if it is taken. Raises AssayError.
    """

    def fill(folder: Path, run: str) -> None:
        for part in (JOBS_FOLDER, RAW if request.members is None else MEMBERS):
            (folder / part).mkdir(exist_ok=True)
        named = msgspec.structs.replace(request, run=run)
        write_atomically(folder / REQUEST, pretty_json(named))

    return _make(root, stem, fill)


def create_imported(root: Path, stem: str, fill: Callable[[Path, str], None]) -> RunDirectory:
    """Create the directory of a run that ``fill`` writes completely, with manifest and seal.

    ``fill`` gets a folder and the run's name; it is called again with another name if that is
    taken. ``stem``: the name (``run_stem``), with a number appended if taken. Raises AssayError.
    """

    def whole(folder: Path, run: str) -> None:
        (folder / RAW).mkdir(exist_ok=True)
        fill(folder, run)

    return _make(root, stem, whole)


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write ``manifest.json`` into a run's folder. Raises AssayError."""
    write_atomically(folder / MANIFEST, pretty_json(manifest))


def run_stem(utc: float, system: str, suite: str) -> str:
    """The name of a run: time, system and suite, with special characters replaced by "_"."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(utc))
    return "-".join((stamp, name_part(system), name_part(suite)))


def _make(root: Path, stem: str, fill: Callable[[Path, str], None]) -> RunDirectory:
    """Create a run's directory under an unused name; ``fill`` writes its first files."""
    check_place(root)
    try:
        root.mkdir(parents=True, exist_ok=True)
        temporary = new_folder(temporary_prefix(stem), root)
    except OSError as error:
        raise cannot_write(root, error) from None
    try:
        write_previous(temporary, root)
        for attempt in range(1, 1000):
            name = stem if attempt == 1 else f"{stem}-{attempt}"
            try:
                fill(temporary, name)
            except OSError as error:
                if error.filename is not None:  # of a file that is read; the error names that file
                    raise
                raise cannot_write(root / name, error) from None
            try:
                temporary.rename(root / name)  # fails if another run (never empty) has the name
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
    raise AssayError("A thousand runs already have this name.", where=str(root / stem))
