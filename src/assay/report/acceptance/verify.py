"""Verifies an archive: its files, its signature, and every number from the runs' records again."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from assay.acceptance.archive.contents import digest_in, not_as_sealed
from assay.acceptance.archive.entries import DamagedArchive
from assay.acceptance.archive.layout import (
    ABOUT,
    ARCHIVE_SCHEMA,
    CONTRACT,
    FINDINGS,
    FIXED,
    IMPORTED,
    OUTAGES,
    RUNS,
    ArchiveContents,
    ArchivedRun,
    folder_of,
    run_of,
)
from assay.acceptance.archive.signature import SignatureCheck, check_signature, check_signers
from assay.acceptance.archive.unpacking import MOST_READ, UnpackedArchive, unpacked_archive
from assay.acceptance.attempts import Attempt, attempts_of, by_time, gaps_of, stored_beside
from assay.acceptance.contract import Contract
from assay.acceptance.decision import Outcome
from assay.acceptance.measured import measured_in
from assay.acceptance.reading.contracts import read_contract
from assay.decoding import UNREADABLE
from assay.errors import AssayError
from assay.plain_files import read_plain
from assay.questions.common.findings import findings_json
from assay.records.chain.gaps import ChainedRun
from assay.records.chain.previous import final_digests, read_previous
from assay.records.directory import RunDirectory
from assay.report.acceptance.bundle import as_archived, versions_here
from assay.report.acceptance.outages import read_outages
from assay.subjects.acceptance.findings import find
from assay.subjects.acceptance.further import Outages
from assay.subjects.acceptance.model import AcceptanceFindings
from assay.units import counted
from assay.version import VERSION

VERIFIED_SCHEMA = 1
# Members of a group, and numbers that differ, of which more are counted.
_MOST_MEMBERS, _MOST_NUMBERS = 100_000, 40
_T = TypeVar("_T")

#: ``file``: its bytes are not as listed. ``run``: it isn't as the archive states, or as it was
#: sealed. ``record``: it can't be read or evaluated. ``store``: what the archive states about the
#: stores contradicts itself. ``contract``: it is another one. ``number``: it isn't what the runs'
#: records give. ``signature``: it doesn't fit, or isn't an allowed signer's.
DifferenceKind = Literal["file", "run", "record", "store", "contract", "number", "signature"]


@dataclass(frozen=True)
class Difference:
    """Something in an archive that was changed, added or left out, or that contradicts itself."""

    kind: DifferenceKind
    #: One sentence.
    what: str
    #: The file in the archive, and the run; empty for others.
    file: str = ""
    run: str = ""


@dataclass(frozen=True)
class VerifiedArchive:
    """What a verification found."""

    #: Version of this document.
    schema: int
    file: str
    #: SHA-256 of the file, and of the archive's content, which a signature covers.
    sha256: str
    digest: str
    #: Whether nothing differs. The exit status is 0 if so, or else 1.
    verified: bool
    #: Versions of assay: which made the archive, and which verified it.
    made_by: str
    verified_by: str
    #: Title and SHA-256 of the contract.
    title: str
    contract: str
    #: The verdict by the records; None if they can't be evaluated.
    outcome: Outcome | None
    #: Names of the judged runs, and of the attempts that weren't judged.
    judged: list[str]
    not_judged: list[str]
    signature: SignatureCheck
    differences: list[Difference]
    #: What limits the verification, as sentences.
    notes: list[str]


def verify(archive: Path, held: Path | None, signers: Path | None) -> VerifiedArchive:
    """Verify an archive.

    ``held``: the contract that the verifier holds. ``signers``: a file of allowed signers. Raises
    AssayError if a file can't be read or isn't what it should be, and DamagedArchive for an archive
    whose form is wrong.
    """
    check_signers(signers)
    own = None if held is None else read_contract(held)
    with unpacked_archive(archive) as found:
        check = _Check(found)
        about = check.files()
        check.signature(signers)
        outcome = None
        if about is not None:
            if own is not None and own.digest != about.contract:
                check.differs(
                    "contract",
                    f"The archive is about another contract: its SHA-256 is {about.contract}, and "
                    f"that of {held} is {own.digest}.",
                )
            check.store(about)
            outcome = check.numbers(about)
            check.limits(about)
        return VerifiedArchive(
            schema=VERIFIED_SCHEMA,
            file=str(archive),
            sha256=found.sha256,
            digest=found.digest,
            verified=not check.differences,
            made_by=about.assay if about else "",
            verified_by=VERSION,
            title=check.title,
            contract=about.contract if about else "",
            outcome=outcome,
            judged=[each.name for each in about.runs] if about else [],
            not_judged=[e.name for e in about.store if e.attempt and not e.judged] if about else [],
            signature=check.signed,
            differences=check.differences,
            notes=check.notes,
        )


class _Check:
    """A verification in progress: the differences and notes so far."""

    def __init__(self, archive: UnpackedArchive) -> None:
        self.archive = archive
        self.differences: list[Difference] = []
        self.notes: list[str] = []
        self.title = ""
        self.signed = SignatureCheck("unsigned")
        #: The judged runs that have files in the archive; other names may lead anywhere.
        self.runs: list[str] = []

    def differs(self, kind: DifferenceKind, what: str, file: str = "", run: str = "") -> None:
        """Note a difference."""
        self.differences.append(Difference(kind, what, file, run))

    def files(self) -> ArchiveContents | None:
        """Compare the files with their list, and the runs' folders with the list of runs.

        Returns ``archive.json``, or None if a file that every archive has is missing.
        """
        listed, found = self.archive.listed, self.archive.found
        for name in sorted(listed.keys() | found.keys()):
            run = run_of(name)
            of = f" of run {run}" if run else ""
            if name not in found:
                self.differs("file", f"{name}{of} was left out.", name, run)
            elif name not in listed:
                self.differs("file", f"{name}{of} was added.", name, run)
            elif listed[name] != found[name]:
                self.differs("file", f"{name}{of} was changed.", name, run)
        if any(name not in found for name in FIXED):
            return None
        about = self._json(ABOUT, ArchiveContents)
        known = {each.name for each in about.runs}
        for name in sorted(found):
            top = name.partition("/")[0]
            if top == RUNS and run_of(name) not in known:
                self.differs(
                    "run", f"{name} belongs to no judged run: it was added.", name, run_of(name)
                )
            elif top not in (RUNS, IMPORTED, OUTAGES) and name not in FIXED:
                self.differs("file", f"{name} doesn't belong into an archive.", name)
        if about.contract != found[CONTRACT]:
            self.differs("contract", f"{CONTRACT} isn't the contract that was judged.", CONTRACT)
        self._logs(about)
        for each in about.runs:
            self._run(each)
        return about

    def _logs(self, about: ArchiveContents) -> None:
        """Compare the logs of outages with those that were judged."""
        found = self.archive.found
        logs = {each.path: each for each in about.outages}
        there = {name for name in found if name.startswith(f"{OUTAGES}/")}
        for name in sorted(there | logs.keys()):
            if name not in logs:
                self.differs("file", f"{name} isn't a log that was judged: it was added.", name)
            elif found.get(name) != logs[name].sha256:
                what = f"{name} isn't the log {logs[name].name} that was judged."
                self.differs("file", what, name)

    def _run(self, each: ArchivedRun) -> None:
        """Compare a judged run with what the archive states, and with its own seal."""
        found = self.archive.found
        if not any(run_of(name) == each.name for name in found):
            self.differs("run", f"Run {each.name} was left out.", run=each.name)
            return
        if each.name in self.runs:
            self.differs("run", f"Run {each.name} is listed twice.", run=each.name)
            return
        self.runs.append(each.name)
        if digest_in(found, each.name) != each.digest:
            self.differs(
                "run", f"The files of run {each.name} aren't those that were judged.", run=each.name
            )
        run = self._directory(each.name)
        for name in self._tried(lambda: not_as_sealed(run), each.name) or ():
            self.differs(
                "run",
                f"{name} of run {each.name} isn't as it was sealed.",
                f"{folder_of(each.name)}/{name}",
                each.name,
            )
        if self._tried(lambda: run.complete, each.name) is not each.complete:
            self.differs("run", f"Run {each.name} isn't complete as stated.", run=each.name)
        for source in each.sources:
            if not source.path:
                self.notes.append(
                    f"The imported file {source.name} of run {each.name} isn't in the archive: its "
                    "numbers can't be compared with it."
                )
            elif found.get(source.path) != source.sha256:
                self.differs(
                    "file",
                    f"{source.path} isn't the file that run {each.name} imported.",
                    source.path,
                    each.name,
                )

    def signature(self, signers: Path | None) -> None:
        """Check the signature. With ``signers``, only an allowed signer's will do."""
        check = check_signature(self.archive.sums, self.archive.signature, signers)
        self.signed = check
        if check.state == "invalid":
            self.differs("signature", "The signature doesn't belong to this archive.")
        elif signers is not None and check.state == "unsigned":
            self.differs("signature", "The archive isn't signed.")
        elif signers is not None and check.state == "unknown":
            self.differs("signature", f"{signers} doesn't have the signature's key {check.key}.")
        elif check.state == "unchecked":
            why = "There is no ssh-keygen to check the signature with."
            if signers is not None:
                self.differs("signature", why)
            else:
                self.notes.append(why)

    def store(self, about: ArchiveContents) -> None:
        """Compare the list of the stores' runs with the judged runs and with itself."""
        listed = {each.name: each for each in about.store if each.judged}
        for name in sorted(listed.keys() ^ {each.name for each in about.runs}):
            self.differs("store", f"Run {name} is judged in one list and not in another.", run=name)
        for name in sorted(listed.keys() & set(self.runs)):
            each, path = listed[name], self._directory(name).path
            same = each.files == final_digests(path) and each.previous == read_previous(path)
            if not same or each.digest != digest_in(self.archive.found, name):
                self.differs("store", f"The list of runs states another run {name}.", run=name)
        links = [(e.store, ChainedRun(e.name, e.previous, e.files)) for e in about.store]
        if gaps_of(links) != about.gaps:
            self.differs("store", "The list of runs has other gaps than the archive states.", ABOUT)

    def numbers(self, about: ArchiveContents) -> Outcome | None:
        """Judge the runs of the archive again, and compare the findings field by field."""
        stored = self._json(FINDINGS, dict[str, Any])
        contract = self._tried(self._contract)
        if contract is None:
            return None
        self.title = contract.title
        judged = [self._directory(name) for name in self.runs]
        found = self._tried(lambda: self._judged(contract, judged, stored, about))
        if found is None:
            return None
        recomputed = msgspec.json.decode(msgspec.json.encode(findings_json(found)))
        different = self._tried(lambda: list(differing(stored, recomputed))) or []
        for name, one, other in different[:_MOST_NUMBERS]:
            self.differs(
                "number", f"{name} is {one} in {FINDINGS}, and {other} by the records.", FINDINGS
            )
        if len(different) > _MOST_NUMBERS:
            more = counted(len(different) - _MOST_NUMBERS, "further field")
            self.differs("number", f"{more} of {FINDINGS} differ.", FINDINGS)
        return found.outcome

    def limits(self, about: ArchiveContents) -> None:
        """Note what limits the verification."""
        self.notes += about.gaps
        if about.assay != VERSION:
            self.notes.append(
                f"assay {about.assay} made the archive, and assay {VERSION} verified it: a method "
                "that changed gives other numbers."
            )
        here = versions_here()
        other = [
            f"{name} {about.versions.get(name, '?')} there and {here[name]} here"
            for name in here
            if about.versions.get(name) != here[name]
        ]
        if other:
            self.notes.append(f"Versions differ, which can change last digits: {', '.join(other)}.")
        left = [each for each in about.store if each.attempt and not each.judged]
        if left:
            self.notes.append(
                f"{counted(len(left), 'attempt')} {'was' if len(left) == 1 else 'were'} not "
                f"judged. The archive has only medians of them, and digests in {ABOUT} that "
                "identify their files."
            )

    def _contract(self) -> Contract:
        return dataclasses.replace(read_contract(self.archive.folder / CONTRACT), file=CONTRACT)

    def _judged(
        self,
        contract: Contract,
        judged: Sequence[RunDirectory],
        stored: dict[str, Any],
        about: ArchiveContents,
    ) -> AcceptanceFindings:
        for run in judged:
            request = run.request()
            if request is not None and (request.members or 0) > _MOST_MEMBERS:
                raise AssayError(f"Run {run.name} can't have {request.members:,} members.")
        measured = [each for run in judged for each in measured_in(run)]
        names = {run.name for run in judged}
        again = attempts_of(contract, measured, stored_beside(judged))
        attempts = [each for each in again if each.name in names]
        others = msgspec.convert(stored.get("attempts", []), list[Attempt])
        attempts += [each for each in others if not each.judged]
        listed = {each.name for each in about.store if each.attempt}
        for name in sorted(listed ^ {each.name for each in attempts}):
            self.differs("store", f"Run {name} is an attempt in one list only.", run=name)
        found = find(
            contract,
            measured,
            self._outages(contract, about),
            by_time(attempts),
            about.gaps,
            now=about.judged,
        )
        return as_archived(found, measured)

    def _outages(self, contract: Contract, about: ArchiveContents) -> Outages | None:
        listed = [each for each in about.outages if each.path in self.archive.found]
        paths = [self.archive.folder / each.path for each in listed]
        logs = read_outages(paths, contract)
        if logs is None:
            return None
        return dataclasses.replace(logs, sources=[each.name for each in listed])

    def _directory(self, run: str) -> RunDirectory:
        return RunDirectory(self.archive.folder / folder_of(run))

    def _json(self, name: str, kind: type[_T]) -> _T:
        """A file of the archive. Raises AssayError for another schema, or if it can't be read."""
        path = self.archive.folder / name
        if path.stat().st_size > MOST_READ:
            raise DamagedArchive(f"The archive's {name} is too large.")
        content = read_plain(path)
        try:
            if kind is ArchiveContents:
                schema = msgspec.json.decode(content, type=dict[str, Any]).get("schema")
                if isinstance(schema, int) and schema != ARCHIVE_SCHEMA:
                    raise AssayError(
                        f"The archive has schema version {schema}; this assay reads "
                        f"{ARCHIVE_SCHEMA}.",
                        where=ABOUT,
                        fix="Use the version of assay that wrote it, or a newer one.",
                    )
            return msgspec.json.decode(content, type=kind)
        except UNREADABLE as error:
            raise DamagedArchive(
                f"The archive's {name} isn't as assay writes it: {error}."
            ) from None

    def _tried(self, read: Callable[[], _T], run: str = "") -> _T | None:
        """The result, or a difference if the records of the other party can't be evaluated."""
        try:
            return read()
        except AssayError as error:
            what = str(error).replace(f"{self.archive.folder}/", "")
        except Exception as error:
            what = f"The records can't be evaluated: {type(error).__name__}: {error}."
        self.differs("record", what, run=run)
        return None


def differing(one: object, other: object, name: str = "") -> Iterator[tuple[str, str, str]]:
    """The fields in which two JSON values differ, each with both values; numbers to the last
    digit."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted(one.keys() | other.keys()):
            inner = f"{name}.{key}" if name else key
            if key not in one or key not in other:
                yield inner, _shown(one.get(key), key in one), _shown(other.get(key), key in other)
            else:
                yield from differing(one[key], other[key], inner)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for place, (first, second) in enumerate(zip(one, other, strict=True)):
            yield from differing(first, second, f"{name}[{place}]")
    elif type(one) is not type(other) or repr(one) != repr(other):
        yield name, _shown(one), _shown(other)


def _shown(value: object, there: bool = True) -> str:
    if not there:
        return "missing"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return "a table" if isinstance(value, dict) else repr(value)[:100]
