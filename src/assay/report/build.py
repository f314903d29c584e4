"""A run becomes a report: everything that is said and shown, without a form."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from assay import __version__
from assay.answers import answer_all
from assay.answers.model import Answer, Evidence
from assay.answers.select import quantity_text
from assay.answers.steadiness import Steadiness, steadiness_of
from assay.hostnames import names_text
from assay.records.model import RunData
from assay.report.causes import causes_tables
from assay.report.cells import cell_table
from assay.report.figures import figures_of
from assay.report.linpack import linpack_tables
from assay.report.machine import machine_name, provenance_tables, system_table
from assay.report.model import REPORT_SCHEMA, Column, Entry, Figure, ReportModel, Section, Table
from assay.report.phases import phase_table
from assay.report.placement import placement_tables
from assay.report.placement_why import why_tables
from assay.report.variation import variation_tables
from assay.stats.model import CellSummary
from assay.stats.one_thread import one_thread
from assay.units import counted, format_duration, format_quantity, format_share


@one_thread
def build(
    run: RunData, cells: Sequence[CellSummary], history: Sequence[RunData] = ()
) -> ReportModel:
    """The report of a run from its summaries; ``history``: stored runs of the same system."""
    manifest = run.manifest
    name = machine_name(manifest)
    utc = datetime.datetime.fromtimestamp(manifest.utc, datetime.UTC)
    steadiness = steadiness_of(run, history)
    sections = [
        _section(answer, cells, run, steadiness, history)
        for answer in answer_all(run, cells, history, steadiness)
    ]
    return ReportModel(
        schema=REPORT_SCHEMA,
        assay=__version__,
        run=manifest.run,
        suite=manifest.plan.name,
        title=f"{name}: {manifest.plan.title or manifest.plan.name}",
        system=name,
        utc=utc.isoformat(timespec="seconds").replace("+00:00", "Z"),
        complete=run.complete,
        unfinished="" if run.complete else _unfinished(run, cells),
        summary=_summary(run, cells),
        sections=sections,
        cells=list(cells),
        cell_table=cell_table(cells),
        system_table=system_table(manifest),
        provenance=provenance_tables(run),
    )


def evidence_table(question: str, rows: Sequence[Evidence]) -> Table:
    """Each measured quantity against its limit."""
    sources = list(dict.fromkeys(row.limit_source for row in rows if row.limit_source))

    def limit(row: Evidence) -> Entry:
        if row.limit is None or row.limit_source is None:
            return Entry("")
        number = sources.index(row.limit_source) + 1
        return Entry(f"{quantity_text(row.limit, row.unit)} ({number})", row.limit)

    return Table(
        id=f"{question}-evidence",
        title="Measured against its limit",
        columns=[
            Column("what", "Measured"),
            Column("value", "Median [95% interval]", numeric=True),
            Column("limit", "Limit", numeric=True),
            Column("share", "Share of limit", numeric=True),
            Column("note", "How"),
        ],
        rows=[
            [
                Entry(row.label),
                Entry(quantity_text(row.value, row.unit, row.ci95), row.value),
                limit(row),
                Entry("" if row.share is None else _share(row), row.share),
                Entry(row.note, tone="quiet"),
            ]
            for row in rows
        ],
        notes=sources,
    )


def _share(row: Evidence) -> str:
    return format_share(row.share, row.share_ci95)


def _section(
    answer: Answer,
    cells: Sequence[CellSummary],
    run: RunData,
    steadiness: Steadiness,
    history: Sequence[RunData],
) -> Section:
    answered = answer.status == "answered"
    return section_of(
        answer,
        figures=figures_of(answer.question, cells, run, steadiness, history) if answered else [],
        tables=_tables(answer, cells, run, steadiness, history),
        method=_sampling(run) if answered else [],
    )


def section_of(
    answer: Answer,
    *,
    figures: Sequence[Figure],
    tables: Sequence[Table],
    method: Sequence[str] = (),
) -> Section:
    """An answer as it stands in a report; ``method``: further sentences on how it was measured."""
    return Section(
        id=answer.question,
        title=answer.title,
        status=answer.status,
        verdict=answer.verdict,
        confidence=answer.confidence,
        confidence_why=answer.confidence_why,
        evidence=answer.evidence,
        figures=list(figures),
        tables=list(tables),
        method=[*answer.method, *method],
        limits=answer.limits,
        advice=answer.advice,
        caveats=answer.caveats,
    )


def _tables(
    answer: Answer,
    cells: Sequence[CellSummary],
    run: RunData,
    steadiness: Steadiness,
    history: Sequence[RunData],
) -> list[Table]:
    """The evidence first, then what else belongs to the question."""
    if not answer.evidence:
        return []
    made = [evidence_table(answer.question, answer.evidence)]
    if answer.question == "speed":
        phases = phase_table(cells)
        made += [*linpack_tables(cells, run), *([phases] if phases else [])]
    if answer.question == "steadiness":
        made += [*variation_tables(steadiness), *causes_tables(steadiness.causes)]
    if answer.question == "placement":
        made += [*placement_tables(cells, run), *why_tables(cells, run, history)]
    return made


def _sampling(run: RunData) -> list[str]:
    """What holds for every number of the run."""
    asked = run.manifest.plan.replication
    fewest, most = asked.min_launches, asked.max_launches
    times = f"{fewest} times" if fewest == most else f"{fewest} to {most} times"
    until = (
        f"until the {asked.confidence:.0%} interval of the median over launches was within "
        f"±{asked.precision * 100:.3g}% of it or the budget was spent"
    )
    if asked.unbroken:
        times, until = "again and again", f"for {format_duration(asked.duration)}"
    if asked.repeated:
        times += f" in each of {asked.planned} sessions {format_duration(asked.every)} apart"
    return [
        f"Each cell was launched {times} in randomised blocks (seed {run.manifest.plan.seed}), "
        f"{until}. Intervals are nonparametric and hold across launches, not only within one."
    ]


def _unfinished(run: RunData, cells: Sequence[CellSummary]) -> str:
    whole = len(run.manifest.plan.cells)
    have = sum(1 for cell in cells if cell.metrics)
    path = str(run.path) if run.path else run.manifest.run
    lost = list(dict.fromkeys(host for launch in run.launches for host in launch.lost))
    hosts = f"{names_text(lost)} no longer answered. " if lost else ""
    return (
        f"This run is incomplete: {have} of {counted(whole, 'cell')} have numbers so far. {hosts}"
        f"`assay run --resume {path}` does what is missing and nothing twice."
    )


def _summary(run: RunData, cells: Sequence[CellSummary]) -> str:
    """How much was measured, in one line."""
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
        f"{format_quantity(spent, 's')} of measuring" if spent else "",
        f"{counted(failed, 'cell')} failed" if failed else "",
    ]
    return " · ".join(word for word in words if word)
