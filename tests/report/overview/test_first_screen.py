"""The first screen: the machine, what matters most, the asked question first, the rest folded."""

from __future__ import annotations

import msgspec
import pytest

from assay.report import build_report
from assay.report.html import to_html
from assay.report.markdown import to_markdown
from assay.report.overview.order import open_questions, shown_sections
from report_builder import (
    SYSTEM,
    make_cell,
    make_disturbed,
    make_failure,
    make_run,
    make_summary,
    quick_cells,
)
from report_pages import Page, drawing_cache, rendered

__all__ = ["drawing_cache"]  # a fixture

MOST_LINES = 25


def report_of(suite="quick", *, cells=None, **run):
    cells = quick_cells() if cells is None else cells
    data = make_run(cells, **run)
    plan = msgspec.structs.replace(data.manifest.plan, name=suite)
    manifest = msgspec.structs.replace(data.manifest, plan=plan)
    object.__setattr__(data, "manifest", manifest)
    return build_report(data, cells)


def test_the_machine_is_one_line():
    assert report_of().machine == (
        "Planted Xeon, 2 cores, 24 GiB · ethernet 10.0 Gbit/s · Linux 6.1.0"
    )
    assert report_of(system={}).machine == ""
    assert report_of(system={"schema": 99}).machine == ""


@pytest.mark.parametrize(
    ("first", "asked"),
    [("memory.", "speed"), ("network.", "network"), ("npb.", "speed"), ("noise.", "steadiness")],
)
def test_the_question_that_was_asked_comes_first(first, asked):
    noise = make_failure(make_cell("noise.fwq", ppn=2), error="it broke")
    cells = [noise, *quick_cells()] if first == "noise." else quick_cells()
    cells.sort(key=lambda cell: not cell.kernel.startswith(first))
    report = report_of("mine", cells=cells)
    assert report.asked == asked
    assert shown_sections(report)[0].id == asked
    # For programs, too; the others keep their order.
    order = ["speed", "network", "steadiness", "placement", "design"]
    assert [each.id for each in report.sections] == sorted(order, key=lambda name: name != asked)
    html = Page(to_html(report))
    first = next(a["id"] for a in html.all("section") if a.get("class") == "answer")
    assert first == asked


def test_questions_that_were_not_measured_are_one_line_with_their_commands():
    report = report_of()
    assert [each.command for each in open_questions(report)] == [
        "assay run steadiness", "assay run placement", "assay design --example",
    ]  # fmt: skip
    for text in (to_html(report), to_markdown(report, "f"), rendered(report, verbose=False)):
        assert " ".join(text.split()).count("assay run placement") == 1
    failed = report_of(cells=[])
    assert shown_sections(failed)[0].id == "speed"  # asked, and so not folded


@pytest.mark.parametrize("width", [80, 120])
def test_the_first_screen_is_short(width):
    for suite in ("quick", "network"):
        lines = rendered(report_of(suite), width, verbose=False).splitlines()
        assert len(lines) <= MOST_LINES
        assert max(map(len, lines)) <= width


def test_a_setting_that_halves_a_rate_is_above_all_verdicts():
    system = {**SYSTEM.to_dict(), "tuning": {"OPENBLAS_CORETYPE": "PRESCOTT"}}
    cells = [make_summary(make_cell("compute.dgemm", n=2000), 30e9)]
    report = report_of(cells=cells, system=system)
    assert "OPENBLAS_CORETYPE=PRESCOTT" in report.foremost
    text = rendered(report, verbose=False)
    assert text.index("OPENBLAS_CORETYPE") < text.index("How fast is it")
    html = to_html(report)
    assert html.index("OPENBLAS_CORETYPE") < html.index('class="verdict"')
    assert report_of(cells=cells).foremost == ""


def test_busy_processors_matter_most_only_where_they_doubt_the_answer():
    cells = quick_cells()
    busy = [make_disturbed(cell.cell, 1.2) for cell in cells]
    little = [make_disturbed(cell.cell, 0.3) for cell in cells]
    assert report_of(cells=cells, measurements=busy).foremost.startswith("Other processes kept 1.2")
    assert report_of(cells=cells, measurements=little).foremost == ""
