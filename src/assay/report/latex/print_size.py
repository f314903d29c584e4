"""Figures in the widths of print, for a column or a page of a paper: SVG and PDF."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from assay.charts.drawing import drawn
from assay.charts.figure import Figure

# Widths in print, mm: a column and a page of IEEE's and ACM's papers in two columns.
WIDTHS: Mapping[str, float] = {"half": 88.0, "full": 178.0}
# Widths without axes (px) at which labels have 7 to 9 pt after scaling to these sizes.
_DRAWN = {"half": 280, "full": 600}
_SIZE = re.compile(r'width="(\d+)" height="(\d+)" viewBox=')


def print_figures(figures: Sequence[Figure]) -> list[tuple[str, bytes]]:
    """Each figure as SVG and as PDF, ``WIDTHS`` wide. Raises AssayError if memory is too small."""
    if not figures:
        return []
    from assay.charts.drawing_process import pdfs

    documents = [
        _sized(document, WIDTHS[figure.width])
        for figure, document in zip(figures, drawn(figures, widths=_DRAWN), strict=True)
    ]
    return list(zip(documents, pdfs(documents), strict=True))


def _sized(document: str, width: float) -> str:
    """The document with its size in mm."""

    def in_print(size: re.Match[str]) -> str:
        height = width * int(size[2]) / int(size[1])
        return f'width="{width:g}mm" height="{height:.2f}mm" viewBox='

    return _SIZE.sub(in_print, document, count=1)
