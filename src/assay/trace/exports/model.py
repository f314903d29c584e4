"""What an export of traces provides, and what several of them need."""

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
    """A format."""

    title: str
    #: Of a path.
    example: str
    #: Whether the path becomes a folder.
    is_folder: bool
    #: The whole trace to a path that doesn't exist yet; sentences on what was left out or changed.
    write: Callable[[Trace, Path], list[str]]


def nanoseconds(times: npt.ArrayLike, origin: float) -> Ints:
    """Times (s) as whole nanoseconds since ``origin``."""
    return np.rint((np.asarray(times, np.float64) - origin) * 1e9).astype(np.int64)


def place_text(site: SourcePlace) -> str:
    """``function, file:line`` of a call site, or its image and offset."""
    if site.file:
        return ", ".join(filter(None, (site.function, f"{site.file}:{site.line}")))
    return site.function or f"{site.image}+{site.offset:#x}"
