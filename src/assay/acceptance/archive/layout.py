"""What lies where in an archive, and the digests that hold it together.

``SHA256SUMS`` lists the SHA-256 of every other file, in the format of sha256sum. The digest of an
archive's content is the SHA-256 of this list, and a signature signs the list.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import msgspec

from assay.acceptance.archive.entries import DamagedArchive
from assay.records.chain.previous import PreviousRun

ARCHIVE_SCHEMA = 1
SUMS = "SHA256SUMS"
SIGNATURE = f"{SUMS}.sig"
ABOUT = "archive.json"
CONTRACT = "contract.toml"
FINDINGS = "findings.json"
RUNS = "runs"
IMPORTED = "imported"
OUTAGES = "outages"
#: The files that every archive has, in addition to its runs.
FIXED = (ABOUT, CONTRACT, FINDINGS)
SUFFIX = ".tar.gz"
_HEX = frozenset("0123456789abcdef")
_DIGITS = 64


class ArchivedSource(msgspec.Struct, frozen=True):
    """A file whose numbers a run imported."""

    #: Its name without folders; "-" for standard input.
    name: str
    #: SHA-256, as the run recorded it.
    sha256: str
    #: Its path in the archive; empty if the file no longer has this digest or can't be read.
    path: str


class ArchivedRun(msgspec.Struct, frozen=True):
    """A judged run, whose files are in the archive."""

    name: str
    #: Whether it is sealed; for a group, whether all of its runs are.
    complete: bool
    #: SHA-256 of the list of its files (``sums_text``).
    digest: str
    sources: list[ArchivedSource]


class ArchivedOutages(msgspec.Struct, frozen=True):
    """A log of outages."""

    #: Its name without folders.
    name: str
    sha256: str
    #: Its path in the archive.
    path: str


class StoredAttempt(msgspec.Struct, frozen=True):
    """A run of the stores of the judged runs."""

    name: str
    #: Number of its store, from 1.
    store: int
    #: As in ``assay runs --json``.
    state: str
    #: Unix time of its begin, s; null if it can't be read.
    utc: float | None
    suite: str | None
    system: str | None
    #: Whether it was judged.
    judged: bool
    #: Whether it is an attempt: a run of the same machine with a cell of the contract.
    attempt: bool
    #: SHA-256 of its manifest, request and seal, where they exist.
    files: dict[str, str]
    #: SHA-256 of the list of its files, of an attempt; otherwise empty.
    digest: str
    #: What it recorded about the run before it; null in runs of earlier versions.
    previous: PreviousRun | None


class ArchiveContents(msgspec.Struct, frozen=True):
    """``archive.json``: what is in an archive, and what its stores held when it was made."""

    schema: int
    #: Version of assay.
    assay: str
    #: Versions of Python and of the libraries that compute the findings.
    versions: dict[str, str]
    #: SHA-256 of the contract's text.
    contract: str
    runs: list[ArchivedRun]
    #: The logs of outages, in the order in which they were named.
    outages: list[ArchivedOutages]
    #: Unix time at which availabilities were judged, s; null if the contract promises none.
    judged: float | None
    store: list[StoredAttempt]
    #: What the chains of the stores' runs lack, as sentences.
    gaps: list[str]


def sha256_of(content: bytes) -> str:
    """The SHA-256 of bytes, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def sums_text(digests: Mapping[str, str]) -> bytes:
    """The list of files in the format of sha256sum, in the order of their paths."""
    return "".join(f"{digests[name]}  {name}\n" for name in sorted(digests)).encode()


def parse_sums(content: bytes) -> dict[str, str]:
    """The digests in a list. Raises DamagedArchive for a list that ``sums_text`` doesn't write."""
    found = {}
    try:
        for line in content.decode().split("\n")[:-1]:
            digest, _, name = line.partition("  ")
            if len(digest) != _DIGITS or not _HEX.issuperset(digest):
                raise ValueError
            found[name] = digest
        if sums_text(found) != content:
            raise ValueError
    except ValueError:
        raise DamagedArchive(f"{SUMS} isn't as assay writes it.") from None
    return found


def run_of(path: str) -> str:
    """The run that a file in an archive belongs to; empty for other files."""
    first, _, rest = path.partition("/")
    return rest.partition("/")[0] if first == RUNS and "/" in rest else ""


def digests_below(digests: Mapping[str, str], folder: str) -> dict[str, str]:
    """The digests of the files below a folder, by their paths in it."""
    start = f"{folder}/"
    return {n.removeprefix(start): d for n, d in digests.items() if n.startswith(start)}


def folder_of(run: str) -> str:
    """The folder of a run in an archive."""
    return str(Path(RUNS) / run)
