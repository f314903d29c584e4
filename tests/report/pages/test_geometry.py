"""Figures have legends that fit and readable numbers, and defects of drawn figures are found."""

from __future__ import annotations

import msgspec
import pytest

from assay.charts.axes import log_ticks
from assay.charts.builder import Chart, numbers
from assay.charts.drawing import drawable
from assay.charts.figure import Field, Figure
from assay.charts.finish import _shown, finished, legends
from assay.questions.common.tables import Column, Entry, Table
from assay.report.build import report_without_cells
from assay.report.html import to_html
from assay.report.model import Section
from geometry import defects, too_precise
from report_pages import drawing_cache

__all__ = ["drawing_cache"]  # a fixture


def page_of(*figures: Figure) -> str:
    """A page with figures alone."""
    section = Section(
        "speed", "How fast is it?", "answered", "Fast.", None, "",
        *([], list(figures), [], [], [], [], []),
    )  # fmt: skip
    empty = Table("t", "T", [Column("a", "A")], [])
    return to_html(report_without_cells("r", "R", 0.0, "", [section], rows=empty, facts=empty))


def chart(names: list[str], **more) -> Figure:
    rows = [
        {"n": n, "name": name, "median": 1e9 * n, "low": 0.9e9 * n, "high": 1.1e9 * n,
         "launches": 6}
        for name in names for n in (1, 2, 3)
    ]  # fmt: skip
    return (
        Chart(rows, numbers("n", "count", **more), "rate", "B/s", hue="name")
        .curves(strokeDash={"field": "name", "type": "nominal", "title": "of"})
        .figure("f", "F", caption="", alt="a" * 30, fields=[Field("n", "", "count")])
    )


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("2.73002223078", True), ("10000000", True), ("10,000,000", False), ("1,048,576", False),
        ("2.73", False), ("0.0000012", False), ("n = 1234567", False), ("12.345678", True),
        ("gcc-13.2", False), ("", False),
    ],
)  # fmt: skip
def test_numbers_that_nobody_can_use_are_found(text, wrong):
    assert too_precise(text) == wrong


def test_every_legend_gets_columns_that_fit():
    spec = finished(chart(["a", "b"]))
    legends = [
        layer["encoding"][channel]["legend"]
        for layer in spec["layer"]
        for channel in ("color", "strokeDash")
        if channel in layer["encoding"]
    ]
    assert len(legends) >= 3 and all("columns" in legend for legend in legends)


def test_intervals_are_drawn_only_if_there_are_any():
    figure = chart(["a"])
    assert len(finished(figure)["layer"]) == 2
    for row in figure.rows:
        row["low"] = row["high"] = None
    assert len(finished(figure)["layer"]) == 1
    assert drawable(figure)["config"]["numberFormat"]


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ([0.9, 2000.0], [0.1, 1, 10, 100, 1000, 10_000]),
        ([1.5, 40.0], [1, 2, 5, 10, 20, 50]),
        ([130.0, 140.0], [100, 200]),
        ([1.0, 10.0], [1, 2, 5, 10]),
        ([7.0], [5, 10]),
    ],
)
def test_ticks_of_logarithmic_axes(values, ticks):
    rows = [{"median": value, "low": None, "high": None} for value in values]
    assert log_ticks(rows, 1.0) == pytest.approx(ticks)


def test_slanted_labels_that_begin_alike_are_cut_at_their_begin():
    def axis(names: list[str]) -> dict:
        figure = chart(["a"])
        rows = [{**figure.rows[0], "name": name} for name in names]
        x = {"field": "name", "type": "nominal", "axis": {"labelAngle": 0}}
        spec = {**figure.spec, "encoding": {"x": x}}
        changed = msgspec.structs.replace(figure, rows=rows, spec=spec)
        return finished(changed)["encoding"]["x"]["axis"]

    assert "'…' + slice(" in axis([f"2 nodes 32 ranks node set {n}" for n in (1, 2)])["labelExpr"]
    others = axis(["a long name of a placement", "b long name of a placement"])["labelExpr"]
    assert "…" not in others
    # 2 × (26 characters × 7 + 10) px in one line; in two the first has 14 characters at most.
    assert others.startswith("room >= 384 ? datum.label : room >= ")


@pytest.mark.parametrize(
    ("labels", "begin"),
    [
        # They differ at their begin, at their end, and only late.
        ({"direct, posix and more words", "fsync, posix and more words"}, "datum.label"),
        ({"16 ranks node set 1", "16 ranks node set 2"}, "length(datum.label) > "),
        ({f"{op}: shared file, {way}, {api}" for op in ("write", "read")
          for way in ("segmented", "strided") for api in ("posix", "mpiio")}, "datum.label"),
    ],
)  # fmt: skip
def test_slanted_labels_say_what_differs(labels, begin):
    cut, room = _shown(labels)
    assert cut.startswith(begin)
    if cut == "datum.label":
        kept = (room - 10) // 7 - 1
        assert len({label[:kept] for label in labels}) == len(labels)


def test_ticks_have_prefixes_of_their_own_where_one_would_need_zeros():
    def axis(values: list[float]) -> dict:
        rows = [{"median": value, "low": None, "high": None} for value in values]
        return Chart(rows, numbers("n", "n"), "bandwidth", "B/s", logarithmic=True).y

    near = axis([1e8, 1e10])
    assert near["title"] == "bandwidth (GB/s)" and near["axis"]["format"] == ".6~g"
    far = axis([1e5, 1e10])
    assert far["title"] == "bandwidth" and "' kB/s'" in far["axis"]["labelExpr"]


@pytest.mark.long
def test_axes_without_prefixes_are_found_and_those_with_them_are_not(browser):
    def page(**axis) -> str:
        rows = [{"n": n, "name": "a", "median": 10.0**n, "low": None, "high": None, "launches": 6}
                for n in range(-6, 3)]  # fmt: skip
        chart = Chart(rows, numbers("n", "n"), "time", "s", logarithmic=True)
        if axis:
            chart.y["axis"] = axis
        fields = [Field("n", "", "n")]
        return page_of(chart.lines().figure("f", "F", caption="", alt="a" * 30, fields=fields))

    assert defects(browser, page(), [1200]) == []
    texts = browser.ask("""return [...document.querySelectorAll(".role-axis-label text")]
      .map((e) => e.textContent);""")
    assert {"1 µs", "1 ms", "1 s"} <= set(texts)
    found = " ".join(defects(browser, page(format=".7~f"), [1200]))
    assert "no prefix: 0.000001" in found


def test_a_chart_of_few_marks_takes_half_of_the_width():
    def width(places: int) -> str:
        rows = [{"n": n, "name": "a", "median": 1.0, "low": None, "high": None, "launches": 1}
                for n in range(places)]  # fmt: skip
        lines = Chart(rows, numbers("n", "n"), "rate", "B/s", hue="name").lines()
        return lines.figure("f", "F", caption="", alt="", fields=[], width="full").width

    assert [width(2), width(8), width(9)] == ["half", "half", "full"]


def test_panels_with_the_same_names_share_the_legend_of_the_first():
    assert legends(chart(["a", "b"])) == legends(chart(["a", "b"]))
    assert legends(chart(["a", "b"])) != legends(chart(["b", "a"]))
    assert legends(chart(["a"])) == {"strokeDash": ("a",)}  # one colour has no legend


@pytest.mark.long
def test_only_the_first_panel_of_the_same_names_has_a_legend(browser):
    panels = [
        msgspec.structs.replace(chart(names), id=name, group="Rates", panel=name)
        for name, names in (("p", ["a", "b"]), ("q", ["a", "b"]), ("r", ["b", "c"]))
    ]
    browser.open_text(page_of(*panels))
    found = browser.ask("""
      const count = (id, what) =>
        document.querySelectorAll(`#figure-${id} .live ${what}`).length;
      const bottom = (id) => document.querySelector(`#figure-${id} .live`)
        .getBoundingClientRect().bottom;
      return { legends: ["p", "q", "r"].map((id) => count(id, ".role-legend-label text")),
        level: Math.abs(bottom("p") - bottom("q")) < 1 };
    """)
    assert found["legends"][0] > 0
    assert found["legends"][1:] == [0, found["legends"][0]]
    assert found["level"]


@pytest.mark.long
def test_planted_defects_are_found(browser):
    labels = ["a very long name of a toolchain " * 2 + str(i) for i in range(3)]
    crowded = {"axis": {"values": [1, 1.01, 1.02, 3], "labelOverlap": False, "format": ".9f"}}
    figure = chart(labels, **crowded)
    found = " ".join(defects(browser, page_of(figure), [600]))
    for planted in ("overlap: ", "px apart", "digits of 1.010000000", "twice in a legend"):
        assert planted in found, planted


@pytest.mark.long
def test_cut_titles_and_squeezed_columns_are_found(browser):
    figure = chart(["a", "b"])
    figure.spec["encoding"]["x"]["title"] = "a title that is longer than the axis " * 3
    figure.spec["encoding"]["x"]["axis"] = {"titleLimit": 200}
    columns = [Column("a", "A"), *(Column(str(n), "B" * 60) for n in range(5))]
    long = Entry("alternating considerations unfortunately everywhere")
    squeezed = Table("s", "S", columns, [[long, *[Entry("b")] * 5]])
    section = Section(
        "speed", "How fast is it?", "answered", "Fast.", None, "",
        *([], [figure], [squeezed], [], [], [], []),
    )  # fmt: skip
    empty = Table("t", "T", [Column("a", "A")], [])
    page = to_html(report_without_cells("r", "R", 0.0, "", [section], rows=empty, facts=empty))
    found = " ".join(defects(browser, page, [1200]))
    for planted in ("cut title: a title that", "a narrow column: alternating"):
        assert planted in found, planted


@pytest.mark.long
def test_small_multiples_have_one_title_and_one_caption(browser):
    panels = [
        msgspec.structs.replace(
            chart([name]), id=name, group="Rates", panel=f"of {name}", caption="Of both."
        )
        for name in "ab"
    ]
    alone = msgspec.structs.replace(chart(["c"]), title="Another", caption="Of one.")
    browser.open_text(page_of(*panels, alone))
    found = browser.ask("""
      const texts = (selector) =>
        [...document.querySelectorAll(selector)].map((e) => e.textContent);
      const top = (id) => document.querySelector(`#figure-${id}`).getBoundingClientRect().top;
      return { titles: texts(".figures h3"), panels: texts(".figures h4"),
        beside: top("a") === top("b"), above: top("b") < top("f"),
        captions: texts(".multiples .caption, figcaption span:first-child").filter((t) => t) };
    """)
    assert found == {
        "titles": ["Rates", "Another"], "panels": ["of a", "of b"], "beside": True, "above": True,
        "captions": ["Of both.", "Of one."],
    }  # fmt: skip
