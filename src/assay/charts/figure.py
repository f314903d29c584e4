"""A figure: data in SI base units, Vega-Lite specification, and texts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, Literal

import msgspec

Datum = str | int | float | bool | None


class Field(msgspec.Struct, frozen=True):
    """One column of a figure's data."""

    name: str
    unit: str
    meaning: str


class Figure(msgspec.Struct, frozen=True):
    """A figure: its data in SI base units, and a Vega-Lite specification without data.

    ``alt`` describes the figure as text.
    """

    id: str
    title: str
    caption: str
    alt: str
    fields: list[Field]
    rows: list[dict[str, Datum]]
    spec: dict[str, Any]
    #: Width relative to the width of the text, for layout. ``group`` is the title of the small
    #: multiples that the figure belongs to, and ``panel`` is its name among them. Successive
    #: figures of a group share a caption and a scale, and are placed side by side.
    width: Literal["full", "half"] = "full"
    group: str = ""
    panel: str = ""


def groups(figures: Sequence[Figure]) -> list[list[Figure]]:
    """The figures in order, as lists: successive figures of a group form one list, other figures
    separate lists.
    """
    kept: list[list[Figure]] = []
    for (group, _), some in groupby(figures, key=lambda each: (each.group, each.caption)):
        together = list(some)
        kept += [together] if group else [[each] for each in together]
    return kept
