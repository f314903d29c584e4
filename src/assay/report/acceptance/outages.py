"""Reads logs of outages: tables in CSV, and Slurm's node events."""

from __future__ import annotations

import csv
import datetime
import math
import re
from collections.abc import Sequence
from pathlib import Path

from assay.acceptance.availability import Downtime
from assay.acceptance.contract import Contract
from assay.errors import AssayError
from assay.hostnames import expand_hosts
from assay.subjects.acceptance.further import Outages
from assay.usage.accounts.reading import read_node_events

_OPTION = "--outages"
_NEEDED, _OPTIONAL = ("begin", "end", "nodes"), ("planned", "reason")
_WORDS = {"yes": True, "no": False, "": False}
# Slurm's state of nodes in maintenance, and reasons that administrators write.
_MAINTENANCE = re.compile(r"\bmaint|\bplanned\b", re.IGNORECASE)


def read_outages(paths: Sequence[Path] | None, contract: Contract) -> Outages | None:
    """All outages in the files; None without files.

    Raises AssayError for a line that can't be read, and if the contract promises no availability.
    """
    if not paths:
        return None
    if not contract.availabilities:
        raise AssayError(
            "The contract promises no availability.",
            where=_OPTION,
            fix='Add [[steadiness]] with availability = "98%", or leave out the option.',
        )
    found: list[Downtime] = []
    for path in paths:
        found += _read(path)
    return Outages(found, [path.name for path in paths])


def _read(path: Path) -> list[Downtime]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise AssayError(
            f"The file can't be read: {error.strerror or error}.",
            where=f"{_OPTION} {path}",
            fix="Name a file of outages.",
        ) from None
    except UnicodeDecodeError:
        raise AssayError(
            "The file is not UTF-8 text.", where=f"{_OPTION} {path}", fix="Save it as UTF-8."
        ) from None
    head = text.partition("\n")[0]
    if "begin" in {name.strip() for name in head.split(",")}:
        return _table(text, path)
    if "|" not in head and "," in head:
        raise AssayError(
            "The table has no column 'begin'.", where=f"{path}:1", fix=_columns_in_words()
        )
    return [
        Downtime(
            each.node.partition(".")[0],
            each.start,
            each.end,
            _MAINTENANCE.search(f"{each.state} {each.reason}") is not None,
        )
        for each in read_node_events(path)
    ]


def _columns_in_words() -> str:
    return (
        "Write the columns begin, end and nodes, and if needed planned (yes or no) and reason, or "
        "name a file of 'sacctmgr -P show event'."
    )


def _table(text: str, path: Path) -> list[Downtime]:
    rows = csv.reader(text.splitlines())
    names = [name.strip() for name in next(rows)]
    for name in _NEEDED:
        if name not in names:
            raise AssayError(
                f"The table has no column '{name}'.", where=f"{path}:1", fix=_columns_in_words()
            )
    unknown = [name for name in names if name not in (*_NEEDED, *_OPTIONAL)]
    if unknown:
        raise AssayError(
            f"The table has an unknown column '{unknown[0]}'.",
            where=f"{path}:1",
            fix=_columns_in_words(),
        )
    found: list[Downtime] = []
    for row in rows:
        if not any(word.strip() for word in row):
            continue
        where = f"{path}:{rows.line_num}"
        if len(row) != len(names):
            raise AssayError(
                f"The row has {len(row)} fields, but the table has {len(names)} columns.",
                where=where,
                fix='Write one field per column; quote fields with commas: "n[1,3]".',
            )
        found += _downtimes(dict(zip(names, map(str.strip, row), strict=True)), where)
    return found


def _downtimes(row: dict[str, str], where: str) -> list[Downtime]:
    begin = _time(row["begin"], where)
    end = _time(row["end"], where) if row["end"] else math.inf
    if not begin < end:
        raise AssayError(
            f"The outage ends ({row['end']}) before it begins ({row['begin']}).",
            where=where,
            fix="Correct the times.",
        )
    word = row.get("planned", "").lower()
    if word not in _WORDS:
        raise AssayError(
            f"'planned' can't be '{row['planned']}'.", where=where, fix="Write yes or no."
        )
    try:
        nodes = expand_hosts(row["nodes"])
    except AssayError as error:
        raise AssayError(error.what, where=where, fix=error.fix) from None
    return [Downtime(node.partition(".")[0], begin, end, _WORDS[word]) for node in nodes]


def _time(text: str, where: str) -> float:
    """Unix time, s. A time without an offset is taken as one of the contract's days."""
    try:
        found = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise AssayError(
            f"'{text}' is not a time.", where=where, fix="Write, for example, 2026-06-03 08:30."
        ) from None
    if found.tzinfo is None:
        found = found.replace(tzinfo=datetime.UTC)
    return found.timestamp()
