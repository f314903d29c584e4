"""Builds the format-independent report of a run: all texts, figures and tables."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

from assay.charts.figure import Figure
from assay.console import harmless
from assay.hostnames import names_text
from assay.model.demand import ProgramDemand
from assay.questions import ask_all
from assay.questions.common.answer import Answer
from assay.questions.common.findings import FINDINGS_SCHEMA, findings_json
from assay.questions.common.lines import ReportLine
from assay.questions.common.question import Measured, Reply
from assay.questions.common.tables import Table, evidence_table
from assay.records.model import RunData, system_name
from assay.report.cell_table import cell_table
from assay.report.earlier_runs import read_courses
from assay.report.machine import provenance_tables, system_table
from assay.report.model import REPORT_SCHEMA, ReportModel, Section
from assay.report.overview.foremost import foremost_finding
from assay.report.overview.machine_line import machine_line
from assay.report.overview.methods import run_methods
from assay.report.overview.order import asked_first, asked_question
from assay.report.overview.run_board import run_board
from assay.report.overview.run_lines import run_lines
from assay.stats.changes.other_runs import with_other_runs
from assay.stats.core.model import CellSummary
from assay.stats.core.one_thread import one_thread
from assay.subjects.board import Board
from assay.units import counted, format_duration, format_half_width, format_quantity
from assay.version import VERSION


@one_thread
def build(
    run: RunData,
    cells: Sequence[CellSummary],
    history: Sequence[RunData] = (),
    program: ProgramDemand | None = None,
) -> ReportModel:
    """The report of a run from its summaries; ``history``: stored runs of the same system.

    ``program``: the profile of a program that is to run on the machine.
    """
    manifest = run.manifest
    name = system_name(manifest)
    courses = read_courses(run) if history else {}
    cells = with_other_runs(cells, courses, manifest.run, manifest.utc)
    replies = ask_all(Measured(run, cells, history, courses=courses, program=program))
    sections = [_section(reply, run, cells) for reply in replies]
    asked = asked_question(run, sections)
    answers = [reply.answer for reply in replies]
    machine = machine_line(manifest)
    return ReportModel(
        schema=REPORT_SCHEMA,
        assay=VERSION,
        run=manifest.run,
        suite=manifest.plan.name,
        title=f"{name}: {manifest.plan.title or manifest.plan.name}",
        system=name,
        utc=_iso(manifest.utc),
        complete=run.complete,
        unfinished=" ".join(
            filter(None, ["" if run.complete else _unfinished(run, cells), _damaged(run)])
        ),
        summary=_summary(run, cells),
        sections=asked_first(sections, asked),
        findings_schema=FINDINGS_SCHEMA,
        cells=list(cells),
        cell_table=cell_table(cells),
        system_table=system_table(manifest),
        provenance=provenance_tables(run),
        machine=machine,
        foremost=foremost_finding(answers),
        asked=asked,
        lines=run_lines(run, cells, courses, answers),
        page=run_board(run, cells, _asked_answer_first(answers, asked), machine),
        methods=run_methods(run, cells),
    )


def report_without_cells(
    name: str,
    title: str,
    utc: float,
    summary: str,
    sections: Sequence[Section],
    *,
    rows: Table,
    facts: Table,
    suite: str = "",
    system: str = "",
    unfinished: str = "",
    complete: bool = True,
    provenance: Sequence[Table] = (),
    lines: Sequence[ReportLine] = (),
    page: Board | None = None,
) -> ReportModel:
    """A report on another subject, with the layout of a run's report: a log, a profile, a design,
    runs.

    ``utc`` is in s since 1970. ``rows`` replace the cells and ``facts`` replace the system.
    """
    return ReportModel(
        schema=REPORT_SCHEMA,
        assay=VERSION,
        run=name,
        suite=suite,
        title=title,
        system=system,
        utc=_iso(utc),
        complete=complete,
        unfinished=unfinished,
        summary=summary,
        sections=list(sections),
        findings_schema=FINDINGS_SCHEMA,
        cells=[],
        cell_table=rows,
        system_table=facts,
        provenance=list(provenance),
        lines=list(lines),
        page=page,
    )


def _asked_answer_first(answers: Sequence[Answer], asked: str) -> list[Answer]:
    return sorted(answers, key=lambda each: each.question != asked)


def _iso(utc: float) -> str:
    time = datetime.datetime.fromtimestamp(utc, datetime.UTC)
    return time.isoformat(timespec="seconds").replace("+00:00", "Z")


def _damaged(run: RunData) -> str:
    """A sentence on lines that can't be read and are left out; empty if all lines can be read."""
    if not run.damaged:
        return ""
    places = ", ".join(run.damaged[:4]) + (", …" if len(run.damaged) > 4 else "")
    return (
        f"This run is damaged: {counted(len(run.damaged), 'line')} of its streams ({places}) can't "
        "be read and are left out."
    )


def _section(reply: Reply[Any], run: RunData, cells: Sequence[CellSummary]) -> Section:
    answer = reply.answer
    evidence = [evidence_table(answer.question, answer.evidence)] if answer.evidence else []
    return section_of(
        answer,
        figures=reply.figures(),
        tables=[*evidence, *reply.tables()],
        method=_sampling(run, cells) if answer.status == "answered" else [],
        findings=findings_json(reply.findings),
    )


def section_of(
    answer: Answer,
    *,
    figures: Sequence[Figure],
    tables: Sequence[Table],
    method: Sequence[str] = (),
    findings: object = None,
) -> Section:
    """The section of a report for an answer.

    Figures with a single point are left out, since a table shows the point. ``method``: further
    sentences on how the subject was measured. ``findings``: as returned by ``findings_json``.
    """
    return Section(
        id=answer.question,
        title=answer.title,
        status=answer.status,
        verdict=answer.verdict,
        confidence=answer.confidence,
        confidence_why=answer.confidence_why,
        evidence=answer.evidence,
        figures=[figure for figure in figures if len(figure.rows) > 1],
        tables=list(tables),
        method=[*answer.method, *method],
        limits=answer.limits,
        advice=answer.advice,
        caveats=answer.caveats,
        findings=findings,
        impossible=answer.impossible,
        published=answer.published,
        confidences=answer.confidences,
        asked=answer.asked,
    )


def _sampling(run: RunData, cells: Sequence[CellSummary]) -> list[str]:
    """How the run was sampled; valid for every result.

    States the number of launches made, or the number planned if the run has several sessions.
    """
    rule = run.manifest.plan.replication
    made = [max(metric.n for metric in cell.metrics.values()) for cell in cells if cell.metrics]
    if rule.repeated or not made:
        made = [rule.min_launches, rule.max_launches]
    low, high = min(made), max(made)
    count = "once" if high == 1 else f"{high} times"
    times = count if low == high else f"{low} to {count}"
    if low < rule.min_launches:
        times += f" (at least {rule.min_launches} were planned)"
    until = (
        f"until the {100 * rule.confidence:g}% interval of the median over launches was within "
        f"{format_half_width(rule.precision)} of the median or the budget was spent"
    )
    if rule.unbroken:
        times, until = "repeatedly", f"for {format_duration(rule.duration)}"
    if rule.repeated:
        times += f" in each of {rule.planned} sessions {format_duration(rule.every)} apart"
    return [
        f"Each cell was launched {times} in randomised blocks (seed {run.manifest.plan.seed}), "
        f"{until}. Intervals are nonparametric and hold across launches, not only within one."
    ]


def _unfinished(run: RunData, cells: Sequence[CellSummary]) -> str:
    planned = len(run.manifest.plan.cells)
    measured = sum(1 for cell in cells if cell.metrics)
    path = harmless(str(run.path)) if run.path else run.manifest.run
    lost = list(dict.fromkeys(host for launch in run.launches for host in launch.lost))
    hosts = f"{names_text(lost)} stopped responding. " if lost else ""
    return (
        f"This run is incomplete: {measured} of {counted(planned, 'cell')} have results so far. "
        f"{hosts}`assay run --resume {path}` measures only the missing cells."
    )


def _summary(run: RunData, cells: Sequence[CellSummary]) -> str:
    """The amount of measurement, in one line."""
    launches = len(run.launches) or len({m.launch for m in run.measurements})
    samples = sum(
        max((metric.samples for metric in cell.metrics.values()), default=0) for cell in cells
    )
    spent = sum(launch.wall for launch in run.launches)
    failed = sum(1 for cell in cells if cell.status == "failed" or cell.verified is False)
    words = [
        counted(len(run.manifest.plan.cells), "cell"),
        counted(launches, "launch"),
        counted(samples, "sample") if samples < 1000 else f"{samples:,} samples",
        f"{format_quantity(spent, 's')} of measurement" if spent else "",
        f"{counted(failed, 'cell')} failed" if failed else "",
    ]
    return " · ".join(word for word in words if word)
