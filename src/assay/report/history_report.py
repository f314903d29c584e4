"""The report of a history: calendar, trends, changes, and every cell."""

from __future__ import annotations

import datetime
import time

from assay import __version__
from assay.answers.history import FALSE_DISCOVERIES, CellHistory, Event, History
from assay.answers.model import Answer, Confidence
from assay.answers.select import quantity_text
from assay.report.build import section_of
from assay.report.figures.history import history_figures
from assay.report.history_terminal import event_text, percent, summary_line, suspect_text
from assay.report.model import REPORT_SCHEMA, Column, Entry, ReportModel, Table, Tone
from assay.report.sparkline import sparkline
from assay.stats.scan import FIRST
from assay.units import counted

_TITLE = "How has it gone?"
_COURSE = 30
_TONES: dict[str, Tone] = {"regression": "bad", "improvement": "good", "short": "quiet"}


def build_history(history: History) -> ReportModel:
    """The report; it has the parts of a run's report, and no run's cells."""
    utc = datetime.datetime.fromtimestamp(history.utc, datetime.UTC)
    answer = _answer(history)
    answered = answer.status == "answered"
    systems = ", ".join(history.systems) or "no system"
    return ReportModel(
        schema=REPORT_SCHEMA,
        assay=__version__,
        run="history",
        suite="",
        title=f"{systems}: history of {counted(history.runs, 'run')}",
        system=systems,
        utc=utc.isoformat(timespec="seconds").replace("+00:00", "Z"),
        complete=True,
        unfinished="",
        summary=summary_line(history),
        sections=[
            section_of(
                answer,
                figures=history_figures(history) if answered else [],
                tables=[_event_table(history)] if answered else [],
            )
        ],
        cells=[],
        cell_table=_cell_table(history),
        system_table=_span_table(history),
        provenance=[],
    )


def _answer(history: History) -> Answer:
    judged = [cell for cell in history.cells if cell.state != "short"]
    worse = [cell for cell in judged if cell.state == "regression"]
    short = len(history.cells) - len(judged)
    fewest = min((len(cell.points.utc) for cell in judged), default=0)
    confidence: Confidence = "high" if not short and fewest >= 3 * FIRST else "medium"
    why = f"{counted(len(judged), 'cell')} with {fewest} runs or more"
    why += f"; {counted(short, 'cell')} with fewer than {FIRST}" if short else ""
    return Answer(
        question="history",
        title=_TITLE,
        status="answered" if judged else "unmeasured",
        verdict=history.verdict,
        confidence=confidence if judged else None,
        confidence_why=f"{why}." if judged else "",
        evidence=[],
        advice=[
            f"{cell.label}: {event_text(_last_level(cell), cell)}. {_last_level(cell).remark}"
            for cell in worse[:5]
            if any(event.kind != "spread" for event in cell.events)
        ],
        caveats=[
            f"{cell.label}: {suspect_text(cell)}" for cell in judged if cell.suspect is not None
        ][:5],
        method=[
            "A cell's results are compared run by run with those since its last change; a false "
            "change comes less than once in 1,000 runs of a cell, however often that is looked at. "
            "One run that lies apart is no change. Steps are told from slow drifts by the Bayesian "
            "information criterion. Intervals of dates are Cobb's (1978).",
            f"Of the cells called worse or better at present, {FALSE_DISCOVERIES:.0%} at most are "
            "expected to be so by chance (Benjamini & Hochberg, 1995); changes below "
            f"{100 * history.least:.3g}% don't count.",
        ],
        limits=[
            "That a version changed with a result is no proof that it is the cause: what no "
            "snapshot holds may have changed too.",
        ],
    )


def _last_level(cell: CellHistory) -> Event:
    return next(event for event in reversed(cell.events) if event.kind != "spread")


def _event_table(history: History) -> Table:
    found = [(cell, event) for cell in history.cells for event in cell.events]
    found.sort(key=lambda pair: -pair[1].utc)
    return Table(
        id="history-events",
        title="Changes, the newest first",
        columns=[
            Column("cell", "Cell"),
            Column("what", "Change"),
            Column("size", "Size", unit="1", numeric=True),
            Column("remark", "Machine and toolchain"),
        ],
        rows=[
            [
                Entry(f"{cell.system}: {cell.label}" if len(history.systems) > 1 else cell.label),
                Entry(event_text(event, cell)),
                Entry(f"{100 * event.size:+.2g}%", event.size, "bad" if event.worse else "good"),
                Entry(event.remark),
            ]
            for cell, event in found
        ],
        caption="" if found else "No result changed.",
    )


def _cell_table(history: History) -> Table:
    return Table(
        id="cells",
        title="All cells",
        columns=[
            Column("system", "System"),
            Column("cell", "Cell"),
            Column("course", "Course"),
            Column("runs", "Runs", numeric=True),
            Column("level", "Present level [95% interval]", numeric=True),
            Column("cov", "CoV", unit="1", numeric=True),
            Column("against", "Against the best", unit="1", numeric=True),
            Column("state", "State"),
        ],
        rows=[
            [
                Entry(cell.system),
                Entry(cell.label),
                Entry(sparkline(cell.points.value, _COURSE)),
                Entry(str(len(cell.points.utc)), len(cell.points.utc)),
                Entry(quantity_text(cell.level, cell.unit, cell.level_ci95), cell.level),
                Entry(
                    "" if cell.deviation is None else f"{100 * cell.deviation:.2g}%", cell.deviation
                ),
                Entry("" if cell.against is None else percent(cell.against), cell.against),
                Entry(
                    "too few runs" if cell.state == "short" else cell.state,
                    cell.state,
                    _TONES.get(cell.state, ""),
                ),
            ]
            for cell in history.cells
        ],
    )


def _span_table(history: History) -> Table:
    first = min((cell.points.utc[0] for cell in history.cells), default=None)
    last = max((cell.points.utc[-1] for cell in history.cells), default=None)
    facts = [
        ("Systems", ", ".join(history.systems)),
        ("First run", _day(first)),
        ("Last run", _day(last)),
        ("Runs", summary_line(history)),
        ("Smallest change that counts", f"{100 * history.least:.3g}%"),
    ]
    return Table(
        id="system",
        title="Runs",
        columns=[Column("fact", "Fact"), Column("value", "Value")],
        rows=[[Entry(name), Entry(value)] for name, value in facts if value],
    )


def _day(utc: float | None) -> str:
    return "" if utc is None else time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(utc))
