"""Draws figures outside a browser: SVG for print, Markdown and browsers without scripts; CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from typing import Any

from assay.charts.figure import Datum, Figure
from assay.charts.finish import finished
from assay.charts.theme import Theme, vega_config

# All characters except the characters of XML 1.0, section 2.2, that are a single unit in UTF-16.
_UNDRAWABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd]")
_WIDTHS = {"full": 760, "half": 420}
_SIZE = re.compile(r'width="(\d+)" height="(\d+)" viewBox="0 0 \d+ \d+"')
# Room for labels at the left edge, as a share of the width: a viewer may lack the fonts that the
# drawing process measured, and DejaVu Sans is wider than Arial by an eighth.
_ROOM = 0.05


def drawable(
    figure: Figure, theme: Theme = "light", widths: Mapping[str, int] = _WIDTHS
) -> dict[str, Any]:
    """The complete Vega-Lite specification at a fixed width (px), with data and theme."""
    return {
        **finished(figure),
        "width": widths[figure.width],
        "params": [{"name": "room", "value": widths[figure.width]}],
        "data": {"values": [_drawable_row(row) for row in figure.rows]},
        "config": vega_config(theme),
    }


def _drawable_row(row: dict[str, Datum]) -> dict[str, Datum]:
    """The row without the characters that vl-convert 1.9 can't draw.

    It aborts the process on a character that XML forbids, and fails on a label that is cut within a
    surrogate pair. Figures in the browser and all text keep these characters.
    """
    return {
        name: _UNDRAWABLE.sub("\N{REPLACEMENT CHARACTER}", value)
        if isinstance(value, str)
        else value
        for name, value in row.items()
    }


def svg(figure: Figure, theme: Theme = "light") -> str:
    """The figure as an SVG document."""
    return drawn([figure], theme)[0]


def drawn(
    figures: Sequence[Figure], theme: Theme = "light", widths: Mapping[str, int] = _WIDTHS
) -> list[str]:
    """The figures as SVG documents. ``widths``: of full and half figures without axes, px.

    Raises AssayError if there is not enough memory.
    """
    if not figures:
        return []
    from assay.charts.drawing_process import svgs

    return [
        _with_room(each) for each in svgs(drawable(figure, theme, widths) for figure in figures)
    ]


def _with_room(document: str) -> str:
    """The document, a little wider at its left edge, where labels end that are aligned right."""

    def wider(size: re.Match[str]) -> str:
        width, height = int(size[1]), int(size[2])
        room = round(_ROOM * width)
        whole = width + room
        return f'width="{whole}" height="{height}" viewBox="{-room} 0 {whole} {height}"'

    return _SIZE.sub(wider, document, count=1)


def csv_text(figure: Figure) -> str:
    """The figure's data in SI base units.

    Headings are ``name (unit)``; missing values are empty.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([f"{f.name} ({f.unit})" if f.unit else f.name for f in figure.fields])
    for row in figure.rows:
        writer.writerow([row.get(field.name) for field in figure.fields])
    return stream.getvalue()
