"""The report of an imported run: other tools' numbers with file and line, without answers. assay's
questions don't apply to such a run.

A rate depends on machine and code, and an imported run has only the output of these codes.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Sequence

from assay.kernels.naming import parameters_text
from assay.questions.common.gate import beyond_machines
from assay.questions.common.selection import quantity_text
from assay.questions.common.tables import Column, Entry, Table, Tone
from assay.records.model import ImportedSource, ImportedTool, Measurement, RunData, system_name
from assay.report.imported_run.devices import device_table
from assay.report.imported_run.summary import file_name, skipped_sentences
from assay.report.model import REPORT_SCHEMA, ReportModel, Section
from assay.stats.core.model import CellSummary, MetricSummary
from assay.subjects.board import Board
from assay.units import counted
from assay.version import VERSION

SECTION = "imported"
_MOST_FAILED = 20  # maximum failed cells in the caveats
_MOST_PLACES = 3  # maximum places (file and line) per number


def build_imported(run: RunData, cells: Sequence[CellSummary]) -> ReportModel:
    """The report of an imported run from the summaries of its cells."""
    manifest = run.manifest
    utc = datetime.datetime.fromtimestamp(manifest.utc, datetime.UTC)
    name = system_name(manifest)
    table = _numbers(run, cells)
    section = _section(run, cells, table)
    return ReportModel(
        schema=REPORT_SCHEMA,
        assay=VERSION,
        run=manifest.run,
        suite=manifest.plan.name,
        title=f"{name}: {manifest.plan.title}",
        system=name,
        utc=utc.isoformat(timespec="seconds").replace("+00:00", "Z"),
        complete=run.complete,
        unfinished="" if run.complete else "This import is incomplete: import the files again.",
        summary=f"imported · {counted(len(cells), 'cell')} · {_times(cells)}",
        sections=[section],
        cells=list(cells),
        cell_table=dataclasses.replace(table, id="cells", title="All cells"),
        system_table=Table(
            id="system",
            title="System",
            columns=[Column("fact", "Fact"), Column("value", "Value")],
            rows=[[Entry("Name"), Entry(name, name)]],
            notes=["Nothing else is known about the machine: the numbers were imported."],
        ),
        provenance=[_sources(manifest.imported)],
        page=_board(section),
    )


def _section(run: RunData, cells: Sequence[CellSummary], table: Table) -> Section:
    sources = run.manifest.imported
    numbers = sum(tool.numbers for source in sources for tool in source.tools)
    failed = [cell for cell in cells if not cell.metrics]
    files = counted(len(sources), "file")
    impossible = beyond_machines(cells)
    devices = device_table(cells)
    caveats = [
        *(each.sentence for each in impossible),
        "These numbers were imported from the output of other tools; assay did not measure them. "
        "Compare them with assay's kernels only where the ratio of the two codes is known.",
        *(f"{_title(cell)}: {cell.error}" for cell in failed[:_MOST_FAILED]),
        *(
            f"{file_name(source)}, {sentence}"
            for source in sources
            for sentence in skipped_sentences(source)
        ),
    ]
    return Section(
        id=SECTION,
        title="What was imported?",
        status="answered",
        verdict=f"{counted(numbers, 'number')} of {run.manifest.plan.title.partition(' from ')[2]} "
        f"from {files}: imported, {_times(cells)}.",
        confidence=None,
        confidence_why="",
        evidence=[],
        figures=[],
        tables=[table, *([devices] if devices is not None else [])],
        method=["n is the number of a cell's results in the output."],
        limits=[],
        advice=[],
        caveats=caveats,
        impossible=impossible,
    )


def _board(section: Section) -> Board:
    return Board(
        verdict="Imported",
        tone="",
        sentence=section.verdict,
        headlines=[],
        decide=["Measure with assay what matters, since nothing is known of these measurements."],
        sure=section.caveats,
        costs=["The output of other tools states no prices."],
    )


def _times(cells: Sequence[CellSummary]) -> str:
    """``n = 1``, or ``n = 1 to 10``: the number of results per cell."""
    counts = {metric.n for cell in cells for metric in cell.metrics.values()}
    if not counts:
        return "n = 0"
    low, high = min(counts), max(counts)
    return f"n = {low}" if low == high else f"n = {low} to {high}"


def _numbers(run: RunData, cells: Sequence[CellSummary]) -> Table:
    places = _places(run)
    rows = []
    for cell in cells:
        check = {True: "passed", False: "failed", None: "none"}[cell.verified]
        tone: Tone = "bad" if cell.verified is False else ""
        first = [Entry(cell.kernel), Entry(parameters_text(cell.cell))]
        for name, metric in cell.metrics.items():
            place = places.get((cell.id, name), "")
            rows.append([*first, *_metric(name, metric), Entry(check), Entry(place)])
        if not cell.metrics:
            place = next((p for (of, _), p in places.items() if of == cell.id), "")
            blank = [Entry(""), Entry(cell.error or "failed", tone="bad"), Entry(""), Entry("")]
            rows.append([*first, *blank, Entry(check, tone=tone), Entry(place)])
    return Table(
        id="imported-numbers",
        title="Imported numbers",
        caption="The median over a cell's n results, and the places of these results in the files.",
        columns=[
            Column("kernel", "Code"),
            Column("parameters", "Parameters"),
            Column("metric", "Metric"),
            Column("median", "Value", numeric=True),
            Column("n", "n", numeric=True),
            Column("samples", "Samples", numeric=True),
            Column("check", "Tool's check"),
            Column("place", "File:line"),
        ],
        rows=rows,
    )


def _metric(name: str, metric: MetricSummary) -> list[Entry]:
    # A number without a unit is a count, such as repetitions.
    text = quantity_text(metric.median, metric.unit, metric.ci95)
    return [
        Entry(name),
        Entry(text if metric.unit else f"{metric.median:,.6g}", metric.median),
        Entry(str(metric.n), metric.n),
        Entry(f"{metric.samples:,}", metric.samples),
    ]


def _places(run: RunData) -> dict[tuple[str, str], str]:
    """The files and lines of the numbers, by cell and metric."""
    found: dict[tuple[str, str], list[str]] = {}
    for measurement in run.measurements:
        name = _file_of(run, measurement)
        for series in measurement.record.series:
            listed_places = found.setdefault((measurement.cell.id, series.metric), [])
            listed_places += [f"{name}:{line}" for line in dict.fromkeys(series.lines)]
    return {
        key: ", ".join(places[:_MOST_PLACES]) + (", …" if len(places) > _MOST_PLACES else "")
        for key, places in found.items()
    }


def _file_of(run: RunData, measurement: Measurement) -> str:
    """The name of the file that a measurement was read from; its stream begins with the number."""
    number = measurement.launch.partition("-")[0]
    sources = run.manifest.imported
    if not number.isdigit() or int(number) >= len(sources):
        return "?"
    return file_name(sources[int(number)])


def _sources(sources: Sequence[ImportedSource]) -> Table:
    return Table(
        id="sources",
        title="Imported files",
        columns=[
            Column("file", "File"),
            Column("tool", "Tool"),
            Column("numbers", "Numbers", numeric=True),
            Column("lines", "Lines"),
            Column("skipped", "Parts skipped", numeric=True),
            Column("digest", "SHA-256"),
        ],
        rows=[
            [
                Entry(source.file),
                Entry(f"{tool.tool} {tool.version or ''}".rstrip()),
                Entry(f"{tool.numbers:,}", tool.numbers),
                Entry(f"{tool.first} to {tool.last} of {source.lines}"),
                Entry(str(len(source.skipped) + source.unlisted)),
                Entry(source.digest, tone="quiet"),
            ]
            for source in sources
            for tool in source.tools or [_NONE]
        ],
    )


_NONE = ImportedTool(
    tool="–", version=None, codes=[], results=0, failed=0, numbers=0, first=0, last=0
)


def _title(cell: CellSummary) -> str:
    return f"{cell.kernel} {parameters_text(cell.cell)}".rstrip()
