"""Names of the layouts and interfaces of parallel access, and of operations on files."""

from __future__ import annotations

from assay.kernels.naming import level_name
from assay.questions.common.selection import Point


def way_text(layout: str, api: str) -> str:
    """``file per rank, posix``."""
    return f"{level_name('storage.parallel', 'layout', layout)}, {api}"


def way_of(point: Point) -> str:
    """The layout and interface of a point, as ``way_text``."""
    return way_text(str(point.parameter("layout")), str(point.parameter("api")))


def operation_name(point: Point) -> str:
    """The operation of a point on its file, such as ``random read``."""
    return level_name("storage.file", "op", str(point.parameter("op")))
