"""The files of a run without private names, so that every command reads them like the originals."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

from assay.decoding import UNREADABLE
from assay.plain_files import read_plain
from assay.records.directory import LAUNCHES, MANIFEST, NODES, RAW, SEAL, RunDirectory, Seal
from assay.records.files import cannot_read, pretty_json
from assay.records.model import RunData
from assay.records.summary import summarise_run
from assay.report.anonymous.names import Names
from assay.report.anonymous.runs import replaced, without_names

# Fields of records that name measurements by their cells.
_OF_CELLS = ("measurement", "blamed")


def files_without_names(directory: RunDirectory, data: RunData, names: Names) -> dict[str, bytes]:
    """The files by their paths in the run: manifest, launches, nodes, streams and a new seal.

    Left out are the tables, which assay computes from the streams, the output of launchers, the
    request, what concerns jobs, and the name of the previous run. Raises AssayError.
    """
    changed = without_names(data, names)
    ids = {
        old.id: new.id
        for old, new in zip(data.manifest.plan.cells, changed.manifest.plan.cells, strict=True)
        if old.id != new.id
    }
    files = {
        MANIFEST: pretty_json(changed.manifest),
        LAUNCHES: b"".join(msgspec.json.encode(each) + b"\n" for each in changed.launches),
    }
    if (directory.path / NODES).exists():
        files[NODES] = _lines(directory, NODES, names, ids)
    for stream in directory.streams():
        name = f"{RAW}/{stream.name}"
        files[name] = _lines(directory, name, names, ids)
    summary = directory.summary()
    if summary is not None:
        files[SEAL] = _seal(directory, changed, files)
    return files


def _seal(directory: RunDirectory, changed: RunData, files: Mapping[str, bytes]) -> bytes:
    """A seal over the changed files, with the time of the original."""
    path = directory.path / SEAL
    old = msgspec.json.decode(read_plain(path), type=Seal)
    streams = sum(name.startswith(f"{RAW}/") for name in files)
    seal = Seal(
        schema=old.schema,
        utc=old.utc,
        files={name: hashlib.sha256(each).hexdigest() for name, each in sorted(files.items())},
        summary=summarise_run(changed, launches=streams, tables=0),
    )
    return msgspec.json.format(msgspec.json.encode(seal))


def _lines(directory: RunDirectory, name: str, names: Names, ids: Mapping[str, str]) -> bytes:
    path = directory.path / name
    try:
        lines = read_plain(path).split(b"\n")
    except OSError as error:
        raise cannot_read(path, error) from None
    done = []
    for line in lines:
        try:
            record = msgspec.json.decode(line)
        except UNREADABLE:
            continue  # torn lines are not readable in the original, either
        done.append(msgspec.json.encode(_record(record, names, ids)) + b"\n")
    return b"".join(done)


def _record(record: Any, names: Names, ids: Mapping[str, str]) -> Any:  # noqa: ANN401
    changed = replaced(record, names)
    if isinstance(changed, dict):
        # Names of kernels are not private, and samples have no names.
        for field in ("kernel", "series", "record"):
            if field in record:
                changed[field] = record[field]
        for field in _OF_CELLS:
            if isinstance(record.get(field), str):
                cell, dash, replicate = record[field].rpartition("-")
                changed[field] = f"{ids.get(cell, cell)}{dash}{replicate}"
    return changed
