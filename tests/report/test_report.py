from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import re
from pathlib import Path
from typing import get_type_hints

import msgspec
import pytest

from assay.charts.drawing import csv_text, svg
from assay.charts.theme import _CATEGORIES, _INK
from assay.errors import AssayError
from assay.report import build_report, write_report
from assay.report.html import to_html
from assay.report.markdown import to_markdown
from assay.report.model import ReportModel
from report_builder import (
    DGEMM,
    STREAM,
    make_cell,
    make_failure,
    make_run,
    make_summary,
    quick_cells,
)
from report_pages import Page, drawing_cache, rendered

__all__ = ["drawing_cache"]  # a fixture

GOLDEN = Path(__file__).parents[1] / "data" / "report"


@pytest.fixture(scope="module")
def quick() -> ReportModel:
    cells = quick_cells()
    return build_report(make_run(cells), cells)


@pytest.fixture(scope="module")
def page(quick) -> str:
    return to_html(quick)


def golden(name: str, text: str) -> None:
    """Compare the text with the golden file; a missing file fails."""
    path = GOLDEN / name
    assert path.is_file(), f"{path} is missing; check this and write it by hand:\n{text}"
    assert text == path.read_text(encoding="utf-8")


# --- texts ------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [80, 150])
@pytest.mark.parametrize(("name", "verbose"), [("terminal", True), ("first-screen", False)])
def test_terminal_text(quick, width, name, verbose):
    lines = (line.rstrip() for line in rendered(quick, width, verbose=verbose).splitlines())
    golden(f"{name}-{width}.txt", "\n".join(lines) + "\n")


def test_markdown_text(quick):
    golden("report.md", to_markdown(quick, "report-figures"))


def test_no_line_of_the_terminal_is_wider_than_it(quick):
    for width in (40, 60, 80, 120, 200):
        assert max(map(len, rendered(quick, width).splitlines())) <= width


def test_no_colour_where_there_is_no_terminal(quick):
    assert "\x1b" not in rendered(quick)


def test_every_cell_is_in_the_table_with_its_numbers(quick):
    rows = [[entry.text for entry in row] for row in quick.cell_table.rows]
    assert len(rows) == len(quick.cells)
    names = [column.name for column in quick.cell_table.columns]
    triad = dict(zip(names, rows[7], strict=True))
    assert triad["parameters"] == "op=triad"
    assert triad["median"] == "35.1 GB/s [34.9, 35.3]"
    assert (triad["min"], triad["max"]) == ("34.5 GB/s", "35.5 GB/s")
    assert (triad["cov"], triad["launches"], triad["stop"]) == ("0.60%", "8", "precision")


def test_notes_are_numbered_once_each():
    cells = [
        make_summary(make_cell("compute.dgemm", n=1), 1e9, caveats=["Noisy.", "Coarse."]),
        make_summary(make_cell("compute.dgemm", n=2), 1e9, caveats=["Coarse."]),
        make_failure(make_cell("compute.dgemm", n=3), "Boom."),
    ]
    table = build_report(make_run(cells), cells).cell_table
    assert table.notes == ["Noisy.", "Coarse.", "Boom."]
    assert [row[-1].text for row in table.rows] == ["1, 2", "2", "3"]


def test_json_is_the_model_and_reads_back(quick, tmp_path):
    (path,) = write_report(quick, tmp_path, ["json"])
    assert path.name == "report.json"
    read = msgspec.json.decode(path.read_bytes(), type=ReportModel)
    assert read.sections[0].verdict == quick.sections[0].verdict
    assert len(read.cells) == len(quick.cells)


def test_the_format_s_document_names_every_field():
    """docs/report-format.md is complete: it has each field of each struct."""
    from assay.charts.figure import Field, Figure
    from assay.questions.common.answer import Evidence
    from assay.questions.common.tables import Column, Entry, Table
    from assay.report.model import Section

    text = (Path(__file__).parents[2] / "docs" / "report-format.md").read_text(encoding="utf-8")
    for struct in (ReportModel, Section, Figure, Field, Table, Column, Entry, Evidence):
        section = text.split(f"## {struct.__name__}\n")[1].split("\n## ")[0]
        for field in get_type_hints(struct):
            assert f"`{field}`" in section, f"{struct.__name__}.{field}"


# --- the file ---------------------------------------------------------------------------------


def test_the_page_loads_nothing_from_outside(page):
    parsed = Page(page)
    for tag, attributes in parsed.tags:
        for name in ("src", "href", "srcset", "action", "data", "poster", "xlink:href"):
            address = attributes.get(name)
            if address is not None:
                assert address.startswith(("data:", "#")), (tag, name, address[:80])
    assert "@import" not in parsed.styles and "url(" not in parsed.styles
    policy = [m for m in parsed.all("meta") if m.get("http-equiv") == "Content-Security-Policy"]
    assert policy and policy[0]["content"].startswith("default-src 'none'")
    assert parsed.open == []


def test_the_page_allows_its_own_scripts_and_styles_alone(page):
    """By their digests: neither other inline code nor code generated from text."""
    (policy,) = (
        m["content"]
        for m in Page(page).all("meta")
        if m.get("http-equiv") == "Content-Security-Policy"
    )
    assert "unsafe" not in policy
    allowed = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    for directive, pattern in (
        ("script-src", r"<script>(.*?)</script>"),
        ("style-src", r"<style>(.*?)</style>"),
    ):
        digests = {
            f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
            for text in re.findall(pattern, page, re.S)
        }
        assert digests and set(allowed[directive].split()) == digests
    assert not re.search(
        r"<[^>]* (style|on\w+)=", re.sub(r"<script.*?</script>", "", page, flags=re.S)
    )


def test_what_to_do_stands_before_the_figures(quick, page):
    for section in quick.sections:
        if section.advice and section.figures:
            text = page[page.index(f'<section id="{section.id}"') :]
            assert text.index("<h3>Recommendations</h3>") < text.index("<figure")


def test_options_and_short_commands_are_not_divided_between_lines(quick):
    words = "use `--budget` or `assay run steadiness --every 6h`"
    page = to_html(msgspec.structs.replace(quick, unfinished=words))
    short, long = (
        '<code class="whole">--budget</code>',
        "<code>assay run steadiness --every 6h</code>",
    )
    assert f"use {short} or {long}" in page


def test_every_figure_has_words_data_and_a_still_picture(quick, page):
    figures = [figure for section in quick.sections for figure in section.figures]
    assert [figure.id for figure in figures] == [
        "stream", "dgemm", "npb-ep", "npb-cg", "latency", "bandwidth",
    ]  # fmt: skip
    parsed = Page(page)
    stills = [a for a in parsed.all("img") if a.get("class") == "still"]
    assert [still["alt"] for still in stills] == [figure.alt for figure in figures]
    assert all(len(figure.alt) > 20 for figure in figures)
    links = {a["download"]: a["href"] for a in parsed.all("a") if "download" in a}
    for figure in figures:
        data = base64.b64decode(links[f"{figure.id}.csv"].partition("base64,")[2]).decode()
        assert data == csv_text(figure)
        picture = base64.b64decode(links[f"{figure.id}.svg"].partition("base64,")[2]).decode()
        assert picture.startswith("<svg")
    whole = json.loads(base64.b64decode(links[f"{quick.run}.json"].partition("base64,")[2]))
    assert whole["run"] == quick.run


def test_downloaded_data_are_the_planted_ones_in_base_units(quick):
    stream, dgemm, *_ = quick.sections[0].figures
    rows = list(csv.DictReader(io.StringIO(csv_text(stream))))
    assert {(row["operation"], row["placement"]): float(row["median (B/s)"]) for row in rows} == {
        (op, where): rates[i]
        for op, rates in STREAM.items()
        for i, where in enumerate(("1 rank", "2 ranks"))
    }
    rows = list(csv.DictReader(io.StringIO(csv_text(dgemm))))
    alone = {int(r["n"]): float(r["median (flop/s)"]) for r in rows if r["placement"] == "1 rank"}
    assert alone == DGEMM
    assert [int(row["n"]) for row in rows if row["arrives"] == "True"] == [500]


def test_drawings_have_room_for_wider_fonts_at_the_left_edge(quick):
    """What was drawn begins at 0; the document begins further left."""
    size = re.search(
        r'width="(\d+)" height="\d+" viewBox="-(\d+) 0 (\d+) \d+"',
        svg(quick.sections[0].figures[1]),
    )
    assert size and size[1] == size[3]
    assert int(size[2]) >= int(size[1]) // 25


def test_the_peak_and_its_name_are_drawn(quick):
    drawn = svg(quick.sections[0].figures[1])
    assert drawn.count(">theoretical peak<") == 2


def test_a_figure_without_peak_draws_none():
    cells = [make_summary(make_cell("compute.dgemm", n=n), 1e9 * n) for n in (10, 20)]
    report = build_report(make_run(cells, system={}), cells)
    (figure,) = report.sections[0].figures
    assert "theoretical peak" not in svg(figure)
    assert "Dashed" not in figure.caption


def test_the_measured_peak_is_drawn_by_width():
    cells = [
        make_summary(make_cell("compute.peak", ppn=ppn, width=width), 0.1e9 * width * ppn)
        for width in (64, 256, 512)
        for ppn in (1, 2)
    ]
    report = build_report(make_run(cells), cells)
    (figure,) = [f for f in report.sections[0].figures if f.id == "peak"]
    assert [(row["width"], row["placement"], row["median"]) for row in figure.rows] == [
        (f"{width} bit", f"{ppn} rank{'s' if ppn > 1 else ''}", 0.1e9 * width * ppn)
        for width in (64, 256, 512)
        for ppn in (1, 2)
    ]
    assert "512 bit" in svg(figure)


def test_missing_intervals_are_drawn_as_missing():
    cells = [
        make_summary(make_cell("network.pingpong", ppn=2, bytes=size), 1e-6, n=2)
        for size in (0, 8, 64)
    ]
    report = build_report(make_run(cells), cells)
    network = report.sections[0]
    assert network.id == "network" and len(network.figures) == 2
    for figure in network.figures:
        assert all(row["low"] is None for row in figure.rows)
        assert "NaN" not in svg(figure)
    to_html(report)


@pytest.mark.parametrize("form", ["html", "markdown", "json"])
def test_files_are_written_to_the_requested_place(quick, tmp_path, form):
    suffix = {"html": ".html", "markdown": ".md", "json": ".json"}[form]
    assert write_report(quick, tmp_path, [form]) == [tmp_path / f"report{suffix}"]
    assert write_report(quick, tmp_path / "new" / f"x{suffix}", [form]) == [
        tmp_path / "new" / f"x{suffix}"
    ]
    assert (tmp_path / f"report{suffix}").stat().st_size > 1000


def test_markdown_refers_to_pictures_that_are_there(quick, tmp_path):
    (path,) = write_report(quick, tmp_path, ["markdown"])
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", path.read_text(encoding="utf-8"))
    assert len(pictures) == 6
    assert all((tmp_path / picture).read_text().startswith("<svg") for picture in pictures)


def test_an_unwritable_place_gives_one_clear_sentence(quick, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(AssayError) as raised:
        write_report(quick, tmp_path / "file" / "report.json", ["json"])
    assert str(tmp_path / "file") in raised.value.where
    assert raised.value.fix


def test_the_bundle_is_created_once_and_a_broken_cache_is_repaired(monkeypatch, tmp_path):
    from assay.charts import vega_bundle
    from assay.charts.vega_bundle import javascript_bundle

    created = []

    def fake(snippet):
        created.append(snippet)
        return "let x = '</script><!--';"

    monkeypatch.setattr(vega_bundle, "bundle", fake)
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    first = javascript_bundle()
    assert "</script" not in first and "<!--" not in first
    assert javascript_bundle() == first and len(created) == 1
    (kept,) = (tmp_path / "cache").iterdir()
    kept.write_text(first[: len(first) // 2])
    assert javascript_bundle() == first and len(created) == 2
    (tmp_path / "blocked").write_text("")
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "blocked"))
    assert javascript_bundle() == first


# --- colours ----------------------------------------------------------------------------------


def contrast(one: str, other: str) -> float:
    """WCAG 2.2's contrast ratio, literally."""

    def luminance(colour):
        channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_figures_can_be_read(theme):
    ground = _INK[theme]["ground"]
    assert all(contrast(colour, ground) >= 3 for colour in _CATEGORIES[theme])
    assert contrast(_INK[theme]["ink"], ground) >= 4.5
    assert contrast(_INK[theme]["quiet"], ground) >= 4.5


def test_text_can_be_read_on_every_ground_of_the_style_sheet():
    import assay.report

    css = (Path(assay.report.__file__).parent / "templates" / "report.css").read_text()
    blocks = re.findall(r"--ground:.*?}", css, re.S)
    assert len(blocks) == 4  # light, dark by preference, dark by choice, print
    for block in blocks:
        colours = dict(re.findall(r"--([\w-]+):\s*(#[0-9a-f]{3,6})", block))
        full = {k: v if len(v) == 7 else "#" + "".join(c * 2 for c in v[1:])
                for k, v in colours.items()}  # fmt: skip
        for text in ("ink", "quiet", "accent"):
            for ground in ("ground", "paper", "soft"):
                assert contrast(full[text], full[ground]) >= 4.5, (text, ground)
        for tone in ("good", "warn", "bad"):
            assert contrast(full[tone], full[f"{tone}-soft"]) >= 4.5, tone
            assert contrast(full[tone], full["paper"]) >= 4.5, tone


@pytest.mark.parametrize(
    ("launches", "expected"),
    [
        ((1, 1), "Each cell was launched once (at least 6 were planned) in randomised blocks"),
        ((1, 4), "Each cell was launched 1 to 4 times (at least 6 were planned) in"),
        ((8, 8), "Each cell was launched 8 times in randomised blocks"),
        ((6, 9), "Each cell was launched 6 to 9 times in randomised blocks"),
    ],
)
def test_the_method_states_the_launches_that_were_made(launches, expected):
    cells = [
        make_summary(make_cell("compute.dgemm", n=n), 1e9, n=k) for n, k in enumerate(launches)
    ]
    (speed, *_) = build_report(make_run(cells), cells).sections
    (sentence,) = [text for text in speed.method if "was launched" in text]
    assert sentence.startswith(expected)
