"""Builds figures of all kinds: marks over columns, in layers from back to front.

Figures of medians with intervals have their own builder, ``charts.builder.Chart``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from assay.charts.columns import DataColumn, rows_of
from assay.charts.figure import Figure
from assay.charts.marks import Row, Spec, colour
from assay.charts.options import camels, placed

# Vega-Lite's names of channels.
_CHANNELS = {
    "x": "x", "x2": "x2", "y": "y", "y2": "y2", "colour": "color", "fill": "fill",
    "stroke": "stroke", "fade": "opacity", "shape": "shape", "dash": "strokeDash",
    "order": "order", "detail": "detail", "words": "text",
    "beside_x": "xOffset", "beside_y": "yOffset",
}  # fmt: skip
# Channels that may be a property of the mark instead: a colour, or a shape.
_STYLES = {"fill", "stroke", "shape"}
_DASHED = (6, 4)

Tip = str | tuple[str, str]


def fixed(value: object) -> Spec:
    """The same value for all rows, such as a position in pixels, ``"height"`` or a colour."""
    return {"value": value}


def at(value: float | str) -> Spec:
    """The same datum for all rows: a position on the axis, or a name in a legend."""
    return {"datum": value, "type": "nominal" if isinstance(value, str) else "quantitative"}


def where(test: str, value: object, otherwise: object) -> Spec:
    """A value or an encoding for rows for which ``test`` is true, and another value for the other
    rows.

    ``test``: a Vega expression over a row.
    """
    chosen = value if isinstance(value, Mapping) else {"value": value}
    return {"condition": {"test": test, **chosen}, "value": otherwise}


class Plot:
    """A figure of rows with known columns.

    Methods that draw take channels (``x``, ``y``, ``colour``, ``shape``, …) and properties of the
    mark (``size``, ``opacity``, ``stroke_width``, …). A channel is a column's name, an axis or a
    legend made by this class, or ``fixed`` and ``at``. ``stroke``, ``fill`` and ``shape`` may be
    properties. ``only``: a Vega expression; rows for which
    it is false are not drawn. ``tips``: columns of the tooltip, each with a title if it differs
    from the column's title. ``data``: the layer's own rows.
    """

    def __init__(
        self,
        columns: Sequence[DataColumn],
        rows: Sequence[Row],
        *,
        height: int | None = None,
        step: int | None = None,
        column_step: int | None = None,
    ) -> None:
        """Sizes in px: ``height`` of the figure, ``step`` of a row, ``column_step`` of a column."""
        self.columns = {column.name: column for column in columns}
        self.rows = list(rows)
        self._size: Spec = {"height": {"step": step} if height is None else height}
        if column_step is not None:
            self._size["width"] = {"step": column_step}
        self._shared: Spec = {}
        self._layers: list[Spec] = []
        self._numbers: list[Spec] = []

    @classmethod
    def of(
        cls, items: Iterable[Any], columns: Sequence[DataColumn], *, height: int | None = None,
        step: int | None = None,
    ) -> Plot:  # fmt: skip
        """A figure with a row per item, from the columns' ``of``."""
        return cls(columns, rows_of(columns, items), height=height, step=step)

    # ---- axes and legends ------------------------------------------------------------------------

    def axis(self, column: str, title: str | None = None, **options: object) -> Spec:
        """An axis of a column.

        Without ``title`` it has the column's title; with an empty title it has none.
        """
        one = self.columns[column]
        label = one.label if title is None else title
        spec: Spec = {"field": one.drawn, "type": one.type, "title": label or None}
        if one.kind == "time":
            options = {"scale": "utc", **options}
        return {**spec, **placed(options)}

    def names(self, column: str, title: str | None = None, **options: object) -> Spec:
        """Names along an axis in the order of the rows, without a title by default."""
        spec = self.axis(column, title, **{"sort": None, **options})
        return {**spec, "title": title}

    def same(self, axis: Spec, column: str) -> Spec:
        """The axis for another column."""
        return {**axis, "field": self.columns[column].drawn}

    def beside(self, column: str, **options: object) -> Spec:
        """Marks side by side at a place of an axis, by default in the order of the rows."""
        one = self.columns[column]
        return {"field": one.drawn, "type": one.type, **placed({"sort": None, **options})}

    def hue(
        self, column: str, title: str | None = None, *, strokes: bool = False, **scale: object
    ) -> Spec:
        """Colours of a column's values, with a legend (of ``strokes``) if there are several."""
        hue = {**colour(self.columns[column].drawn, self.rows, title), **placed(scale)}
        if strokes and hue["legend"] is not None:
            hue["legend"] |= {"symbolType": "stroke", "symbolStrokeWidth": 3}
        return hue

    def key(self, column: str, legend: Mapping[str, object] | None = None, **scale: object) -> Spec:
        """Colours, shapes or dashes of a column's values.

        ``legend``: its options; None for no legend.
        """
        one = self.columns[column]
        shown = None if legend is None else {"title": None, **camels(legend)}
        encoding: Spec = {"field": one.drawn, "type": "nominal", "sort": None, "legend": shown}
        return {**encoding, **placed(scale)}

    def shade(
        self,
        column: str,
        title: str | None = None,
        legend: Mapping[str, object] | None = None,
        **scale: object,
    ) -> Spec:
        """Colours or opacities of numbers.

        ``legend``: its options; no legend with None and without a title.
        """
        one = self.columns[column]
        encoding: Spec = {"field": one.drawn, "type": one.type, **placed(scale)}
        if title is None and legend is None:
            return {**encoding, "legend": None}
        shown = {} if legend is None else {"legend": camels(legend)}
        return {**encoding, "title": one.label if title is None else title, **shown}

    def numbered(self, column: str) -> Plot:
        """Add the rows' numbers as a column, for the order of stacked bars."""
        self.columns[column] = DataColumn(column)
        self._numbers = [{"window": [{"op": "row_number", "as": column}]}]
        return self

    # ---- marks -----------------------------------------------------------------------------------

    def share(self, *, tips: Sequence[Tip] = (), **channels: object) -> Plot:
        """Channels common to all marks."""
        encoding, _ = self._sorted(channels)
        self._shared |= encoding | self._tooltip(tips)
        return self

    def bars(self, **given: object) -> Plot:
        """Draw bars from 0, or between two ends."""
        return self._mark("bar", given)

    def dots(self, **given: object) -> Plot:
        """Draw filled points."""
        return self._mark("point", {"filled": True, **given})

    def rings(self, **given: object) -> Plot:
        """Draw points that are filled only if the channel ``fill`` says so."""
        return self._mark("point", given)

    def line(self, **given: object) -> Plot:
        """Draw a line through the rows."""
        return self._mark("line", given)

    def steps(self, **given: object) -> Plot:
        """Draw a step line that rises at each row, such as a distribution."""
        return self._mark("line", {"interpolate": "step-before", **given})

    def area(self, **given: object) -> Plot:
        """Draw the area between two columns."""
        return self._mark("area", given)

    def rules(self, **given: object) -> Plot:
        """Draw straight lines, across the figure or between two ends."""
        return self._mark("rule", given)

    def ticks(self, **given: object) -> Plot:
        """Draw short lines across an axis."""
        return self._mark("tick", given)

    def boxes(self, **given: object) -> Plot:
        """Draw rectangles: the cells of a matrix or calendar, or spans of time."""
        return self._mark("rect", given)

    def text(self, words: str | Spec, **given: object) -> Plot:
        """Draw text. ``words``: a column's name, or ``fixed``."""
        return self._mark("text", {"words": words, **given})

    def intervals(
        self, low: str, high: str, *, x: Spec, width: float = 1.5, **given: object
    ) -> Plot:
        """Draw lines between two columns along the axis ``x``, where both are known."""
        along = {"x": self.same(x, low), "x2": high, "stroke_width": width}
        return self._mark("rule", {"only": f"isValid(datum.{low})", **along, **given})

    def level(
        self,
        *,
        x: float | None = None,
        y: float | None = None,
        width: float = 1.5,
        dash: Sequence[int] = _DASHED,
    ) -> Plot:
        """Draw a dashed line across the figure at a value of an axis, independent of the data."""
        ends: Spec = (
            {"x": at(x), "y": fixed(0), "y2": fixed("height")}
            if x is not None
            else {"x": fixed(0), "x2": fixed("width"), "y": at(y or 0.0)}
        )
        for offset in {"xOffset", "yOffset"} & self._shared.keys():
            ends["beside_x" if offset == "xOffset" else "beside_y"] = fixed(0)
        style = {"stroke_dash": list(dash), "stroke_width": width}
        return self._mark("rule", {"data": [{}], **style, **ends})

    def _mark(self, kind: str, given: Mapping[str, object]) -> Plot:
        rest = dict(given)
        data, only, tips = rest.pop("data", None), rest.pop("only", ""), rest.pop("tips", ())
        assert isinstance(tips, Sequence)
        encoding, style = self._sorted(rest, own=data is not None)
        layer: Spec = {} if data is None else {"data": {"values": data}}
        if only:
            layer["transform"] = [{"filter": only}]
        layer["mark"] = {"type": kind, **camels(style)}
        layer["encoding"] = encoding | self._tooltip(tips)
        self._layers.append(layer)
        return self

    def _sorted(
        self, given: Mapping[str, object], *, own: bool = False
    ) -> tuple[Spec, dict[str, object]]:
        """The channels as encodings, and the other properties.

        ``own``: whether the layer has its own data.
        """
        encoding: Spec = {}
        style: dict[str, object] = {}
        for name, value in given.items():
            if name not in _CHANNELS or (name in _STYLES and self._is_style(value)):
                style[name] = value
            elif value is not None:
                channel = _CHANNELS[name]
                encoding[channel] = self._encoding(channel, value, own=own)
        return encoding, style

    def _is_style(self, value: object) -> bool:
        return isinstance(value, str) and value not in self.columns

    def _encoding(self, channel: str, value: object, *, own: bool) -> Spec:
        if isinstance(value, Mapping):
            return dict(value)
        if own:
            return {"field": value, "type": "quantitative"}
        column = self.columns[str(value)]
        if channel in ("x2", "y2", "text"):
            return {"field": column.drawn}
        if channel == "detail":
            return {"field": column.drawn, "type": "nominal"}
        if channel in ("xOffset", "yOffset"):
            return {"field": column.drawn, "sort": None}
        return {"field": column.drawn, "type": column.type}

    def _tooltip(self, tips: Sequence[Tip]) -> Spec:
        lines = [
            self.columns[tip].tip() if isinstance(tip, str) else self.columns[tip[0]].tip(tip[1])
            for tip in tips
        ]
        return {"tooltip": lines} if lines else {}

    # ---- figure ----------------------------------------------------------------------------------

    def figure(
        self,
        id: str,  # noqa: A002 - the name of the field in the report's JSON
        title: str,
        *,
        caption: str,
        alt: str,
        width: Literal["full", "half"] = "full",
        group: str = "",
        panel: str = "",
    ) -> Figure:
        """The figure. Columns with a meaning describe its data."""
        computed = [each for column in self.columns.values() for each in column.transform()]
        transforms = self._numbers + computed
        spec: Spec = {**self._size, **({"transform": transforms} if transforms else {})}
        if self._shared:
            spec["encoding"] = self._shared
        return Figure(
            id=id,
            title=title,
            caption=caption,
            alt=alt,
            fields=[column.field for column in self.columns.values() if column.meaning],
            rows=self.rows,
            spec={**spec, "layer": self._layers},
            width=width,
            group=group,
            panel=panel,
        )
