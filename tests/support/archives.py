"""Archives of acceptances for tests: small ones, and ones that another party has rewritten."""

from __future__ import annotations

import gzip
import io
import tarfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np

from acceptance_runs import BEGIN, filed_run, normal_times
from assay.acceptance.archive.entries import END, header, padding
from assay.acceptance.archive.layout import (
    ABOUT,
    SIGNATURE,
    SUMS,
    ArchiveContents,
    digests_below,
    folder_of,
    sha256_of,
    sums_text,
)
from assay.acceptance.archive.signature import sign
from assay.acceptance.reading.contracts import read_contract
from assay.model.cell import Cell
from assay.records.directory import RunDirectory
from assay.records.reading import read_run
from assay.records.summary import summarise_run
from assay.report.acceptance.judging import judge
from records_builder import make_cell

PINGPONG = make_cell("network.pingpong", bytes=8)
CONTRACT = """schema = 1
title = "Test"
[[commitment]]
name = "Latency"
cells = "network.pingpong bytes=8"
at_most = "1 ms"
"""
Files = dict[str, bytes]


def stored_run(
    root: Path, median: float = 0.9e-3, launches: int = 6, *, sealed: bool = True, seed: int = 1,
    host: str = "box", cells: Sequence[Cell] = (PINGPONG,), utc: float = BEGIN,
) -> RunDirectory:  # fmt: skip
    """A run whose launches have this median; sealed if it was finished."""
    times: list[tuple[Cell, np.ndarray]] = [
        (cell, normal_times(seed + place, median, launches)) for place, cell in enumerate(cells)
    ]
    run = filed_run(root, times, host=host, utc=utc)
    if sealed:
        run.seal(summarise_run(read_run(run.path), launches=launches, tables=0))
    return run


def written_contract(folder: Path, text: str = CONTRACT) -> Path:
    """A contract's file."""
    path = folder / "contract.toml"
    path.write_text(text)
    return path


def bundled(folder: Path, *runs: RunDirectory, key: Path | None = None) -> Path:
    """The archive of these runs, which lie in one store."""
    path = folder / "archive.tar.gz"
    contract = read_contract(written_contract(folder))
    names = [str(run.path) for run in runs]
    judge(contract, runs[0].path.parent, names, bundle=path, key=key).bundle()
    return path


def files_in(archive: Path) -> Files:
    """The files of an archive by their paths, in its order."""
    with tarfile.open(archive) as tar:
        found = {}
        for entry in tar:
            content = tar.extractfile(entry)
            assert content is not None
            found[entry.name] = content.read()
        return found


def packed(entries: Mapping[str, bytes] | bytes) -> bytes:
    """An archive of exactly these files in this order, or of the bytes of a tar file."""
    if not isinstance(entries, bytes):
        parts = [header(n, len(c)) + c + bytes(padding(len(c))) for n, c in entries.items()]
        entries = b"".join(parts) + END
    deflate = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS)
    trailer = zlib.crc32(entries), len(entries)
    return (
        b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
        + deflate.compress(entries)
        + deflate.flush()
        + b"".join(each.to_bytes(4, "little") for each in trailer)
    )


def plain_tar(archive: Path) -> bytes:
    """The archive without compression."""
    return gzip.decompress(archive.read_bytes())


def other_tar(*entries: tarfile.TarInfo) -> bytes:
    """A tar file by Python's library, with entries that archives don't have."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for each in entries:
            tar.addfile(each, io.BytesIO(bytes(each.size)))
    return buffer.getvalue()


def rewritten(
    archive: Path, change: Callable[[Files], None], *, key: Path | None = None, keep: bool = False
) -> Path:
    """The archive after somebody changed its files and all digests, in a new file.

    ``key``: signs it again. ``keep``: the old signature stays.
    """
    files = files_in(archive)
    old = files.pop(SIGNATURE, None)
    files.pop(SUMS)
    change(files)
    sums = sums_text({name: sha256_of(content) for name, content in files.items()})
    signature = sign(sums, key) if key is not None else old if keep else None
    first = {SUMS: sums} | ({} if signature is None else {SIGNATURE: signature})
    path = archive.with_name("rewritten.tar.gz")
    path.write_bytes(packed({**first, **dict(sorted(files.items()))}))
    return path


def restated(files: Files, change: Callable[[ArchiveContents], ArchiveContents]) -> None:
    """Change what ``archive.json`` states, and state the digests that the runs now have."""
    about = change(msgspec.json.decode(files[ABOUT], type=ArchiveContents))
    digests = {name: sha256_of(content) for name, content in files.items()}
    digest = {
        each.name: sha256_of(sums_text(digests_below(digests, folder_of(each.name))))
        for each in about.runs
    }
    runs = [msgspec.structs.replace(each, digest=digest[each.name]) for each in about.runs]
    finals = ("manifest.json", "request.json", "seal.json")

    def final(run: str) -> dict[str, str]:
        inside = digests_below(digests, folder_of(run))
        return {name: inside[name] for name in finals if name in inside}

    store = [
        msgspec.structs.replace(each, digest=digest[each.name], files=final(each.name))
        if each.name in digest
        else each
        for each in about.store
    ]
    about = msgspec.structs.replace(about, runs=runs, store=store)
    files[ABOUT] = msgspec.json.format(msgspec.json.encode(about)) + b"\n"
