"""How ranks share files, and what they do with them, by name."""

from __future__ import annotations

from assay.kernels.naming import level_name
from assay.questions.common.selection import Point


def way_text(layout: str, api: str) -> str:
    """``file per rank, posix``."""
    return f"{level_name('storage.parallel', 'layout', layout)}, {api}"


def way_of(point: Point) -> str:
    """How the ranks of a point share the work."""
    return way_text(str(point.parameter("layout")), str(point.parameter("api")))


def operation_name(point: Point) -> str:
    """The operation of a point on its file: ``random read``."""
    return level_name("storage.file", "op", str(point.parameter("op")))
