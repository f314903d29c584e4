"""Where the native sources are."""

from __future__ import annotations

from pathlib import Path

import assay
from assay.errors import AssayError


def native_sources() -> Path:
    """The native sources: within the package in a wheel, in the repository root in a checkout."""
    package = Path(assay.__file__).resolve().parent
    for folder in (package / "native", package.parents[1] / "native"):
        if (folder / "CMakeLists.txt").is_file():
            return folder
    raise AssayError(
        "The native sources are missing.",
        where=str(package / "native"),
        fix="Reinstall assay: pip install --force-reinstall assay.",
    )
