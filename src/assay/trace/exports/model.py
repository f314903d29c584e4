"""The interface of an export of traces, and helpers that several exports share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from assay.arrays import Ints
from assay.trace.events import Trace
from assay.trace.model import SourcePlace


@dataclass(frozen=True)
class TraceExport:
    """A format that traces are exported to."""

    title: str
    #: Kind of the path.
    example: str
    #: Whether the export is a folder.
    is_folder: bool
    #: Writes the whole trace to a path that doesn't exist yet. Returns sentences on what was left
    #: out or changed.
    write: Callable[[Trace, Path], list[str]]


def nanoseconds(times: npt.ArrayLike, origin: float) -> Ints:
    """Times (s) as whole nanoseconds since ``origin``."""
    return np.rint((np.asarray(times, np.float64) - origin) * 1e9).astype(np.int64)


def place_text(site: SourcePlace) -> str:
    """``function, file:line`` of a call site, or its image and offset."""
    if site.file:
        return ", ".join(filter(None, (site.function, f"{site.file}:{site.line}")))
    return site.function or f"{site.image}+{site.offset:#x}"
