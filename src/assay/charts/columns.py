"""Columns of a figure: one list defines its rows, axes, tooltips and description."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from assay.charts.figure import Datum, Field
from assay.charts.marks import Row, Spec, data_fields

Kind = Literal["number", "name", "rank", "time"]
# Vega-Lite's types of measurement.
_TYPES: dict[Kind, str] = {
    "number": "quantitative",
    "name": "nominal",
    "rank": "ordinal",
    "time": "temporal",
}


@dataclass(frozen=True)
class DataColumn:
    """A column of a figure's data.

    ``meaning`` and ``unit`` (SI) describe it in the download. A column without a meaning is drawn
    but not described.
    """

    name: str
    meaning: str = ""
    unit: str = ""
    #: Title on axes and in tooltips, by default the name.
    title: str | None = None
    #: Format of its numbers in tooltips (d3-format).
    format: str = ""
    kind: Kind = "number"
    #: Factor of the unit in which it is drawn, such as 1e-6 for µs or 0.01 for percent.
    factor: float = 1.0
    #: Vega expression over the row (``datum``) for the drawn value; it may refer to earlier
    #: columns.
    shown: str = ""
    #: Function that returns the value of an item (``Plot.of``).
    of: Callable[[Any], Datum] | None = None

    @property
    def drawn(self) -> str:
        """The field that marks use: the column's own field, or a field computed for drawing."""
        computed = bool(self.shown) or self.factor != 1.0
        return f"shown_{self.name}" if computed and self.meaning else self.name

    @property
    def label(self) -> str:
        """Its title on an axis."""
        return self.name if self.title is None else self.title

    @property
    def type(self) -> str:
        """Vega-Lite's type of measurement."""
        return _TYPES[self.kind]

    @property
    def field(self) -> Field:
        """Its description in the download."""
        return Field(self.name, self.unit, self.meaning)

    def transform(self) -> list[Spec]:
        """The transform that computes the drawn value, if it isn't the column's value."""
        if self.shown:
            return [{"calculate": self.shown, "as": self.drawn}]
        if self.factor == 1.0:
            return []
        value = f"datum.{self.name}"
        scaled = f"isValid({value}) ? {value} / {self.factor!r} : null"
        return [{"calculate": scaled, "as": self.drawn}]

    def tip(self, title: str | None = None) -> Spec:
        """Its line in a tooltip."""
        line: Spec = {"field": self.drawn, "title": self.label if title is None else title}
        if self.kind == "time":
            line["type"] = self.type
        return {**line, "format": self.format} if self.format else line


def rows_of(columns: Sequence[DataColumn], items: Iterable[Any]) -> list[Row]:
    """A row per item, with the columns that have a value."""
    stored = [(column.name, column.of) for column in columns if column.of is not None]
    return [{name: of(item) for name, of in stored} for item in items]


def in_percent(
    name: str,
    meaning: str,
    title: str,
    *,
    format: str = ".3~g",  # noqa: A002 - as in Vega
    of: Callable[[Any], Datum] | None = None,
) -> DataColumn:
    """A share or a relative change, drawn in percent."""
    return DataColumn(name, meaning, "1", title, format, factor=0.01, of=of)


def instant(
    name: str,
    meaning: str,
    title: str | None = None,
    *,
    of: Callable[[Any], Datum] | None = None,
) -> DataColumn:
    """A Unix time in s, drawn as a date (UTC)."""
    return DataColumn(
        name,
        meaning,
        unit="s",
        title=title,
        format="%Y-%m-%d %H:%M",
        kind="time",
        factor=1e-3,
        of=of,
    )


def statistics_columns(unit: str) -> list[DataColumn]:
    """The columns of a median's statistics, in a tooltip: median, interval, launches."""
    of = f" ({unit})" if unit else ""
    median, low, high, launches = data_fields(unit)
    interval = "format(datum.low, '.4~g') + ' to ' + format(datum.high, '.4~g')"
    return [
        DataColumn(median.name, median.meaning, unit, f"median{of}", ".4~g"),
        *(DataColumn(end.name, end.meaning, unit) for end in (low, high)),
        DataColumn(launches.name, launches.meaning),
        DataColumn(
            "interval",
            title=f"95% interval{of}",
            shown=f"isValid(datum.low) ? {interval} : 'too few launches'",
        ),
    ]
