"""Reads logs: plain or gzip, of several formats in one call, each recognised by its content."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, cast

from assay.errors import AssayError
from assay.usage.accounts import formats
from assay.usage.accounts.model import AccountFormat, Log
from assay.usage.jobs import JobCollector, Jobs, MachineFacts
from assay.usage.problems import Problems

# Bytes at the beginning of a file by which it is recognised.
_HEAD = 1 << 16
# Gets the name of a stage, how much of it is done, and how much there is.
Watch = Callable[[str, float, float], None]
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True)
class Accounts:
    """A log: its jobs, what it says of the machine, its problems, and the formats of its files."""

    jobs: Jobs
    machine: MachineFacts
    problems: Problems
    formats: list[str]


def read_accounts(paths: Sequence[Path], watch: Watch | None = None) -> Accounts:
    """Read all files as one log. ``watch`` gets the stage, the bytes read, and all.

    Raises AssayError for a file that can't be read or is of no known format, and for a log without
    any job. An empty file (as after a rotation) holds no jobs.
    """
    out = JobCollector()
    titles = []
    sizes = [path.stat().st_size if path.is_file() else 0 for path in paths]
    for place, path in enumerate(paths):
        out.begin(path.name)
        try:
            with path.open("rb") as raw:
                if watch is not None:
                    before, total = sum(sizes[:place]), sum(sizes)
                    out.watch = partial(_tell, watch, raw, before, total)
                found = _read(raw, path, out)
        except OSError as error:
            raise AssayError(
                f"It can't be read: {error.strerror or error}.",
                where=str(path),
                fix="Name a file of accounts, plain or gzip.",
            ) from None
        if found:
            titles.append(found.title)
    out.watch = None
    jobs = out.jobs()
    if not len(jobs):
        problems = "; ".join(
            f"{each.count} × {each.kind} ({out.files[each.places[0][0]]}:{each.places[0][1]})"
            for each in out.problems.found()
        )
        raise AssayError(
            "The log holds no jobs.",
            where=", ".join(path.name for path in paths),
            fix=f"Records that could not be used: {problems}."
            if problems
            else "The file is empty.",
        )
    return Accounts(jobs, out.machine, out.problems, list(dict.fromkeys(titles)))


def _tell(watch: Watch, raw: IO[bytes], before: int, total: int) -> None:
    if not raw.closed:
        watch("reading", before + raw.tell(), max(total, 1))


def _read(raw: IO[bytes], path: Path, out: JobCollector) -> AccountFormat | None:
    packed = raw.read(2) == _GZIP
    raw.seek(0)
    stream = cast("IO[bytes]", gzip.GzipFile(fileobj=raw)) if packed else raw
    log: Log | None = None
    form = None
    try:
        head = _head(stream).decode("utf-8", "replace").lstrip("\ufeff")
        if not head.strip():
            out.problem("empty", 1)
            return None
        stream.seek(0)
        form = next((each for each in formats().values() if each.takes(head)), None)
        if form is None:
            known = ", ".join(each.title for each in formats().values())
            raise AssayError(
                "It is of no known format of accounts.", where=str(path), fix=f"Known are: {known}."
            )
        # Only a line feed ends a line: names may hold other separators of Unicode.
        with io.TextIOWrapper(stream, "utf-8-sig", errors="replace", newline="\n") as text:
            log = Log(text, out)
            form.read(log, out)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        out.problem("truncated", log.line + 1 if log else 1)
    return form


def _head(stream: IO[bytes]) -> bytes:
    """The first bytes; of a damaged file, those before the damage."""
    head = b""
    try:
        while len(head) < _HEAD and (more := cast("io.BufferedIOBase", stream).read1(_HEAD)):
            head += more
    except EOFError:
        pass
    return head
