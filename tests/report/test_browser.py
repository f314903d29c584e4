"""The report in a real browser: it draws, without errors, in both themes."""

from __future__ import annotations

import re

import pytest

from assay.stats.cells.summarise import summarise_cells
from browser import look
from linpack_builder import whole
from report_builder import quick_cells
from report_pages import page_of
from variation_builder import normal, npb, run_of, tailed, two_speeds

pytestmark = pytest.mark.slow


def assert_whole(found: dict) -> None:
    """All figures are drawn, no wider than their place, and no legend is cut off."""
    for name, figure in found["figures"].items():
        assert figure["live"] and figure["wide"], name
        assert figure["cut"] == [], name
    assert not found["overflow"]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return page_of(quick_cells(), tmp_path_factory.mktemp("page"))


@pytest.mark.parametrize(
    ("dark", "width"), [(False, 1200), pytest.param(True, 400, marks=pytest.mark.long)]
)
def test_every_figure_is_drawn_without_errors(browser, page, dark, width):
    found = look(browser, page, dark=dark, width=width)
    assert found["errors"] == []
    figures = found["figures"]
    assert list(figures) == [*("stream", "dgemm", "npb-ep", "npb-cg", "latency", "bandwidth")]
    assert_whole(found)
    # One bar per cell; DGEMM has nine points and a ring; ping-pong a point per size.
    least = {"stream": 8, "dgemm": 10, "npb-ep": 2, "npb-cg": 2, "latency": 24, "bandwidth": 23}
    assert {name: figures[name]["marks"] >= n for name, n in least.items()} == dict.fromkeys(
        least, True
    )
    brightness = sum(map(int, re.findall(r"\d+", figures["stream"]["fill"])[:3]))
    assert (brightness > 384) == dark
    assert (sum(map(int, re.findall(r"\d+", found["other"])[:3])) > 384) != dark
    assert found["first"] == "npb.ep"  # sorted by kernel, descending


@pytest.mark.long
def test_linpacks_figures_are_drawn_too(browser, tmp_path):
    found = look(browser, page_of(whole(), tmp_path), dark=True, width=500)
    assert found["errors"] == []
    figures = {n: f for n, f in found["figures"].items() if n.startswith("linpack")}
    # Ten orders and a ring; two counts; five phases of ten orders; a line per rank of the lists.
    least = {"linpack": 11, "linpack-ranks": 2, "linpack-phases": 50, "linpack-top500": 4}
    assert {name: figures[name]["marks"] >= n for name, n in least.items()} == dict.fromkeys(
        least, True
    )
    assert_whole(found)


@pytest.mark.long
@pytest.mark.parametrize(("dark", "width"), [(False, 1200), (True, 400)])
def test_variations_figures_are_drawn_too(browser, tmp_path, dark, width):
    run = run_of(
        [
            (npb("ep"), normal(1, 60, 0.004)),
            (npb("lu"), tailed(2, 60, 0.005, 0.1, 0.3)),
            (npb("ft", nodes=2, adapter="eth0"), two_speeds(3, 60, 0.01, 0.3, 1.4)),
            (npb("ft", nodes=2, adapter="eth0,eth1"), normal(4, 60, 0.03)),
        ]
    )
    page = page_of(summarise_cells(run), tmp_path, run)
    found = look(browser, page, dark=dark, width=width)
    assert found["errors"] == []
    figures = {n: f for n, f in found["figures"].items() if n.startswith("variation")}
    # Five bins and sixty runs at least; 240 runs; four curves; four cells and 12 published; levels.
    least = {f"variation-histogram-{k}": 65 for k in (1, 2, 3, 4)} | {
        "variation-sequence": 240,
        "variation-tails": 4,
        "variation-cov": 16,
        "variation-factors": 2,
    }
    assert {name: figures[name]["marks"] >= n for name, n in least.items()} == dict.fromkeys(
        least, True
    )
    assert_whole(found)


@pytest.mark.long
def test_legends_have_the_lines_they_need(browser, tmp_path):
    adapters = ("eth0", "eth0,eth1")
    cells = [npb(name, nodes=2, adapter=way) for name in ("ft", "lu") for way in adapters]
    run = run_of([(cell, normal(at, 30, 0.01)) for at, cell in enumerate(cells)])
    page = page_of(summarise_cells(run), tmp_path, run)
    found = look(browser, page, dark=False, width=500)
    assert_whole(found)
    assert found["figures"]["variation-sequence"]["lines"] > 1
    found = look(browser, page, dark=False, width=1600)
    assert_whole(found)
    assert found["figures"]["variation-sequence"]["lines"] == 1
