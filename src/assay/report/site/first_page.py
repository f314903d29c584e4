"""The first page of a site: machines, newest changes, newest runs, nodes, and what was left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.questions.common.tables import Entry, Table, TableBuilder
from assay.report.site.machine_pages import run_table, state_of
from assay.report.site.machines import MachineRuns
from assay.report.site.model import SiteMachine, SiteNodes
from assay.report.site.rendering import Renderer
from assay.units import counted, format_minute

# Maximum number of machines, changes, runs, nodes, and runs that were left out.
_MOST_MACHINES, _MOST_CHANGES, _MOST_RUNS, _MOST_LINES, _MOST_LEFT_OUT = 200, 30, 30, 60, 20


@dataclass(frozen=True)
class MachineEntry:
    """A machine as the first page lists it."""

    title: str
    machine: SiteMachine
    own: MachineRuns
    #: Nodes of its newest group of runs, if there is one.
    nodes: SiteNodes | None = None

    @property
    def page(self) -> str:
        """The address of its page."""
        return f"machines/{self.machine.folder}/index.html"


def first_page(
    render: Renderer,
    entries: Sequence[MachineEntry],
    left_out: Sequence[tuple[str, str]],
    site: Path,
) -> str:
    """The page; ``left_out``: names of damaged runs and what is wrong with them."""
    ordered = sorted(
        entries, key=lambda e: (not e.machine.states.get("regression"), e.title.lower())
    )
    runs = sum(len(each.own.runs) for each in entries)
    more = len(ordered) - _MOST_MACHINES
    return render.page(
        "index",
        "",
        title="Measured machines",
        summary=f"{counted(len(entries), 'machine')}, {counted(runs, 'run')}",
        sentences=[left_out_sentence(left_out)] if left_out else [],
        machines=[_machine(each) for each in ordered[:_MOST_MACHINES]],
        more=f"{counted(more, 'further machine')} without a regression: the search finds each."
        if more > 0
        else "",
        tables=[_changes(entries), _nodes(entries), _runs(entries, site)],
    )


def left_out_sentence(left_out: Sequence[tuple[str, str]]) -> str:
    """One sentence that names damaged runs."""
    named = "; ".join(f"{run} ({why})" if why else run for run, why in left_out[:_MOST_LEFT_OUT])
    more = len(left_out) - _MOST_LEFT_OUT
    return (
        f"Left out of the histories: {counted(len(left_out), 'damaged run')}: {named}"
        f"{f'; and {more:,} more' if more > 0 else ''}."
    )


def _machine(entry: MachineEntry) -> dict[str, object]:
    newest = list(entry.own.runs.values())[-1]
    utc = newest.listing.utc
    when = "" if utc is None else f" at {format_minute(utc)}"
    return {
        "page": entry.page,
        "name": entry.title,
        "verdict": entry.machine.verdict,
        "summary": f"{counted(len(entry.own.runs), 'run')}. Newest{when}: {state_of(newest)}",
        "nodes": "" if entry.nodes is None else entry.nodes.verdict,
    }


def _changes(entries: Sequence[MachineEntry]) -> tuple[Table, list[str | None]]:
    found = [(each, change) for each in entries for change in each.machine.changes]
    found.sort(key=lambda pair: -pair[1][0])
    shown_now = found[:_MOST_CHANGES]
    table = (
        TableBuilder(shown_now)
        .text("machine", "Machine", lambda pair: pair[0].title)
        .text("cell", "Cell", lambda pair: pair[1][1])
        .column(
            "what", "Change", lambda pair: Entry(pair[1][2], tone="bad" if pair[1][4] else "good")
        )
        .text("remark", "Machine and toolchain", lambda pair: pair[1][3])
        .table("changes", "Changes, the newest first")
    )
    return table, [each.page for each, _ in shown_now]


def _nodes(entries: Sequence[MachineEntry]) -> tuple[Table, list[str | None]]:
    found = [
        (each, line) for each in entries if each.nodes is not None for line in each.nodes.lines
    ][:_MOST_LINES]
    table = (
        TableBuilder(found)
        .text("machine", "Machine", lambda pair: pair[0].title)
        .text("where", "Where", lambda pair: pair[1][0])
        .text("what", "What", lambda pair: pair[1][1])
        .numbers("change", "Change", lambda pair: Entry(pair[1][2] or "–"))
        .text("text", "Finding", lambda pair: pair[1][3])
        .table("nodes", "Nodes")
    )
    return table, [f"{each.page}#nodes" for each, _ in found]


def _runs(entries: Sequence[MachineEntry], site: Path) -> tuple[Table, list[str | None]]:
    newest = [
        (run.listing.utc or 0.0, place, name)
        for place, each in enumerate(entries)
        for name, run in list(each.own.runs.items())[-_MOST_RUNS:]
    ]
    newest.sort(reverse=True)
    rows: list[list[Entry]] = []
    links: list[str | None] = []
    columns = []
    for _, place, name in newest[:_MOST_RUNS]:
        table, address = run_table(entries[place].own, [name], site)
        rows += table.rows
        links += address
        columns = table.columns
    return Table("runs", "Newest runs", columns, rows), links
