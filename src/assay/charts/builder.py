"""Builds the common kind of figure: medians with intervals over an axis, in layers.

Rows have SI base units, for download; a chart scales its value axis for readers. ``charts.plot``
builds other kinds of figures, such as a matrix, a timeline or a scatter plot.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from assay.charts.axes import logarithmic_axis, y_axis
from assay.charts.figure import Datum, Field, Figure
from assay.charts.levels import level
from assay.charts.marks import (
    Row,
    Spec,
    band,
    colour,
    data_fields,
    error_bars,
    line,
    scale_of,
    scaled_fields,
    tooltip,
)


def named(field: str, *, sort: Sequence[str] | None = None, title: str | None = None) -> Spec:
    """Names along x with horizontal labels, in the order of the rows or of ``sort``."""
    return {
        "field": field,
        "type": "nominal",
        "sort": None if sort is None else list(sort),
        "title": title,
        "axis": {"labelAngle": 0, "ticks": False, "labelPadding": 8},
        "scale": {"paddingInner": 0.3, "paddingOuter": 0.15},
    }


def numbers(field: str, title: str, **more: Spec) -> Spec:
    """Numbers along an axis. ``more``: the scale and the axis (``charts.marks`` has several)."""
    return {"field": field, "type": "quantitative", "title": title, **more}


def marked(
    field: str, values: Sequence[Datum], shown: Sequence[object], legend: Spec | None = None
) -> Spec:
    """Shapes or dashes ``shown`` for the values of a field. Equal domains share a legend."""
    return {
        "field": field,
        "type": "nominal",
        "sort": None,
        "scale": {"domain": list(values), "range": list(shown)},
        "legend": legend,
    }


# Maximum bars or places along x that fit into half of the page, and maximum names in its legend.
_BARS, _PLACES, _NAMES = 10, 8, 8


class Chart:
    """A chart with ``median``, ``low`` and ``high`` in its rows (``questions.common.figure_rows``).

    ``x``: the encoding of the horizontal axis. ``what``: the quantity on the vertical axis, in
    ``unit`` (SI). ``hue``: the field that colours distinguish. ``names``: pairs of field and title
    that a tooltip shows before the numbers. ``values``: numbers that determine the scale, by
    default the medians; ``scale``: a fixed factor and prefix.
    """

    def __init__(
        self,
        rows: Sequence[Row],
        x: Spec,
        what: str,
        unit: str,
        *,
        hue: str | None = None,
        hue_title: str | None = None,
        names: Sequence[tuple[str, str]] = (),
        values: Iterable[float] | None = None,
        scale: tuple[float, str] | None = None,
        zero: bool = True,
        logarithmic: bool = False,
        height: int = 260,
    ) -> None:
        self.rows = list(rows)
        medians = (float(row["median"] or 0.0) for row in rows)
        self.factor, prefix = scale or scale_of(medians if values is None else values)
        self.unit = f"{prefix}{unit}"
        self._si_unit = unit
        title = f"{what} ({self.unit})" if self.unit else what
        self.y = (
            logarithmic_axis(what, unit, rows, (self.factor, prefix))
            if logarithmic
            else y_axis(title, zero=zero)
        )
        self.hue = None if hue is None else colour(hue, rows, hue_title)
        self.tooltip = tooltip(names, self.unit or "ratio")
        self.encoding: dict[str, Spec] = {"x": x}
        self.height = height
        self._transforms = scaled_fields(self.factor)
        self._layers: list[Spec] = []

    def add(self, *layers: Spec) -> Chart:
        """Add layers on top. Their ``y`` is in the axis's unit."""
        self._layers += layers
        return self

    def calculate(self, field: str, expression: str) -> Chart:
        """Add a field for layers, computed by a Vega expression over a row (``datum``)."""
        self._transforms.append({"calculate": expression, "as": field})
        return self

    def bars(self, beside: str | None = None) -> Chart:
        """Add a bar per row. ``beside``: the field by which bars are placed side by side."""
        return self._marks({"type": "bar", "cornerRadiusEnd": 2}, beside)

    def points(
        self, size: int = 60, *, beside: str | None = None, opaque: bool = False, **channels: Spec
    ) -> Chart:
        """Add a dot per row.

        ``beside``: as in ``bars``. ``channels``: encodings such as ``shape``.
        """
        opacity = {"opacity": 1} if opaque else {}
        mark = {"type": "point", "filled": True, "size": size, **opacity}
        return self._marks(mark, beside, **channels)

    def _marks(self, mark: Spec, beside: str | None, **channels: Spec) -> Chart:
        if beside is not None:
            gap = {"scale": {"paddingInner": 0.08}} if mark["type"] == "bar" else {}
            self.encoding["xOffset"] = {"field": beside, "sort": None, **gap}
        encoding = {"y": self.y, **self._colour(), "tooltip": self.tooltip, **channels}
        return self.add({"mark": mark, "encoding": encoding})

    def lines(self, size: int = 30, *, width: float = 2, **channels: Spec) -> Chart:
        """Add lines through the medians.

        ``channels``: further encodings, such as ``strokeDash``. ``size``: size of the points on the
        lines. With points, Vega-Lite also draws the legend of dashes with points. For strokes in
        the legend, set ``size`` to 0 and call ``points``.
        """
        layer = line(self.y, self.hue or {}, self.tooltip, **channels)
        if size:
            layer["mark"]["point"]["size"] = size
        else:
            del layer["mark"]["point"]
        layer["mark"]["strokeWidth"] = width
        if self.hue is None:
            del layer["encoding"]["color"]
        return self.add(layer)

    def line(self, y: str, *, detail: str) -> Chart:
        """Add lines through another field, in the axis's unit, one per value of ``detail``."""
        encoding = {"y": {**self.y, "field": y}, **self._colour(), "detail": {"field": detail}}
        return self.add({"mark": {"type": "line", "strokeWidth": 2}, "encoding": encoding})

    def curves(self, **channels: Spec) -> Chart:
        """Add lines through the medians, over the band of their 95% intervals."""
        return self.bands(**channels).lines(30, width=2, **channels)

    def bands(self, **channels: Spec) -> Chart:
        """Add the 95% intervals as areas."""
        return self.add(band(self.y, self.hue or {}, **channels))

    def whiskers(self, *, coloured: bool = False) -> Chart:
        """Add the known 95% intervals as whiskers. ``coloured``: in the colour of their row."""
        encoding = {"encoding": self._colour()} if coloured else {}
        return self.add({**error_bars(), **encoding})

    def rules(self) -> Chart:
        """Add the 95% intervals as plain lines in the colour of their row."""
        scale = {"scale": self.y["scale"]} if "scale" in self.y else {}
        return self.add(
            {
                "transform": [{"filter": "isValid(datum.low)"}],
                "mark": {"type": "rule", "strokeWidth": 1.5},
                "encoding": {
                    "y": {"field": "y_low", "type": "quantitative", **scale},
                    "y2": {"field": "y_high"},
                    **self._colour(),
                },
            }
        )

    def ticks(self, field: str) -> Chart:
        """Add a short line across each mark at the value of a field in the axis's unit, such as the
        limit of its name; none where the value is null.
        """
        scale = {"scale": self.y["scale"]} if "scale" in self.y else {}
        return self.calculate(f"y_{field}", f"datum.{field} / {self.factor!r}").add(
            {
                "transform": [{"filter": f"isValid(datum.{field})"}],
                "mark": {"type": "tick", "thickness": 2, "size": 34},
                "encoding": {"y": {"field": f"y_{field}", "type": "quantitative", **scale}},
            }
        )

    def level(self, at: float) -> Chart:
        """Add a dashed line across the figure at a value of the axis."""
        layer = level(at)
        if "xOffset" in self.encoding:  # otherwise its row would become a bar
            layer["encoding"]["xOffset"] = {"value": 0}
        return self.add(layer)

    def rings(self, flag: str, size: int = 220) -> Chart:
        """Add a ring around each row whose field ``flag`` is true or a number other than 0."""
        return self.add(
            {
                "transform": [{"filter": f"datum.{flag}"}],
                "mark": {"type": "point", "size": size, "strokeWidth": 2, "filled": False},
                "encoding": {"y": {"field": "y", "type": "quantitative"}, **self._colour()},
            }
        )

    def words(self, words: Spec, only: str, **style: str | float) -> Chart:
        """Add text at the rows for which the Vega expression ``only`` is true.

        ``words``: ``{"value": …}`` or ``{"field": …}``. ``style``: properties of the text.
        """
        encoding = {"y": {"field": "y", "type": "quantitative"}, "text": words}
        transform = [{"filter": only}]
        mark = {"type": "text", **style}
        return self.add({"transform": transform, "mark": mark, "encoding": encoding})

    def verticals(self, field: str, name: str) -> Chart:
        """Add dashed vertical lines where a field is known. A single line is labelled."""
        number = sum(row[field] is not None for row in self.rows)
        if not number:
            return self
        transform = [{"filter": f"isValid(datum.{field})"}]
        x: Spec = {"field": field, "type": "quantitative"}
        mark: Spec = {"type": "rule", "strokeDash": [5, 4], "strokeWidth": 1.5}
        encoding = {"x": x, **self._colour()}
        self.add({"transform": transform, "mark": mark, "encoding": encoding})
        if number == 1:
            text = {"type": "text", "align": "right", "baseline": "top", "dx": -4, "dy": 2}
            top = {"x": x, "y": {"value": 0}, "text": {"value": name}}
            self.add({"transform": transform, "mark": text, "encoding": top})
        return self

    def figure(
        self,
        id: str,  # noqa: A002 - the name of the field in the report's JSON
        title: str,
        *,
        caption: str,
        alt: str,
        fields: Sequence[Field],
        width: Literal["full", "half"] = "half",
        statistics: Sequence[Field] | None = None,
    ) -> Figure:
        """The figure.

        ``fields``: fields of the rows, to which fields of the statistics are added. ``width``: a
        figure with few marks over the full width has half the width. The field ``STATISTICS``
        (named ``*``) marks the place of the statistics; without it they are last. ``statistics``:
        their fields, by default the fields of a metric's median.
        """
        if statistics is None:
            statistics = data_fields(self._si_unit)
        written: list[Field] = []
        for field in fields:
            written += statistics if field.name == "*" else [field]
        if all(field.name != "*" for field in fields):
            written += statistics
        return Figure(
            id=id,
            title=title,
            caption=caption,
            alt=alt,
            fields=written,
            rows=self.rows,
            spec={
                "height": self.height,
                "transform": self._transforms,
                "encoding": self.encoding,
                "layer": self._layers,
            },
            width=width if self._crowded() else "half",
        )

    def _crowded(self) -> bool:
        """Whether half of the page is too narrow for the marks."""
        if any(_mark(layer) == "bar" for layer in self._layers):
            return len(self.rows) > _BARS
        field = self.encoding["x"].get("field", "")
        if len({row[field] for row in self.rows if field in row}) > _PLACES:
            return True
        names = self.hue["field"] if self.hue else ""
        return len({row[names] for row in self.rows if names in row}) > _NAMES

    def _colour(self) -> dict[str, Spec]:
        return {} if self.hue is None else {"color": self.hue}


def _mark(layer: Spec) -> str:
    mark = layer.get("mark", "")
    return str(mark["type"] if isinstance(mark, dict) else mark)


STATISTICS = Field("*", "", "place of the fields of the statistics")
