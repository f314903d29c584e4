"""Call sites in words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from assay.trace.model import SourcePlace


def place_name(place: SourcePlace) -> str:
    """Function and line of the source, or file and return address if these are unknown."""
    image = PurePath(place.image).name
    if not place.function:
        return f"{image}+{place.offset:#x}"
    if not place.file and place.offset < 0:  # not a place of the program
        return place.function
    if not place.file:
        return f"{place.function} ({image}+{place.offset:#x})"
    line = f":{place.line}" if place.line else ""  # unknown without debugging information
    return f"{place.function} ({PurePath(place.file).name}{line})"


def span_name(sites: Sequence[SourcePlace], kind: str, after: int, before: int) -> str:
    """The place of communication, or the call sites ``after`` and ``before`` which a rank computes.

    Both are indices in ``sites``; -1 means the begin or the end of the trace.
    """
    if kind == "communication":
        return place_name(sites[before])
    begin = "the begin" if after < 0 else place_name(sites[after])
    end = "the end" if before < 0 else place_name(sites[before])
    return f"{begin} to {end}"
