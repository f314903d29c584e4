"""Formats that samples are exported to: one module per format, listed in ``NAMES``.

A module defines ``EXPORT`` (``model.SampleExport``).
"""

from __future__ import annotations

import os
import tempfile
from functools import cache
from importlib import import_module
from pathlib import Path

from assay.errors import AssayError
from assay.trace.samples.exports.model import SampleExport
from assay.trace.samples.model import ProgramSamples

NAMES = (
    "folded",
    "speedscope",
    "firefox",
    "pprof",
)


@cache
def sample_exports() -> dict[str, SampleExport]:
    """The formats by name."""
    return {name: import_module(f"assay.trace.samples.exports.{name}").EXPORT for name in NAMES}


def write_samples(samples: ProgramSamples, export: SampleExport, path: Path) -> None:
    """Write the samples. The export gets its name only when it is complete, and replaces an
    existing file. Raises AssayError if it can't be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as folder:
            made = Path(folder) / path.name
            export.write(samples, made)
            os.replace(made, path)  # noqa: PTH105
    except OSError as error:
        raise AssayError(
            f"The export can't be written: {error.strerror or error}.",
            where=str(path),
            fix="Name another place by --export FORMAT:PATH.",
        ) from None
