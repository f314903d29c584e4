"""Parsing schedulers' output and their files of hosts."""

from __future__ import annotations

import re
import time
from pathlib import Path

from assay.errors import AssayError


def lines_of(file: str) -> list[str]:
    """The hosts in a file, separated by white space. Raises AssayError if it can't be read."""
    try:
        return Path(file).read_text("utf-8", "replace").split()
    except OSError as error:
        raise AssayError(
            f"The scheduler's list of hosts can't be read: {error.strerror}.",
            where=file,
            fix="Start assay on the job's first node, or name the hosts in [cluster].",
        ) from None


def match_in(pattern: str, text: str | None) -> str | None:
    """The first group of a pattern's first match; None without a match."""
    found = re.search(pattern, text or "")
    return found[1].strip() if found else None


def number_in(text: str | None) -> float | None:
    """A decimal number with at most 15 digits before the point; None for other text."""
    return float(text) if text and re.fullmatch(r"\d{1,15}(\.\d*)?", text, re.ASCII) else None


def clock_seconds(text: str | None) -> float | None:
    """Seconds of ``HH:MM:SS``, where hours may exceed 24; None for other text."""
    if not text or not re.fullmatch(r"\d+(:\d\d){0,2}", text, re.ASCII):
        return None
    seconds = 0
    if len(text) > 24:
        return None
    for part in text.split(":"):
        seconds = 60 * seconds + int(part)
    return float(seconds)


def local_time(text: str | None) -> float | None:
    """Unix time of qstat's local time ``Tue Nov 21 10:00:00 2023``; None for other text."""
    try:
        return time.mktime(time.strptime(text or "", "%a %b %d %H:%M:%S %Y"))
    except (ValueError, OverflowError):
        return None
