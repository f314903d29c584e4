"""Reads logs: plain or compressed, of several formats in one call, each recognised by its content.

A file may contain several logs in one or more formats, with other text before and between them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

from assay.errors import AssayError
from assay.usage.accounts import formats
from assay.usage.accounts.model import AHEAD, AccountFormat, Log
from assay.usage.accounts.packed import text_of
from assay.usage.accounts.refusals import unknown, wrong_fields
from assay.usage.collector import JobCollector
from assay.usage.jobs import Jobs, MachineFacts, Outage
from assay.usage.problems import Problems

# Receives the name of a stage, the amount done, and the total amount.
Watch = Callable[[str, float, float], None]
# Kinds of problems that say nothing about a record.
_NO_RECORDS = ("empty", "no jobs", "other text", "zeros")
_YEAR = re.compile(r"\d{4}")


@dataclass(frozen=True)
class Accounts:
    """A log: its jobs, what it says of the machine, its problems, and the formats of its files."""

    jobs: Jobs
    machine: MachineFacts
    problems: Problems
    formats: list[str]


def read_accounts(paths: Sequence[Path], watch: Watch | None = None) -> Accounts:
    """Read all files as one log. ``watch`` receives the stage, the bytes read, and all bytes.

    Raises AssayError for a file that can't be read, has no known format, or has no readable time,
    and for a log without jobs. An empty file (for example after a rotation) has no jobs; nor does
    an empty answer.
    """
    out = JobCollector()
    titles: list[str] = []
    sizes = [path.stat().st_size if path.is_file() else 0 for path in paths]
    for place, path in enumerate(paths):
        out.begin(path.name)
        try:
            with path.open("rb") as raw:
                if watch is not None:
                    before, total = sum(sizes[:place]), sum(sizes)
                    out.watch = partial(_tell, watch, raw, before, total)
                titles += _read(raw, path, out)
        except OSError as error:
            raise AssayError(
                f"It can't be read: {error.strerror or error}.",
                where=str(path),
                fix="Name a file of accounts, plain or compressed (gzip, xz, bzip2).",
            ) from None
    out.watch = None
    jobs = out.jobs()
    if not len(jobs):
        raise _no_jobs(paths, out)
    return Accounts(jobs, out.machine, out.problems, list(dict.fromkeys(titles)))


def read_node_events(path: Path) -> list[Outage]:
    """The outages in a file of node events, of all clusters.

    Raises AssayError for a file that can't be read or has another format, and for each line that
    isn't an event: an outage that is missing would count as available.
    """
    out = JobCollector()
    out.begin(path.name)
    try:
        with path.open("rb") as raw:
            _read(raw, path, out)
    except OSError as error:
        raise AssayError(
            f"It can't be read: {error.strerror or error}.",
            where=str(path),
            fix="Name a file of outages.",
        ) from None
    for each in out.problems.found():
        if each.kind not in ("empty", "other text"):
            line = each.places[0][1]
            raise AssayError(
                f"The line isn't an outage ({each.kind}).",
                where=f"{path}:{line}",
                fix="Correct the line, or remove it.",
            )
    return out.machine.outages


def _tell(watch: Watch, raw: IO[bytes], before: int, total: int) -> None:
    if not raw.closed:
        watch("reading", before + raw.tell(), max(total, 1))


def _no_jobs(paths: Sequence[Path], out: JobCollector) -> AssayError:
    """The error for a log without any job."""
    where = ", ".join(path.name for path in paths)
    found = out.problems.found()
    for each in found:
        count = re.fullmatch(r"(\d+) numbers", each.values[0]) if each.kind == "malformed" else None
        if count:
            what, fix = wrong_fields(int(count[1]))
            return AssayError(what, where=where, fix=fix)
    if {"no jobs"} <= {each.kind for each in found} <= {"empty", "no jobs"}:
        fix = "Each file is valid but has no jobs: request a longer time and all users' jobs."
    elif found:
        problems = "; ".join(
            f"{each.count} × {each.kind} ({out.files[each.places[0][0]]}:{each.places[0][1]}"
            + (f": {each.values[0]})" if each.values[0] else ")")
            for each in found
        )
        fix = f"Records that could not be used: {problems}."
    else:
        fix = "Add a file with jobs."
    return AssayError("The log holds no jobs.", where=where, fix=fix)


def _read(raw: IO[bytes], path: Path, out: JobCollector) -> list[str]:
    """Read a file. Returns the titles of its formats."""
    read: list[AccountFormat] = []
    before = len(out.started), _records(out.problems)
    text, packed = text_of(raw, path)
    with text:
        log = Log(text, out)
        while (form := _begin(log, path, out, first=not read)) is not None:
            read.append(form)
            log.another = partial(_is_another, form)
            log.ended = True
            form.read(log, out)
            if log.ended:
                break
    if packed.damaged:
        out.problem("truncated", log.line + 1)
    if out.unread and out.records and not out.dated:
        raise _timeless(path, out.unread, read[-1])
    holds_jobs = any(form.jobs for form in read)
    if holds_jobs and not out.records and before == (len(out.started), _records(out.problems)):
        out.problem("no jobs", 1)
    return [form.title for form in read]


def _records(problems: Problems) -> int:
    return sum(each.count for each in problems.found() if each.kind not in _NO_RECORDS)


def _is_another(form: AccountFormat, text: str) -> bool:
    found = _format(text)
    return found is not None and found is not form


def _format(head: str) -> AccountFormat | None:
    return next((each for each in formats().values() if each.takes(head)), None)


def _begin(log: Log, path: Path, out: JobCollector, *, first: bool) -> AccountFormat | None:
    """The format that begins next in a log, after text that isn't a record; None at the end.

    Raises AssayError if no format begins in the text that is read ahead.
    """
    head = log.read(AHEAD)
    at, number = 0, 0
    skipped: list[int] = []
    while at < len(head):
        end = head.find("\n", at) + 1 or len(head)
        if head[at:end].strip("\0\ufeff \t\r\n"):
            form = _format(head[at:].lstrip("\0\ufeff"))
            if form is not None:
                for line in skipped:
                    out.problem("other text", line)
                log.again(head[at:])
                log.line += number
                return form
            skipped.append(log.line + number + 1)
        number += 1
        at = end
    if skipped:
        raise unknown(head, str(path), formats().values())
    if first:
        out.problem("empty", 1)
    return None


def _timeless(path: Path, unread: tuple[str, str, int], form: AccountFormat) -> AssayError:
    """The error for a file without a readable time."""
    column, text, line = unread
    why = "it is not a date that assay knows" if _YEAR.search(text) else "it has no year"
    return AssayError(
        f"No job has a time that can be read: {column} is {text} in line {line}, and {why}.",
        where=str(path),
        fix=form.dates,
    )
