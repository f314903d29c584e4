"""Where the native sources are."""

from __future__ import annotations

from pathlib import Path

from assay.errors import AssayError
from assay.version import PACKAGE


def native_sources() -> Path:
    """The native sources: within the package in a wheel, in the repository root in a checkout."""
    for folder in (PACKAGE / "native", PACKAGE.parents[1] / "native"):
        if (folder / "CMakeLists.txt").is_file():
            return folder
    raise AssayError(
        "The native sources are missing.",
        where=str(PACKAGE / "native"),
        fix="Reinstall assay: pip install --force-reinstall assay.",
    )
