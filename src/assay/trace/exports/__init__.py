"""Formats that traces are exported to: one module per format, listed in ``NAMES``.

A module defines ``EXPORT`` (``model.TraceExport``).
"""

from __future__ import annotations

import os
import shutil
import tempfile
from functools import cache
from importlib import import_module
from pathlib import Path

from assay.errors import AssayError, nearest
from assay.trace.events import Trace
from assay.trace.exports.model import TraceExport
from assay.trace.samples.exports import NAMES as SAMPLE_NAMES
from assay.trace.samples.exports import sample_exports
from assay.trace.samples.exports.model import SampleExport

NAMES = (
    "otf2",
    "chrome",
    "simgrid",
    "parquet",
)
_OPTION = "--export FORMAT:PATH"


@cache
def exports() -> dict[str, TraceExport]:
    """The formats by name."""
    return {name: import_module(f"assay.trace.exports.{name}").EXPORT for name in NAMES}


def parse_target(text: str) -> tuple[TraceExport | SampleExport, Path]:
    """Parse ``FORMAT:PATH``, such as ``otf2:app.otf2``, with a format of traces or of samples.

    Raises AssayError for other text.
    """
    name, colon, path = text.partition(":")
    known = (*NAMES, *SAMPLE_NAMES)
    if name not in known:
        raise AssayError(
            f"'{name}' is not a known format of traces or samples.",
            where=_OPTION,
            fix=nearest(name, known),
        )
    export = exports()[name] if name in NAMES else sample_exports()[name]
    if not colon or not path:
        raise AssayError(
            f"The {'folder' if export.is_folder else 'file'} to write is missing.",
            where=f"--export {text}",
            fix=f"Name it, as in `--export {name}:{export.example}`.",
        )
    return export, Path(path)


def write_export(trace: Trace, export: TraceExport, path: Path) -> list[str]:
    """Write the trace. Returns sentences on what the format can't represent.

    The export gets its name only when it is complete. It replaces an existing file, but not a
    folder. Raises AssayError if the export can't be written or needs a package that isn't
    installed.
    """
    if export.is_folder and path.exists():
        raise AssayError("The folder exists already.", where=str(path), fix="Name another.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as folder:
            made = Path(folder) / path.name
            left_out = export.write(trace, made)
            if export.is_folder:
                shutil.move(made, path)
            else:
                os.replace(made, path)  # noqa: PTH105
    except OSError as error:
        raise AssayError(
            f"The export can't be written: {error.strerror or error}.",
            where=str(path),
            fix=f"Name another place by {_OPTION}.",
        ) from None
    return left_out
