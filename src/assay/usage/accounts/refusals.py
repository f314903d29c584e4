"""Messages for a file without accounts: its likely origin, and the command that prints accounts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from assay.errors import AssayError
from assay.usage.accounts.model import AccountFormat, OtherOutput
from assay.usage.accounts.readers.slurm import COMMAND, missing, state_of, table_of
from assay.usage.accounts.readers.swf import numbers_of
from assay.usage.collector import shortened
from assay.usage.swf_blocks import FIELDS

_SACCT = f"Print the accounts with `{COMMAND}`."
_CONVERT = "Convert it to the Standard Workload Format, which assay reads (docs/usage.md)."
# Output of schedulers whose accounting format assay doesn't know.
_OTHERS = (
    OtherOutput(r"job-ID +prior", "`qstat` of Grid Engine", _CONVERT),
    OtherOutput(r"(?:[^:\s]*:){40,}", "Grid Engine's accounting", _CONVERT),
    OtherOutput(
        r"ClusterId =|\*\*\* Offset =|.*\bID +OWNER +SUBMITTED", "HTCondor's history", _CONVERT
    ),
)
_JOB_ROW = re.compile(r"\d+(?:_\d+)?(?:\.\w+)?[|,;\t ]")
# Number of lines of a file that are examined.
_LINES = 200


_Found = tuple[str, str] | None


def unknown(head: str, where: str, known: Iterable[AccountFormat]) -> AssayError:
    """The error for a file that begins with these characters. ``known``: all formats."""
    lines = [line.rstrip("\r") for line in head.split("\n")[:_LINES] if line.strip()]
    others = [other for form in known for other in form.others]
    found = _other(lines, [*others, *_OTHERS])
    for look in _LOOKS:
        found = found or look(lines)
    if found is None:
        titles = ", ".join(form.title for form in known)
        found = "It has no accounting format that assay knows.", f"Known formats: {titles}."
    return AssayError(found[0], where=where, fix=found[1])


def _other(lines: list[str], others: Sequence[OtherOutput]) -> _Found:
    for line in lines:
        for other in others:
            if re.match(other.pattern, line):
                return f"It seems to be the output of {other.what}.", other.fix
    return None


def _sacct(lines: list[str]) -> _Found:
    """A table of sacct that lacks columns, its rule, or its header."""
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        table = table_of(line, after)
        if table is not None and (lacks := missing(table.names)):
            names = " and ".join(lacks)
            return (
                f"It is a table of sacct without the {'columns' if len(lacks) > 1 else 'column'} "
                f"{names}.",
                _SACCT,
            )
        if table is None and re.match(r"\s*JobID(?:Raw)? +[A-Z]", line):
            return (
                "It seems to be a table of sacct whose columns can't be separated: the line of "
                "dashes below its header is absent.",
                _SACCT,
            )
    for line in lines:
        words = re.split(r"[|,;\t]|\s{1,}", line)
        if _JOB_ROW.match(line) and any(len(w) > 3 and state_of(w) is not None for w in words):
            return (
                "It seems to contain rows of sacct without the header that names their columns "
                "(--noheader).",
                _SACCT,
            )
    return None


def _numbers(lines: list[str]) -> _Found:
    """The error for lines of numbers, as in the Standard Workload Format."""
    counts = [len(numbers) for line in lines if (numbers := numbers_of(line)) is not None]
    if not counts or max(counts) < 5:
        return None
    return wrong_fields(max(set(counts), key=counts.count))


def wrong_fields(count: int) -> tuple[str, str]:
    """The sentence and the advice for lines of ``count`` numbers."""
    if count > FIELDS:
        fix = (
            f"If the first {FIELDS} columns are the format's (job, submission, wait, run time, "
            f"processors, …), keep only these: `awk '!/^;/ {{ NF = {FIELDS} }} 1' FILE`."
        )
    else:
        fix = (
            "If columns at the end are absent, append -1 for each: "
            f"`awk '!/^;/ {{ while (NF < {FIELDS}) $(NF + 1) = -1 }} 1' FILE`."
        )
    return f"Its lines have {count} numbers; the Standard Workload Format has {FIELDS}.", fix


def _json(lines: list[str]) -> _Found:
    if not lines or lines[0].lstrip()[:1] not in ("{", "["):
        return None
    return (
        "It is JSON without a list `jobs` of accounts.",
        "Print one with `sacct -a --json -S START -E END`, or with another scheduler's command.",
    )


def _table(lines: list[str]) -> _Found:
    """The error for a table with other column names."""
    for delimiter in ("|", ",", ";", "\t"):
        words = [word.strip().strip('"') for word in lines[0].split(delimiter)] if lines else []
        if len(words) < 3 or not all(re.fullmatch(r"[A-Za-z_][\w .()-]*", each) for each in words):
            continue
        return (
            f"It is a table with the columns {shortened(', '.join(words))}; no accounting format "
            "has these.",
            "Name the columns as sacct does (JobID, State, Submit, Start, End, AllocCPUS, User, "
            "…), with times such as 2026-03-01T08:00:00.",
        )
    return None


_LOOKS: tuple[Callable[[list[str]], _Found], ...] = (_sacct, _json, _numbers, _table)
