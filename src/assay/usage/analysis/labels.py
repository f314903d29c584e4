"""The label of a class of job sizes, in reports and in the JSON of ``assay usage``."""

from __future__ import annotations

import re

_SIZE = re.compile(r"(\d{1,9})(?: to (\d{1,9}))?")


def size_label(low: int, high: int) -> str:
    """A label such as ``17 to 32`` (processors), or one number."""
    return f"{low}" if low == high else f"{low} to {high}"


def sizes_of_label(label: str) -> tuple[int, int] | None:
    """The fewest and the most processors of a ``size_label``; None for other text."""
    found = _SIZE.fullmatch(label)
    if not found:
        return None
    low = int(found[1])
    return low, max(int(found[2] or low), low)
