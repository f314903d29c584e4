"""The interface of an export of samples, and helpers that several exports share."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from assay.trace.samples.model import Place, ProgramSamples, ThreadSamples
from assay.trace.samples.names import printable_name


@dataclass(frozen=True)
class SampleExport:
    """A format that samples are exported to."""

    title: str
    #: Kind of the path.
    example: str
    #: Writes all samples to a path that doesn't exist yet.
    write: Callable[[ProgramSamples, Path], None]
    #: Whether the export is a folder.
    is_folder: bool = False


def place_label(place: Place) -> str:
    """Name of the function, or module and address if it is unknown."""
    return printable_name(place.function or f"{place.module}+{place.address:#x}")


def thread_label(thread: ThreadSamples) -> str:
    """Rank, and number and name of the thread."""
    return printable_name(
        f"rank {thread.rank} ({thread.host}), thread {thread.thread} ({thread.name})"
    )


def write_text(path: Path, text: str) -> None:
    """Write UTF-8; a name that ends in .gz is compressed."""
    write_bytes(path, text.encode(), compressed=path.suffix == ".gz")


def write_bytes(path: Path, content: bytes, *, compressed: bool) -> None:
    """Write bytes, with gzip if ``compressed``. Equal contents give equal files."""
    path.write_bytes(gzip.compress(content, mtime=0) if compressed else content)
