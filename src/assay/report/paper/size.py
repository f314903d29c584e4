"""The size of paper: as the system states it, else A4."""

from __future__ import annotations

import os
from pathlib import Path

# libpaper(7): the variable, and the file of the system.
VARIABLE = "PAPERSIZE"
_SYSTEM = Path("/etc/papersize")
_LETTER = ("letter", "na_letter")


def paper_size() -> str:
    """``A4`` or ``letter``, by ``$PAPERSIZE`` or ``/etc/papersize`` (libpaper(7))."""
    stated = os.environ.get(VARIABLE, "")
    if not stated:
        try:
            lines = _SYSTEM.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            lines = []
        stated = next((line.strip() for line in lines if line.strip()[:1] not in ("", "#")), "")
    return "letter" if stated.lower() in _LETTER else "A4"
