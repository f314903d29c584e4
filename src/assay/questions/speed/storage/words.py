"""Storage operations and ways to share work, as people read them."""

from __future__ import annotations

from assay.questions.common.selection import Point

OPERATION_TITLES = {
    "write": "Write",
    "rewrite": "Rewrite",
    "read": "Read",
    "reread": "Reread",
    "random_read": "Random read",
    "random_write": "Random write",
    "stride_read": "Strided read",
}
_LAYOUTS = {"own": "a file each", "shared": "one file in parts", "strided": "one file in turns"}


def way_text(layout: str, api: str) -> str:
    """``a file each, posix``."""
    return f"{_LAYOUTS.get(layout, layout)}, {api}"


def way_of(point: Point) -> str:
    """How the ranks of a point share the work, in words."""
    return way_text(str(point.parameter("layout")), str(point.parameter("api")))


def operation_title(point: Point) -> str:
    """The operation of a point on its file."""
    return OPERATION_TITLES[str(point.parameter("op"))]
