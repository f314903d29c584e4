"""The path of assay's own command, for scripts that a scheduler runs."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from assay.errors import AssayError

_NAME = "assay"


def own_executable() -> Path:
    """The absolute path of the command that belongs to this Python. Raises AssayError."""
    own = Path(sys.executable).absolute().with_name(_NAME)
    if own.exists():
        return own
    found = shutil.which(_NAME)
    if found is None:
        raise AssayError(
            "The command assay isn't installed beside this Python.",
            where=sys.executable,
            fix="Install assay with pip, or put its folder on PATH.",
        )
    return Path(found).absolute()
