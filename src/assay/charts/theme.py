"""Colours of the figures: Okabe & Ito's palette, which colour-blind readers can distinguish.

Each theme uses the hues of the palette with a contrast of at least 3:1 on its background, best
first (WCAG 2.2, 1.4.11 for graphics).
"""

from __future__ import annotations

from typing import Any, Literal

Theme = Literal["light", "dark"]

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
LONGEST_LABEL = 320  # maximum length of a legend, pixels
# The last two are not in the palette; they are for figures that need more colours.
_CATEGORIES = {
    "light": [
        "#0072B2", "#D55E00", "#007A5A", "#B0578D", "#8A6A00", "#3D3D3D", "#6A4FC3", "#8C4A3A",
    ],
    "dark": [
        "#56B4E9", "#E69F00", "#2FC79C", "#E493C3", "#F0E442", "#D8DCE3", "#A99BFF", "#D99A86",
    ],
}  # fmt: skip
_INK = {
    "light": {"ink": "#1b1f24", "quiet": "#57606a", "grid": "#e4e7eb", "ground": "#ffffff"},
    "dark": {"ink": "#e6e9ee", "quiet": "#a3adba", "grid": "#2b323c", "ground": "#171b21"},
}

# Time outside MPI in a timeline: lighter than all categories, so that labels are readable on it.
_COMPUTING = {"light": "#dbe4ec", "dark": "#2c3846"}


def timeline_colours() -> dict[Theme, dict[str, Any]]:
    """The colours of a timeline by theme: its states in order, and everything else."""
    themes: tuple[Theme, Theme] = ("light", "dark")
    return {
        theme: {
            "states": list(_CATEGORIES[theme]),
            "computing": _COMPUTING[theme],
            **_INK[theme],
        }
        for theme in themes
    }


def vega_config(theme: Theme) -> dict[str, Any]:
    """The Vega-Lite configuration of a theme; specifications contain no colours."""
    colours = _INK[theme]
    ink, quiet, grid = colours["ink"], colours["quiet"], colours["grid"]
    return {
        "background": "transparent",
        "font": FONT,
        "view": {"stroke": None},
        "range": {"category": _CATEGORIES[theme]},
        "axis": {
            "labelColor": quiet,
            "titleColor": quiet,
            "labelFontSize": 12,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
            "titlePadding": 10,
            "gridColor": grid,
            "domainColor": quiet,
            "tickColor": quiet,
        },
        "axisY": {"domain": False, "ticks": False, "grid": True},
        "axisX": {"grid": False},
        # Adjacent labels are at least 24 px apart; one character is 7 px wide.
        "axisXQuantitative": {"labelOverlap": "greedy", "labelSeparation": 17},
        "axisXTemporal": {"labelOverlap": "greedy", "labelSeparation": 17},
        # Six significant digits, grouped: 2.73002223078 is 2.73, and 10000000 is 10,000,000.
        "numberFormat": ",.6~r",
        "legend": {
            "orient": "top",
            "direction": "horizontal",
            "labelColor": ink,
            "titleColor": quiet,
            "titleFontWeight": "normal",
            "labelFontSize": 12,
            "titleFontSize": 12,
            "labelLimit": LONGEST_LABEL,
            "symbolType": "circle",
            "symbolSize": 90,
            "symbolBaseFillColor": ink,
            "symbolBaseStrokeColor": ink,
            "offset": 12,
            "columnPadding": 18,
            "tickCount": 5,  # length of a bar of colours
            # Several legends are stacked, since side by side they would leave the figure.
            "layout": {"top": {"direction": "vertical", "anchor": "start"}},
        },
        "rule": {"color": ink},
        "tick": {"color": ink},
        "text": {"color": quiet, "fontSize": 12},
        # Words on light boxes need more contrast than words beside marks.
        "style": {"on-box": {"fill": ink, "color": ink}},
    }
