"""Functions and lines in words."""

from __future__ import annotations

from pathlib import PurePath

from assay.subjects.profile.sampled.model import SampledCode

# Names of C++ templates have hundreds of characters.
_LONGEST = 72


def shortened(name: str, longest: int = _LONGEST) -> str:
    """The name; a long one without its middle."""
    if len(name) <= longest:
        return name
    front = (longest - 1) * 2 // 3
    return f"{name[:front]}…{name[front + 1 - longest :]}"


def line_name(code: SampledCode) -> str:
    """File and line; "" if they are unknown."""
    return f"{PurePath(code.file).name}:{code.line}" if code.file and code.line else ""
