"""Figures are built from columns: rows, axes, tooltips and the data's description follow."""

from __future__ import annotations

import json
import re

import pytest

from assay.charts.columns import DataColumn, in_percent, instant, statistics_columns
from assay.charts.drawing import csv_text, svg
from assay.charts.options import placed
from assay.charts.plot import Plot, at, fixed, where

COLUMNS = [
    DataColumn("name", "the node", title="node", kind="name", of=lambda item: item[0]),
    DataColumn("time", "median", "s", "time (ms)", ".3~g", factor=1e-3, of=lambda item: item[1]),
    in_percent("gain", "relative to the median", "gain (%)", of=lambda item: item[2]),
    in_percent("low", "lower end", "from (%)", of=lambda item: item[3]),
    in_percent("high", "upper end", "to (%)", of=lambda item: item[4]),
    DataColumn("label", shown="datum.name + '!'"),
]
ITEMS = [("a", 0.002, 0.1, 0.05, 0.2), ("b", 0.001, -0.1, None, None)]


def plotted() -> Plot:
    plot = Plot.of(ITEMS, COLUMNS, step=20)
    x = plot.axis("gain", grid=True, padding=8)
    plot.share(y=plot.names("name", label_limit=100)).level(x=0)
    plot.intervals("low", "high", x=x)
    return plot.dots(
        size=60, x=x, colour=plot.hue("name"), tips=("name", ("time", "takes"), "gain")
    )


def drawn(plot: Plot):
    return plot.figure("f", "Title", caption="Caption.", alt="Alt.")


def test_rows_fields_axes_and_tooltips_follow_from_the_columns():
    figure = drawn(plotted())
    assert figure.rows[0] == {"name": "a", "time": 0.002, "gain": 0.1, "low": 0.05, "high": 0.2}
    described = {field.name: field.unit for field in figure.fields}
    assert described == {"name": "", "time": "s", "gain": "1", "low": "1", "high": "1"}
    dots = figure.spec["layer"][-1]["encoding"]
    assert dots["x"] == {
        "field": "shown_gain",
        "type": "quantitative",
        "title": "gain (%)",
        "axis": {"grid": True},
        "scale": {"padding": 8},
    }
    assert dots["tooltip"] == [
        {"field": "name", "title": "node"},
        {"field": "shown_time", "title": "takes", "format": ".3~g"},
        {"field": "shown_gain", "title": "gain (%)", "format": ".3~g"},
    ]
    assert csv_text(figure).splitlines()[1] == "a,0.002,0.1,0.05,0.2"


def test_values_are_drawn_in_the_columns_unit_and_missing_ones_stay_missing():
    transforms = {each["as"]: each["calculate"] for each in drawn(plotted()).spec["transform"]}
    assert transforms["shown_time"] == "isValid(datum.time) ? datum.time / 0.001 : null"
    assert transforms["label"] == "datum.name + '!'"


def test_intervals_are_drawn_only_where_they_are_known():
    figure = drawn(plotted())
    assert figure.spec["layer"][1]["transform"] == [{"filter": "isValid(datum.low)"}]
    picture = svg(figure)
    lines = re.findall(r'class="mark-rule role-mark .*?</g>', picture)
    assert [each.count("<line") for each in lines] == [1, 1]  # the level, and the interval of a


def test_a_level_is_drawn_once_whatever_the_rows():
    level = drawn(plotted()).spec["layer"][0]
    assert level["data"] == {"values": [{}]}
    assert level["encoding"]["x"] == {"datum": 0, "type": "quantitative"}
    sideways = Plot.of(ITEMS, COLUMNS, height=100).share(x="name", beside_x="label").level(y=2.0)
    assert drawn(sideways).spec["layer"][0]["encoding"]["xOffset"] == {"value": 0}


@pytest.mark.parametrize("channel", ["x", "colour", "words", "detail"])
def test_an_unknown_column_is_refused(channel):
    with pytest.raises(KeyError, match="absent"):
        Plot.of(ITEMS, COLUMNS, height=100).rules(**{channel: "absent"})


def test_an_unknown_option_of_an_axis_is_refused():
    with pytest.raises(TypeError, match="'tickcount'"):
        placed({"tickcount": 5})
    assert placed({"tick_count": 5, "scale": "log", "domain_line": False, "stack": "zero"}) == {
        "axis": {"tickCount": 5, "domain": False},
        "scale": {"type": "log"},
        "stack": "zero",
    }


def test_channels_and_properties_of_marks_are_told_apart():
    plot = Plot.of(ITEMS, COLUMNS, height=100)
    plot.boxes(stroke="white", fill_opacity=0, x="gain", x2="high", fade=where("datum.x", 0.5, 1))
    plot.text("label", stroke=fixed("red"), shape=None, y=at(1.0))
    boxes, text = drawn(plot).spec["layer"]
    assert boxes["mark"] == {"type": "rect", "stroke": "white", "fillOpacity": 0}
    assert boxes["encoding"]["x2"] == {"field": "shown_high"}
    assert boxes["encoding"]["opacity"]["condition"] == {"test": "datum.x", "value": 0.5}
    assert text["encoding"]["text"] == {"field": "label"}
    assert text["encoding"]["stroke"] == {"value": "red"}


def test_instants_are_dates_in_utc():
    plot = Plot.of([1e9], [instant("utc", "time of the run", of=lambda item: item)], height=50)
    figure = drawn(plot.dots(x=plot.axis("utc", ""), tips=("utc",)))
    encoding = figure.spec["layer"][0]["encoding"]
    assert encoding["x"]["scale"] == {"type": "utc"} and encoding["x"]["title"] is None
    assert encoding["tooltip"][0]["type"] == "temporal"
    assert "2001" in svg(figure)


def test_statistics_of_a_median_say_why_an_interval_is_absent():
    columns = {column.name: column for column in statistics_columns("s")}
    assert "too few launches" in columns["interval"].shown
    assert columns["median"].label == "median (s)" and columns["launches"].unit == ""
    assert json.dumps([column.tip() for column in columns.values()])
