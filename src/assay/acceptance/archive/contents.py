"""Which files of the judged runs an archive holds."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from assay.acceptance.archive.entries import check_name
from assay.acceptance.archive.layout import (
    IMPORTED,
    ArchivedRun,
    ArchivedSource,
    digests_below,
    folder_of,
    sha256_of,
    sums_text,
)
from assay.acceptance.archive.writing import Content
from assay.acceptance.measured import ContractRun
from assay.errors import AssayError
from assay.plain_files import reading
from assay.records.directory import MEMBERS, SEAL, RunDirectory
from assay.records.files import cannot_read
from assay.records.members.packs import PackedMember, packed_members, unpacked
from assay.records.model import ImportedSource


def files_of(run: RunDirectory) -> dict[str, tuple[Path, str]]:
    """The files of a run with their SHA-256, by their paths in it.

    Hidden files and reports are left out: the latter are made from the others. Raises AssayError
    for a file that can't be read, such as a link, or whose name isn't allowed.
    """
    found = {}
    for path in sorted(run.path.rglob("*")):
        parts = path.relative_to(run.path).parts
        hidden = any(part.startswith(".") for part in parts)
        if hidden or parts[0].startswith("report") or (path.is_dir() and not path.is_symlink()):
            continue
        name = "/".join(parts)
        try:
            check_name(f"{folder_of(run.name)}/{name}")
            with reading(path) as file:
                found[name] = (path, hashlib.file_digest(file, "sha256").hexdigest())
        except ValueError as error:
            raise AssayError(
                f"The file can't be archived: {error}.",
                where=str(path),
                fix="Move it out of the run, or rename it.",
            ) from None
        except OSError as error:
            raise cannot_read(path, error) from None
    return found


def digest_of(files: Mapping[str, tuple[Path, str]]) -> str:
    """The SHA-256 of the list of a run's files."""
    return sha256_of(sums_text({name: digest for name, (_, digest) in files.items()}))


def digest_in(digests: Mapping[str, str], run: str) -> str:
    """The same of a run in an archive with these files."""
    return sha256_of(sums_text(digests_below(digests, folder_of(run))))


def not_as_sealed(run: RunDirectory) -> list[str]:
    """Files of a run, or of the runs of a group, that changed after they were sealed.

    Raises AssayError if a seal or a pack can't be read.
    """
    changed = []
    for folder, part in _sealed_parts(run):
        with part as sealed:
            if (sealed.path / SEAL).exists():
                changed += [f"{folder}{name}" for name in sealed.broken_seal()]
    return changed


def archived(
    run: RunDirectory, files: Mapping[str, tuple[Path, str]], measured: Sequence[ContractRun]
) -> tuple[ArchivedRun, dict[str, Content]]:
    """A judged run's entry in ``archive.json``, and its files by their paths in the archive.

    ``files``: from before it was read. ``measured``: the runs of its folder.
    """
    contents: dict[str, Content] = {
        f"{folder_of(run.name)}/{name}": each for name, each in files.items()
    }
    sources = []
    for source in (each for one in measured for each in one.run.manifest.imported):
        path = _source(source)
        inside = ""
        if path is not None:
            inside = f"{IMPORTED}/{source.digest[:12]}-{_plain_name(path.name)}"
            contents[inside] = (path, source.digest)
        sources.append(ArchivedSource(Path(source.file).name, source.digest, inside))
    entry = ArchivedRun(
        name=run.name, complete=run.complete, digest=digest_of(files), sources=sources
    )
    return entry, contents


def _source(source: ImportedSource) -> Path | None:
    """The imported file, if it is still as it was imported."""
    path = Path(source.file)
    try:
        with reading(path) as file:
            same = hashlib.file_digest(file, "sha256").hexdigest() == source.digest
    except (OSError, ValueError):
        return None
    return path if same else None


def _plain_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "_", name)[-80:]


def _sealed_parts(
    run: RunDirectory,
) -> Iterator[tuple[str, AbstractContextManager[RunDirectory]]]:
    """A run, or the members of a group, each with the beginning of its files' names."""
    members = run.path / MEMBERS
    if not members.is_dir():
        yield "", nullcontext(run)
        return
    packed = packed_members(members)
    for number in sorted(packed):
        yield f"{MEMBERS}/{number:05d}/", _of_pack(packed[number])
    for path in sorted(members.iterdir()):
        if path.name.isdecimal() and int(path.name) not in packed:
            yield f"{MEMBERS}/{path.name}/", nullcontext(RunDirectory(path))


@contextmanager
def _of_pack(member: PackedMember) -> Iterator[RunDirectory]:
    with unpacked(member) as folder:
        yield RunDirectory(folder)
