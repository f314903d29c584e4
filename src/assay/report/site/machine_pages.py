"""The pages of one machine: its history, its nodes and its runs."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from assay.charts.course import Course, course_svg
from assay.questions.common.tables import Entry, Table, TableBuilder, Tone
from assay.records.directory import REPORT
from assay.report.html import unescaped
from assay.report.site.machines import MachineRuns, UpdatedMachine
from assay.report.site.model import SiteNodes, SiteRun, named, shown
from assay.report.site.rendering import Renderer, address, search_files
from assay.subjects.history.figures import shown_cells
from assay.subjects.history.model import CellHistory, History
from assay.subjects.history.tables import cell_table, event_table
from assay.subjects.history.words import event_text, state_text
from assay.units import counted, format_minute

# Maximum number of runs of a page, of the newest runs, of cells, and of changes.
PAGE_RUNS, _NEWEST, _MOST_CELLS, _MOST_CHANGES = 400, 20, 250, 60
_ROOT = "../../"
_UNDATED = "undated"
_TONES: Mapping[str, Tone] = {"damaged": "bad", "unreadable": "bad", "unfinished": "warn"}


@dataclass(frozen=True)
class MonthPage:
    """A page of runs: its file, its title and its runs by their stored names."""

    file: str
    title: str
    runs: Sequence[str]


def month_pages(runs: Mapping[str, SiteRun]) -> list[MonthPage]:
    """The pages of a machine's runs, oldest first: one per month, and more for many runs."""
    months: dict[str, list[str]] = {}
    for name, run in runs.items():
        utc = run.listing.utc
        month = _UNDATED if utc is None else time.strftime("%Y-%m", time.gmtime(utc))
        months.setdefault(month, []).append(name)
    return [
        MonthPage(
            file=f"runs-{month}{f'-{part + 1}' if part else ''}.html",
            title=month + (f", part {part + 1}" if part else ""),
            runs=names[part * PAGE_RUNS : (part + 1) * PAGE_RUNS],
        )
        for month, names in sorted(months.items())
        for part in range(-(-len(names) // PAGE_RUNS))
    ]


def machine_pages(
    render: Renderer,
    own: MachineRuns,
    updated: UpdatedMachine,
    *,
    nodes: Mapping[str, SiteNodes],
    site: Path,
    title: str,
    known: Mapping[str, str],
) -> Iterator[tuple[str, str | None, str]]:
    """The pages of a machine and its files of the search: path in the site, text, and a digest of
    what the text follows from, or "".

    ``known``: these digests of the last build, by path. The text of an unchanged page is None.
    """
    folder = updated.machine.folder
    here = site / "machines" / folder
    months = month_pages(own.runs)
    page = _main_page(render, own, updated, nodes=nodes, months=months, here=here, title=title)
    yield f"machines/{folder}/index.html", page, ""
    for place, month in enumerate(months):
        path = f"machines/{folder}/{month.file}"
        about = {
            "title": f"{title}: runs of {month.title}",
            "machine": title,
            "summary": counted(len(month.runs), "run"),
            "store": shown(str(own.store)),
            "earlier": months[place - 1].file if place else "",
            "later": months[place + 1].file if place + 1 < len(months) else "",
        }
        digest = _digest(own, month, here, about)
        if known.get(path) == digest:
            yield path, None, digest
            continue
        table, links = run_table(own, month.runs[::-1], here)
        yield path, render.page("runs", _ROOT, runs=table, links=links, **about), digest
    listed = [(month.file, [_searched(own.runs[name]) for name in month.runs]) for month in months]
    for name, text in search_files(folder, title, updated.machine.cells, listed).items():
        yield f"search/{name}", text, ""


def _digest(own: MachineRuns, month: MonthPage, here: Path, about: Mapping[str, str]) -> str:
    runs = [(name, own.runs[name]) for name in month.runs]
    content = msgspec.msgpack.encode((runs, os.fsencode(os.path.relpath(own.store, here)), about))
    return hashlib.sha256(content).hexdigest()[:32]


def run_table(own: MachineRuns, names: Sequence[str], here: Path) -> tuple[Table, list[str | None]]:
    """The table of some runs, and the address of each run's report, from the folder ``here``."""
    runs = [own.runs[name] for name in names]
    links = [
        _report_of(own.store / named(name), here) if own.runs[name].report else None
        for name in names
    ]
    return _table_of(runs), links


def _table_of(runs: Sequence[SiteRun]) -> Table:
    def count(number: int | None) -> Entry:
        return Entry("–" if number is None else f"{number:,}", number)

    def state(run: SiteRun) -> Entry:
        return Entry(state_of(run), tone=_TONES.get(run.listing.state, ""))

    return (
        TableBuilder(runs)
        .text("run", "Run", lambda run: run.listing.run)
        .text(
            "utc",
            "Started (UTC)",
            lambda run: "–" if run.listing.utc is None else format_minute(run.listing.utc),
        )
        .text("suite", "Suite", lambda run: run.listing.suite or "–")
        .numbers("cells", "Cells", lambda run: count(run.listing.cells))
        .numbers("measurements", "Measurements", lambda run: count(run.listing.measurements))
        .column("state", "State", state)
        .table("runs", "Runs, the newest first")
    )


def state_of(run: SiteRun) -> str:
    """The state of a run in words: ``complete, imported``, ``damaged (…)``."""
    listing = run.listing
    text = f"{listing.state}{', imported' if listing.imported else ''}"
    if listing.members:
        text += f": nodes {', '.join(f'{n} {s}' for s, n in sorted(listing.members.items()))}"
    problem = listing.problem or run.left_out
    return f"{text} ({problem})" if problem else text


def _searched(run: SiteRun) -> tuple[str, str, str]:
    return (run.listing.run, run.listing.suite or "", run.listing.state)


def _report_of(run: Path, here: Path) -> str:
    return address(os.fsencode(os.path.relpath(run / REPORT, here)))


def _main_page(
    render: Renderer,
    own: MachineRuns,
    updated: UpdatedMachine,
    *,
    nodes: Mapping[str, SiteNodes],
    months: Sequence[MonthPage],
    here: Path,
    title: str,
) -> str:
    history = updated.history
    newest, links = run_table(own, list(own.runs)[: -_NEWEST - 1 : -1], here)
    changes = event_table(history)
    return render.page(
        "machine",
        _ROOT,
        title=title,
        summary=_summary(own, updated),
        verdict=history.verdict,
        judged=""
        if updated.current
        else f"Judged with the results up to {format_minute(updated.until)}. Later results are "
        "within the levels of that time.",
        courses=[_course(cell) for cell in _drawn(history)],
        changes=[_cut(changes, _MOST_CHANGES, "changes")],
        nodes=next((_nodes(own, name, each) for name, each in nodes.items()), None),
        newest=newest,
        newest_links=links,
        months=[
            {"page": m.file, "title": m.title, "runs": counted(len(m.runs), "run")}
            for m in reversed(months)
        ],
        cells=_cut(cell_table(_ordered(history)), _MOST_CELLS, "cells"),
    )


def _summary(own: MachineRuns, updated: UpdatedMachine) -> str:
    parts = [f"{counted(len(own.runs), 'run')} in {shown(str(own.store))}"]
    parts.append(f"{updated.history.runs:,} in the history")
    return " · ".join(parts)


def _drawn(history: History) -> list[CellHistory]:
    return [cell for cell in shown_cells(history) if len(cell.points.utc) > 1]


def _course(cell: CellHistory) -> dict[str, object]:
    course = Course(
        utc=cell.points.utc,
        values=cell.points.value,
        unit=cell.unit,
        levels=[(each.first, each.last, each.level) for each in cell.stretches],
        changes=[(each.utc, each.worse) for each in cell.events],
    )
    words = [state_text(cell), *(event_text(event, cell) for event in cell.events[-1:])]
    return {
        "title": shown(cell.label),
        "svg": unescaped(course_svg(course)),
        "text": shown(f"{cell.metric}, {counted(len(cell.points.utc), 'run')}: {'. '.join(words)}"),
    }


def _ordered(history: History) -> History:
    """The cells that changed first, so that a long table keeps them."""
    order = {"regression": 0, "improvement": 1, "variable": 2, "steady": 3, "short": 4}
    cells = sorted(history.cells, key=lambda c: (order[c.state], -abs(c.against or 0.0)))
    return dataclasses.replace(history, cells=cells)


def _cut(table: Table, most: int, what: str) -> Table:
    """The table with at most ``most`` rows; its caption gives the number of all."""
    rows = [[dataclasses.replace(e, text=shown(e.text)) for e in row] for row in table.rows[:most]]
    caption = table.caption
    if len(table.rows) > most:
        caption = f"{most} of {len(table.rows):,} {what}; `assay history` lists all."
    return dataclasses.replace(table, rows=rows, caption=caption)


def _nodes(own: MachineRuns, name: str, nodes: SiteNodes) -> dict[str, object]:
    table = (
        TableBuilder(nodes.lines)
        .text("where", "Where", lambda line: line[0])
        .text("what", "What", lambda line: line[1])
        .numbers("change", "Change", lambda line: Entry(line[2] or "–"))
        .text("text", "Finding", lambda line: line[3])
        .table("nodes", "What is wrong")
    )
    return {"verdict": nodes.verdict, "run": own.runs[name].listing.run, "table": table}
