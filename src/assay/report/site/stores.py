"""The runs of stores, read only if they are new or changed since the last build."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from assay.errors import AssayError
from assay.records.directory import REPORT, SEAL, RunDirectory, is_run
from assay.records.listing import RunListing, describe_run
from assay.records.model import system_in_name
from assay.report.site.model import SiteRun, Stamp, shown_listing, stored

# States of runs that don't change unless their folder or seal does.
_FINAL = ("complete", "damaged", "unreadable")
_UNENCODABLE = "its name is not UTF-8"


def check_stores(stores: Sequence[Path]) -> list[Path]:
    """The folders of runs, each once. Raises AssayError if one is not a folder."""
    found: dict[Path, None] = {}
    for store in stores:
        if not store.is_dir():
            raise AssayError(
                "There is no folder of runs.",
                where=str(store),
                fix="Name the folders of runs, such as `assay site /shared/seth /shared/helix`.",
            )
        found[store.resolve()] = None
    return list(found)


def read_store(store: Path, known: Mapping[str, SiteRun]) -> dict[str, SiteRun]:
    """The runs of a store, by their names as ``stored`` writes them, oldest first.

    ``known``: the runs at the last build. Raises AssayError if the folder can't be read.
    """
    try:
        names = sorted(name for name in os.listdir(store) if not name.startswith("."))  # noqa: PTH208
    except OSError as error:
        raise AssayError(f"Can't read: {error.strerror}.", where=str(store)) from None
    folder = os.fspath(store)
    found = {}
    for name in names:
        stamp = _stamp(f"{folder}/{name}")
        if stamp is None:
            continue
        key = stored(name)
        before = known.get(key)
        if before is not None and before.stamp == stamp and _is_final(before.listing):
            found[key] = before
        elif is_run(store / name):
            found[key] = _read(RunDirectory(store / name), stamp)
    return found


def _is_final(listing: RunListing) -> bool:
    """Whether the listing holds while the run's stamp does; members of a group have own folders."""
    return listing.state in _FINAL and not (
        listing.members and set(listing.members) != {"complete"}
    )


def _stamp(path: str) -> Stamp | None:
    """The stamp of a run's folder; None if it is not a folder."""
    try:
        folder = os.stat(path)  # noqa: PTH116 - paths of thousands of runs take longer than this
    except OSError:
        return None
    try:
        seal = os.stat(f"{path}/{SEAL}")  # noqa: PTH116
    except OSError:
        return (folder.st_mtime_ns, 0, 0) if _is_folder(folder) else None
    return (folder.st_mtime_ns, seal.st_mtime_ns, seal.st_size)


def _is_folder(status: os.stat_result) -> bool:
    return (status.st_mode & 0o170000) == 0o040000


def _read(run: RunDirectory, stamp: Stamp) -> SiteRun:
    listing = describe_run(run)
    if listing.system is None and listing.suite is None:
        listing = msgspec.structs.replace(listing, system=_system_of(run.name))
    left_out = ""
    try:
        os.fsdecode(os.fsencode(run.name)).encode()
    except UnicodeEncodeError:
        left_out = _UNENCODABLE
    return SiteRun(
        stamp=stamp,
        listing=shown_listing(run, listing),
        report=(run.path / REPORT).is_file(),
        left_out=left_out,
    )


def _system_of(name: str) -> str | None:
    """The system of a run that can't be read, from a name such as ``TIME-SYSTEM-SUITE``."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return None
    return system_in_name(name, name.rpartition("-")[2]) or None
