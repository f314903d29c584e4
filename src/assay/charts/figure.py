"""A figure: data in SI base units, Vega-Lite specification, and texts."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Datum = str | int | float | bool | None


class Field(msgspec.Struct, frozen=True):
    """One column of a figure's data."""

    name: str
    unit: str
    meaning: str


class Figure(msgspec.Struct, frozen=True):
    """A figure: its data in SI base units, and a Vega-Lite specification without them.

    ``alt`` describes the figure as text. ``width``: relative to the text's, for layout.
    """

    id: str
    title: str
    caption: str
    alt: str
    fields: list[Field]
    rows: list[dict[str, Datum]]
    spec: dict[str, Any]
    width: Literal["full", "half"] = "full"
