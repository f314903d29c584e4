"""Builds the report of an acceptance: a page for the board, one for each promise, and an annex."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from assay.acceptance.measured import ContractRun
from assay.questions.common.tables import Table
from assay.report import print_summary
from assay.report.acceptance.annex import annex_tables
from assay.report.model import ReportModel, Section
from assay.report.subject import build_subject, present_subject
from assay.subjects.acceptance.model import AcceptanceFindings
from assay.subjects.acceptance.pages import PromisePage, pages_of
from assay.subjects.acceptance.subject import SUBJECT

if TYPE_CHECKING:
    from rich.console import Console

    from assay.report.destination import Destination


def build_acceptance(found: AcceptanceFindings, runs: Sequence[ContractRun]) -> ReportModel:
    """The report. ``runs``: those that were judged, for the conditions in the annex."""
    report = build_subject(SUBJECT, found, more=[_page(each) for each in pages_of(found)])
    return msgspec.structs.replace(
        report,
        board=report.page,
        provenance=[*(report.provenance if runs else []), *annex_tables(runs)],
    )


def present_acceptance(
    found: AcceptanceFindings,
    runs: Sequence[ContractRun],
    console: Console | None,
    target: Destination | None,
    *,
    verbose: bool,
) -> None:
    """Print the verdict, or the findings as JSON without a console; write the report if a file is
    requested, with the pages and the annex."""

    def screen(found: AcceptanceFindings, console: Console) -> None:
        print_summary(build_subject(SUBJECT, found), console, verbose=verbose)

    present_subject(
        SUBJECT,
        found,
        console,
        target,
        screen=screen,
        model=lambda: build_acceptance(found, runs),
    )


def _page(page: PromisePage) -> Section:
    promise = page.promise
    return Section(
        id=f"promise-{page.number}",
        title=f"{page.number}. {page.title}: {promise.outcome}",
        status="answered",
        verdict=promise.reason,
        confidence=None,
        confidence_why="",
        evidence=[],
        figures=[] if page.figure is None or len(page.figure.rows) < 2 else [page.figure],
        tables=[_leading(page.facts)],
        method=[],
        limits=[],
        advice=[promise.remedy] if promise.remedy else [],
        caveats=[],
        page=True,
    )


def _leading(table: Table) -> Table:
    return dataclasses.replace(table, leading=True)
