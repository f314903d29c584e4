"""Bundles an acceptance as an archive: contract, judged runs, findings, the runs beside them."""

from __future__ import annotations

import dataclasses
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import msgspec

from assay.acceptance.archive.contents import archived, digest_of, files_of, not_as_sealed
from assay.acceptance.archive.layout import (
    ABOUT,
    ARCHIVE_SCHEMA,
    CONTRACT,
    FINDINGS,
    OUTAGES,
    ArchiveContents,
    ArchivedOutages,
    ArchivedRun,
    StoredAttempt,
    sha256_of,
    sums_text,
)
from assay.acceptance.archive.signature import sign
from assay.acceptance.archive.writing import (
    Content,
    changed,
    check_target,
    digests_of,
    write_archive,
)
from assay.acceptance.attempts import RunInStore
from assay.acceptance.contract import Contract
from assay.acceptance.measured import ContractRun
from assay.errors import AssayError
from assay.plain_files import read_plain
from assay.questions.common.findings import findings_json
from assay.records.directory import RunDirectory
from assay.records.files import cannot_read
from assay.records.summary import last_moment
from assay.subjects.acceptance.model import AcceptanceFindings
from assay.version import VERSION

# The libraries whose versions may change the last digit of a number.
_LIBRARIES = ("numpy", "scipy")
_Files = Mapping[str, tuple[Path, str]]


@dataclass(frozen=True)
class BundleRequest:
    """What ``--bundle`` and ``--sign`` request, with the judged runs' files as they were before the
    runs were read."""

    path: Path
    key: Path | None
    files: Mapping[str, _Files]


def bundle_request(
    path: Path | None, key: Path | None, judged: Sequence[RunDirectory]
) -> BundleRequest | None:
    """The request, or None without ``--bundle``.

    Raises AssayError for a name without the right suffix, for two runs of one name, and for runs
    that are not as they were sealed.
    """
    if path is None:
        return None
    check_target(path)
    files: dict[str, _Files] = {}
    for run in judged:
        if run.name in files:
            raise AssayError(
                "Two of the runs have this name.", where=str(run.path), fix="Rename one of them."
            )
        broken = not_as_sealed(run)
        if broken:
            raise AssayError(
                f"The run isn't as it was sealed: {broken[0]}.",
                where=str(run.path),
                fix="Restore it from a copy, or leave it out.",
            )
        files[run.name] = files_of(run)
    return BundleRequest(path, key, files)


def write_bundle(
    request: BundleRequest,
    contract: Contract,
    *,
    judged: Sequence[RunDirectory],
    measured: Sequence[ContractRun],
    stored: Sequence[RunInStore],
    outages: Sequence[Path],
    found: AcceptanceFindings,
) -> str:
    """Write the archive, and return the digest of its content. Raises AssayError."""
    path = Path(contract.file)
    text = _plain(path)
    if sha256_of(text) != contract.digest:
        raise changed(path)
    contents: dict[str, Content] = {CONTRACT: text}
    runs: list[ArchivedRun] = []
    for run in judged:
        of_run = [each for each in measured if each.name == run.name]
        entry, files = archived(run, request.files[run.name], of_run)
        runs.append(entry)
        contents |= files
    logs: list[ArchivedOutages] = []
    for number, log in enumerate(outages, start=1):
        content = _plain(log)
        inside = f"{OUTAGES}/{number:02d}"
        logs.append(ArchivedOutages(name=log.name, sha256=sha256_of(content), path=inside))
        contents[inside] = content
    about = ArchiveContents(
        schema=ARCHIVE_SCHEMA,
        assay=VERSION,
        versions=versions_here(),
        contract=contract.digest,
        runs=runs,
        outages=logs,
        judged=found.utc if contract.availabilities else None,
        store=[_stored(each, found, request) for each in stored],
        gaps=found.gaps,
    )
    contents[ABOUT] = _json(msgspec.to_builtins(about))
    contents[FINDINGS] = _json(findings_json(as_archived(found, measured)))
    sums = sums_text(digests_of(contents))
    signature = None if request.key is None else sign(sums, request.key)
    write_archive(request.path, contents, signature)
    return sha256_of(sums)


def as_archived(found: AcceptanceFindings, measured: Sequence[ContractRun]) -> AcceptanceFindings:
    """The findings as an archive has them: the same for the same runs, whenever they are judged.

    Their time is the latest that the runs record, and their file is the archive's contract.
    """
    latest = [last_moment(each.run) or each.run.manifest.utc for each in measured]
    return dataclasses.replace(found, utc=max(latest, default=0.0), file=CONTRACT)


def versions_here() -> dict[str, str]:
    """The versions of Python and of the libraries that compute findings, and the architecture."""
    return {
        "python": platform.python_version(),
        **{name: version(name) for name in _LIBRARIES},
        "architecture": platform.machine(),
    }


def _stored(each: RunInStore, found: AcceptanceFindings, request: BundleRequest) -> StoredAttempt:
    name = each.directory.name
    attempts = {attempt.name: attempt for attempt in found.attempts}
    attempt = attempts.get(name)
    files = request.files.get(name) if each.judged else None
    if files is None and attempt is not None:
        files = _readable(each.directory)
    return StoredAttempt(
        name=name,
        store=each.store,
        state=each.listing.state,
        utc=each.listing.utc,
        suite=each.listing.suite,
        system=each.listing.system,
        judged=each.judged,
        attempt=attempt is not None,
        files=dict(each.link.files),
        digest="" if files is None else digest_of(files),
        previous=each.link.previous,
    )


def _readable(run: RunDirectory) -> _Files | None:
    """The files of a run that isn't judged; None if one can't be read."""
    try:
        return files_of(run)
    except AssayError:
        return None


def _plain(path: Path) -> bytes:
    try:
        return read_plain(path.resolve())
    except OSError as error:
        raise cannot_read(path, error) from None


def _json(value: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value)) + b"\n"
