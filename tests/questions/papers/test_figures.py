"""Charts of a paper: small multiples of benchmarks, and no chart of a single number."""

from __future__ import annotations

import json
from dataclasses import replace

from assay.charts.figure import groups
from assay.questions.papers.curves import CurvePoint, PaperCurve
from assay.questions.papers.figures import figures
from assay.questions.papers.findings import ExhibitFound, PaperFindings
from assay.questions.papers.model import ExhibitCurve


def curve(name: str, title: str, xs: tuple[int, ...] = (1, 2), over: str = "") -> PaperCurve:
    points = tuple(CurvePoint("1 rank per node", x, 1e9 * x, None, 1, (f"c{x}",)) for x in xs)
    written = ExhibitCurve(
        name=name, kernel=("npb.cg",), metric="rate", x="ranks", title=title, over=over,
        what="speedup" if over else "",
    )  # fmt: skip
    return PaperCurve(name, title, "ranks", "" if over else "op/s", points, written)


def found(*exhibits: tuple[str, PaperCurve]) -> PaperFindings:
    return PaperFindings(
        suite="s", paper="P (2004)", title="T", year=2004, asks="", scaled="", apart=(),
        exhibits=tuple(
            ExhibitFound(number, "An exhibit", "", "", (), (each,), ())
            for number, each in exhibits
        ),
    )  # fmt: skip


def test_one_subject_of_several_benchmarks_is_small_multiples_in_the_place_of_the_first():
    drawn = figures(
        found(
            ("Figure 1", curve("a", "BT, rate per process")),
            ("Figure 2", curve("b", "CG before and after a change")),
            ("Figure 3", curve("c", "LU: rate per process")),
        )
    )
    assert [[figure.title for figure in some] for some in groups(drawn)] == [
        ["Figure 1: BT, rate per process", "Figure 3: LU: rate per process"],
        ["Figure 2: CG before and after a change"],
    ]
    assert [figure.group for figure in drawn] == ["Rate per process", "Rate per process", ""]
    assert [figure.panel for figure in drawn] == ["BT, figure 1", "LU, figure 3", ""]


def test_panels_with_and_without_intervals_have_one_caption():
    plain, ratio = curve("a", "BT, gain"), curve("b", "CG, gain", over="ppn == 1")
    drawn = figures(found(("Figure 1", plain), ("Figure 2", ratio)))
    assert len(groups(drawn)) == 1
    assert drawn[0].caption == drawn[1].caption
    assert "The dashed line is 1." in drawn[0].caption


def test_a_chart_of_one_place_along_x_is_left_out():
    drawn = figures(found(("Figure 1", curve("a", "A rate", (4,))), ("Figure 2", curve("b", "B"))))
    assert [figure.title for figure in drawn] == ["Figure 2: B"]


def test_a_chart_without_a_legend_names_its_only_line():
    (drawn,) = figures(found(("Figure 1", curve("a", "A rate"))))
    assert drawn.caption.startswith("Here: 1 rank per node. ")


def test_lines_of_a_single_point_have_whiskers_in_place_of_a_band():
    both = curve("a", "A rate")
    points = tuple(
        CurvePoint(f"{point.x} ranks per node", point.x, point.value, (0.9e9, 2.1e9), 6, ())
        for point in both.points
    )
    (drawn,) = figures(found(("Figure 1", replace(both, points=points))))
    assert drawn.caption == "The whiskers are 95% intervals."
    assert '"tick"' in json.dumps(drawn.spec)
