"""Reports of failed runs, of hostile names, and of thousands of cells."""

from __future__ import annotations

import base64
import io
import json
import re
from pathlib import Path

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.charts.drawing import csv_text, drawable
from assay.report import build_report, print_summary
from assay.report.html import to_html
from assay.report.markdown import to_markdown
from assay.report.model import ReportModel
from report_builder import (
    make_cell,
    make_failure,
    make_run,
    make_summary,
    quick_cells,
)
from report_pages import Page, drawing_cache, rendered

__all__ = ["drawing_cache"]  # a fixture

HOSTILE = "<script>alert(1)</script>\"'&amp;`|\\ <!-- ]]> \u2028 ünï \N{RIGHT-TO-LEFT OVERRIDE}"


# --- failed runs ------------------------------------------------------------------------------


def outputs(report) -> list[str]:
    return [to_html(report), to_markdown(report, "f"), rendered(report)]


def test_a_run_in_which_everything_failed():
    cells = [
        make_failure(make_cell("compute.dgemm", n=10), "The BLAS crashed."),
        make_failure(make_cell("memory.stream", op="triad"), wrong=True),
    ]
    report = build_report(make_run(cells), cells)
    assert report.sections[0].status == "unmeasured"
    assert "2 cells failed" in report.summary
    for text in outputs(report):
        assert "The BLAS crashed." in text
    states = [[entry.text for entry in row] for row in report.cell_table.rows]
    assert ["failed" in states[0], "wrong result" in states[1]] == [True, True]


def test_a_run_with_no_cells():
    report = build_report(make_run([], launches=[], toolchains={}), [])
    html, markdown, _ = outputs(report)
    assert "This run has no cells yet." in html and "This run has no cells yet." in markdown


def test_a_run_with_one_cell_of_an_unknown_kernel():
    known = make_summary(make_cell("compute.dgemm", n=10), 1e9)
    cell = msgspec.structs.replace(known, kernel="site.code", cell=make_cell("site.code"))
    report = build_report(make_run([cell]), [cell])
    assert report.cell_table.rows[0][4].text == "1.000 Gflop/s [0.994, 1.006]"
    outputs(report)


def test_an_incomplete_run_says_so_and_how_to_continue():
    cells = quick_cells()
    report = build_report(make_run(cells, complete=False, path=Path("runs/x")), cells[:10])
    assert "10 of 46 cells" in report.unfinished
    for text in outputs(report):
        assert "incomplete" in text and "assay run --resume runs/x" in " ".join(text.split())
    assert build_report(make_run(cells), cells).unfinished == ""


def test_an_unknown_system_is_shown_unchanged():
    report = build_report(make_run([], system={"schema": 99, "colour": "blue"}), [])
    assert ["colour", "blue"] in [[e.text for e in row] for row in report.system_table.rows]
    assert "99" in report.system_table.notes[0]


# --- hostile names ----------------------------------------------------------------------------


def hostile_report(text: str) -> ReportModel:
    cells = [
        make_summary(
            make_cell("compute.dgemm", n=n, toolchain=toolchain, **{f"p{text}": text}),
            1e8 * n,
            caveats=[text],
        )
        for n in (100, 200)
        for toolchain in (text, "plain")
    ]
    cells.append(make_failure(make_cell("memory.stream", op=text), text))
    run = make_run(
        cells,
        name=f"20260101T000000Z-{text}-quick",
        title=text,
        system={text: text},
        toolchains={text: {text: text}},
        command=["assay", text],
        complete=False,
    )
    return build_report(run, cells)


def test_hostile_names_are_only_text():
    html, markdown, _ = outputs(hostile_report(HOSTILE))
    parsed = Page(html)
    plain = Page(to_html(hostile_report("plain name")))
    # Same elements as with a harmless name: nothing was injected, nothing swallowed. (A backtick
    # in a name may set code.)
    tags, expected = ([tag for tag, _ in p.tags if tag != "code"] for p in (parsed, plain))
    assert tags == expected
    assert {key for _, a in parsed.tags for key in a} == {key for _, a in plain.tags for key in a}
    assert "<script>alert(1)</script>" in parsed.text
    assert "<script>" not in markdown
    data = re.search(r'id="figures-data">(.*?)</script>', html, re.S)
    assert data and "<" not in data[1]
    labels = {row["placement"] for row in json.loads(data[1])["specs"]["dgemm"]["data"]["values"]}
    assert f"1 rank · {HOSTILE}" in labels


def test_input_that_crashes_the_drawing_library_is_not_passed_to_it():
    report = hostile_report("a\x14b\N{GRINNING FACE}c\n")
    (figure,) = report.sections[0].figures
    labels = {row["placement"] for row in drawable(figure)["data"]["values"]}
    assert "1 rank · a\ufffdb\ufffdc\n" in labels
    assert "1 rank · a\x14b\N{GRINNING FACE}c\n" in {row["placement"] for row in figure.rows}


COMMANDS = "\x1b]0;owned\x07\x1b[2Jx\x9b31my\u202ez"


def test_names_cannot_command_the_terminal():
    from assay.console import console

    report = hostile_report(COMMANDS)
    for width in (60, 200):
        screen = console()
        stream = screen.file = io.StringIO()
        screen.width = width
        print_summary(report, screen)
        assert "owned" in stream.getvalue()
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", stream.getvalue())
    markdown = to_markdown(report, "f")
    assert "owned" in markdown
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", markdown)


def test_errors_cannot_command_the_terminal(capsys):
    from assay.console import print_error

    print_error(COMMANDS, where=COMMANDS, fix=COMMANDS, detail=f"one\r\n\t{COMMANDS}")
    said = capsys.readouterr().err
    assert said.startswith("one\n\t")
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", said)


def test_a_terminal_still_has_its_colours():
    from rich.text import Text

    from assay.console import console

    stream = io.StringIO()
    screen = type(console())(file=stream, force_terminal=True, color_system="standard")
    screen.print(Text("a\x1bb", style="bold red"))
    assert stream.getvalue() == "\x1b[1;31ma\ufffdb\x1b[0m\n"


def test_rich_markup_in_names_stays_text():
    report = hostile_report("[bold red]x[/] [link=file:///etc]y[/link]")
    assert "[bold red]x[/]" in rendered(report, 400)


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=st.text(st.characters(codec="utf-8"), max_size=40))
def test_any_text_is_accepted_and_escaped(text, monkeypatch):
    monkeypatch.setattr("assay.report.html.javascript_bundle", lambda: "let bundle;")
    report = hostile_report(text)
    parsed = Page(to_html(report))
    assert parsed.open == []
    assert len(parsed.all("script")) == 3
    for line in to_markdown(report, "f").splitlines():
        if line.startswith("|"):
            assert line.endswith("|")
    rendered(report)


@settings(deadline=None)
@given(st.text(st.characters(codec="utf-8"), max_size=60))
def test_a_markdown_table_keeps_its_columns_for_any_text(text):
    from assay.questions.common.tables import Column, Entry, Table
    from assay.report.markdown import _table

    table = Table("t", "t", [Column("a", "A"), Column("b", "B")], [[Entry(text), Entry("x")]])
    (block,) = _table(table)
    head, _, row = block.split("\n")
    bars = re.compile(r"(?<!\\)(?:\\\\)*\|")
    assert len(bars.findall(row)) == len(bars.findall(head)) == 3


# ---- thousands of cells ----------------------------------------------------------------------


def test_a_report_of_thousands_of_cells_stays_short_and_names_every_failure() -> None:
    from assay.report.cell_table import cell_table
    from assay.report.shorten import MOST_POINTS, MOST_ROWS, shortened

    cells = [make_summary(make_cell("network.pingpong", bytes=i), 1e-6) for i in range(2000)]
    failed = {7, 1900, 1999}
    for place in failed:
        cells[place] = msgspec.structs.replace(
            cells[place], status="failed", metrics={}, error=f"planted in {place}"
        )
    report = build_report(make_run(cells), cells)
    assert report.cell_table == cell_table(cells)  # complete for programs
    short = shortened(report).cell_table
    assert len(short.rows) == MOST_ROWS
    assert "500 of 2,000 rows, failures first" in short.caption
    assert short.notes == [f"planted in {place}" for place in sorted(failed)]
    noted = [row for row in short.rows if row[-1].text]
    assert [row[-1].text for row in noted] == ["1", "2", "3"]
    assert [row[1].text for row in noted] == [f"bytes={place}" for place in sorted(failed)]
    kept = [row[1].text for row in short.rows if not row[-1].text]
    assert kept == [f"bytes={i}" for i in range(498) if i not in failed]
    html = to_html(report)
    assert html.count("<tr>") < 3 * MOST_ROWS
    assert "500 of 2,000 rows" in html
    assert shortened(shortened(report)).cell_table == short
    (latency,) = (f for s in report.sections for f in s.figures if f.id == "latency")
    (drawn,) = (f for s in shortened(report).sections for f in s.figures if f.id == "latency")
    assert len(latency.rows) > MOST_POINTS == len(drawn.rows)
    assert (drawn.rows[0], drawn.rows[-1]) == (latency.rows[0], latency.rows[-1])
    assert f"shows 1,000 of {len(latency.rows):,} points" in drawn.caption
    whole = base64.b64encode(csv_text(latency).encode()).decode()
    assert whole in html


def test_a_short_report_is_not_changed() -> None:
    from assay.report.shorten import shortened

    cells = quick_cells()
    report = build_report(make_run(cells), cells)
    assert shortened(report) == report
