"""Integer parameters of the network kernels' cells."""

from __future__ import annotations

from assay.questions.common.selection import Point


def integer(point: Point, name: str) -> int:
    """An integer parameter; 0 if the cell has no parameter of this name."""
    value = point.parameter(name)
    return int(value) if isinstance(value, (int, float)) else 0


def message_bytes(point: Point) -> int:
    """The message size in bytes."""
    return integer(point, "bytes")
