"""Call sites in words."""

from __future__ import annotations

from pathlib import PurePath

from assay.trace.model import SourcePlace


def place_name(place: SourcePlace) -> str:
    """Function and line of the source, or file and return address where these are unknown."""
    image = PurePath(place.image).name
    if not place.function:
        return f"{image}+{place.offset:#x}"
    if not place.file and place.offset < 0:  # not a place of the program
        return place.function
    if not place.file:
        return f"{place.function} ({image}+{place.offset:#x})"
    line = f":{place.line}" if place.line else ""  # unknown without debugging information
    return f"{place.function} ({PurePath(place.file).name}{line})"
