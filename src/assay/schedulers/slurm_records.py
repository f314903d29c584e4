"""Records of ``scontrol show job``, and Slurm's notation for the tasks of an array.

scontrol(1) promises no order of fields, and versions add some: an array with a limit has
``ArrayTaskThrottle`` between its tasks and its name. So values are found by field name. A value,
such as a job's name, may contain spaces and ``=``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.units import whole_number

# Upper limit of an array's tasks in one answer, above any site's limit.
MOST_TASKS = 1_000_000
# The field that begins a record in both forms: only this field is at the beginning of a line.
_RECORD = re.compile(r"^JobId=", re.M)
_FIELD = re.compile(r"(?:^|[ \t]+)([A-Z][A-Za-z_]*(?:[/:][A-Za-z]+)*)=")
# Fields with arbitrary text. They extend to the end of their line; in the one-line form, they
# extend to these fields.
_TEXTS = {
    "JobName": re.compile(r" UserId=[^ ]*\(\d+\) "),
    **dict.fromkeys(
        ("Comment", "AdminComment", "SystemComment", "Command", "WorkDir", "Extra"),
        re.compile(r" (?=[A-Z][A-Za-z]*=)"),
    ),
}
# An administrator's text, which is followed by this field in both forms.
_REASON, _AFTER_REASON = "Reason", re.compile(r" Dependency=(?!.* Dependency=)")


def job_records(text: str) -> list[dict[str, str]]:
    """The fields of each job in ``scontrol show job`` output, with or without ``--oneliner``.

    If a field occurs twice, the first one is kept: texts of users follow the fields that assay
    reads.
    """
    starts = [match.start() for match in _RECORD.finditer(text)]
    ends = [*starts[1:], len(text)][: len(starts)]
    return [_record(text[start:end]) for start, end in zip(starts, ends, strict=True)]


def _record(text: str) -> dict[str, str]:
    lines = [line.rstrip() for line in text.split("\n")]
    one_line = not any(line.startswith((" ", "\t")) for line in lines)
    found: dict[str, str] = {}
    for line in lines:
        for name, value in _fields(line, one_line):
            found.setdefault(name, value)
    return found


def _fields(line: str, one_line: bool) -> Iterator[tuple[str, str]]:
    """The names and values of a line; ``one_line``: the line is the whole record."""
    place = 0
    while (match := _FIELD.search(line, place)) is not None:
        begin = match.end()
        if match[1] == _REASON:
            # No version is known to omit that field; if one did, a reason would be about one word.
            after = _AFTER_REASON.search(line, begin) or _FIELD.search(line, begin)
        elif match[1] in _TEXTS:
            after = _TEXTS[match[1]].search(line, begin) if one_line else None
        else:
            after = _FIELD.search(line, begin)
        place = after.start() if after is not None else len(line)
        yield match[1], line[begin:place]


def task_numbers(written: str | None) -> list[int | None]:
    """The numbers in "3", "0-2,5", "[1-4]", "2-5%1" or "0,3,7-9:2"; [None] without an array.

    [None] is also returned for an expression without a readable number. A long expression that
    Slurm truncates ends in "..."; its beginning is read.
    """
    if written is None or written in ("N/A", ""):
        return [None]
    numbers: list[int | None] = []
    # "%1" is the number of tasks that may run at a time; it is inside the brackets or after them.
    expression = re.sub(r"[\[\]]|%\d*", "", written)
    for part in expression.split(","):
        match = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?", part.strip(), re.ASCII)
        if match is None:
            continue
        first, last = whole_number(match[1]), whole_number(match[2] or match[1])
        step = whole_number(match[3] or "1")
        if first is not None and last is not None and step and 0 <= last - first < MOST_TASKS:
            numbers += range(first, last + 1, step)
    return numbers or [None]
