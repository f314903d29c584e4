"""assay's code beside the site's in answer, tables and findings, and published results with it."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from asking import reply_to
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.questions.common.findings import findings_json
from assay.records.model import RunData
from assay.reference.papers.loading import figures
from assay.report import build_report, print_summary
from assay.stats.cells.summarise import summarise_cells
from site_programs import as_printed, beside
from variation_builder import npb, run_of

SPREAD = (0.99, 1.0, 1.01, 0.995, 1.005, 1.002)


def times(median: float) -> list[float]:
    return [median * each for each in SPREAD]


def asked(run: RunData):
    return reply_to("speed", summarise_cells(run), run)


def test_the_factor_is_in_answer_table_and_findings() -> None:
    own = npb("cg", size="A", ppn=1)
    run = run_of([(own, times(1.0)), (beside(own), times(2.5))])
    reply = asked(run)
    (row,) = (row for row in reply.answer.evidence if row.metric == "code factor")
    assert row.label == "CG class A, 1 rank: assay's code / cg.A.x"
    assert row.value == pytest.approx(2.5, rel=1e-3)
    assert row.ci95 is not None and row.ci95[0] < 2.5 < row.ci95[1]
    (table,) = (table for table in reply.tables() if table.id == "codes-beside")
    assert [entry.text for entry in table.rows[0]][:2] == ["CG class A", "1 rank"]
    assert table.rows[0][4].value == pytest.approx(2.5, rel=1e-3)
    found = findings_json(reply.findings)
    assert found["codes"]["factors"][0]["factor"]["value"] == pytest.approx(2.5, rel=1e-3)
    assert found["codes"]["published"] == []
    out = io.StringIO()
    print_summary(
        build_report(run, summarise_cells(run)), Console(file=out, width=100), verbose=True
    )
    assert "assay's code beside yours" in out.getvalue()


def published(figure: str):
    return next(each for each in figures() if each.id == figure)


def test_a_published_ratio_has_the_codes_divided_out() -> None:
    own = npb("lu", size="C", ppn=1)
    seconds = published("seaborg.npb.lu.mean").si
    run = run_of([(own, times(seconds / 8.0)), (beside(own), times(seconds / 2.0))])
    reply = asked(as_printed(run))
    (found,) = (
        each for each in reply.findings.codes.published if each.figure == "seaborg.npb.lu.mean"
    )
    assert found.ratio == pytest.approx(8.0, rel=2e-3)
    assert found.machine == pytest.approx(2.0, rel=2e-3)
    assert found.machine_ci95 is not None and found.machine_ci95[0] < 2.0 < found.machine_ci95[1]
    assert found.processes == 128
    (row,) = (row for row in reply.answer.evidence if "Seaborg" in row.label)
    assert row.label == "LU class C here / on Seaborg (IBM SP), codes divided out"
    assert row.value == found.machine
    assert row.note == (
        "7.99× [7.93, 8.07] the published rate of 128 processes by assay's code on 1 core, which "
        "is 4.00× [3.96, 4.04] as fast as NASA's NPB 3.4.2 here (LU class C, 1 rank)"
    )
    (table,) = (table for table in reply.tables() if table.id == "codes-published")
    assert {entry.text for row in table.rows for entry in row[:1]} >= {
        "LU class C, Seaborg (IBM SP)"
    }
    assert not [limit for limit in reply.answer.limits if "--beside" in limit]


def test_the_factor_over_another_program_is_not_divided_out() -> None:
    own = npb("lu", size="C", ppn=1)
    run = run_of([(own, times(9.0)), (beside(own), times(30.0))])
    reply = asked(as_printed(run, tool="NPB port to C++"))
    assert len(reply.findings.codes.factors) == 1
    assert {each.machine for each in reply.findings.codes.published} == {None}


def test_without_the_factor_there_is_no_verdict_but_a_command() -> None:
    run = run_of([(npb("lu", size="C", ppn=1), times(9.0))])
    reply = asked(run)
    assert {each.machine for each in reply.findings.codes.published} == {None}
    assert not [row for row in reply.answer.evidence if row.metric in ("ratio", "code factor")]
    assert [table for table in reply.tables() if table.id.startswith("codes-")] == []
    (limit,) = (limit for limit in reply.answer.limits if "--beside" in limit)
    assert "`assay run npb kernel=npb.lu class=C --beside DIR`" in limit


def test_a_class_that_no_paper_has_is_not_mentioned() -> None:
    run = run_of([(npb("lu", size="A", ppn=1), times(9.0))])
    assert asked(run).findings.codes is None


def test_linpack_stands_beside_published_rates_of_hpl() -> None:
    cell = Cell("linpack", {"n": 20000}, Placement(ppn=2), "embedded")
    reply = asked(run_of([(cell, times(40.0))]))
    ids = {each.figure for each in reply.findings.codes.published}
    assert ids == {"seth.linpack.rate"}  # of the others no code is printed
    rate = (2 / 3 * 20000**3 + 3 / 2 * 20000**2) / 40.0
    (seth,) = (e for e in reply.findings.codes.published if e.figure == "seth.linpack.rate")
    assert seth.ratio == pytest.approx(rate / 480.7e9, rel=1e-2)
    (limit,) = (limit for limit in reply.answer.limits if "--beside" in limit)
    assert "assay run linpack n=20000 --beside DIR" in limit
