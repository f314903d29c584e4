"""The report on a terminal: verdicts first, then one compact table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.questions.common.tables import Entry, Table
from assay.report.imported_run.build import SECTION
from assay.report.model import ReportModel, Section
from assay.report.shorten import MOST_LINES, shortened

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table as Grid

_TONES = {"bad": "red", "warn": "yellow", "quiet": "dim"}
_STYLES = {"high": "green", "medium": "yellow", "low": "red"}
# Terminal widths, in columns.
_TIGHT = 78  # below this, fields wrap
# From which a table column is shown.
_ROOM = {"limit": 96, "note": 140, "most": 96, "users": 96, "slowdown": 96, "wait90": 112}
_UNBOUND = 10_000  # more than any table needs
_BETWEEN = 3  # columns between two of a table
# Characters of a word that isn't broken between lines: paths are longer. The second, without room.
_LONGEST_WORDS = (24, 16)
_QUANTITY = 10  # of a number with its unit
_MAX_IMPOSSIBLE = 2  # sentences on numbers that can't be, of each question; its caveats have all
_MAX_SENTENCES = 5  # of caveats and of recommendations; the HTML report has them all


def print_report(report: ReportModel, console: Console) -> None:
    """Print the report in the console's width; in colour if the console has it."""
    from rich.text import Text

    report = shortened(report, MOST_LINES)
    console.print(Text(report.title, style="bold"))
    console.print(Text(f"{report.utc} · {report.summary}", style="dim"))
    if report.unfinished:
        console.print(Text(report.unfinished, style="yellow"))
    console.print()
    stated: set[str] = set()
    for section in report.sections:
        _verdict(section, console, stated)
    for section in report.sections:
        # An imported run has no evidence, but a table of its numbers.
        if section.evidence or section.id == SECTION:
            shown = [table for table in section.tables if not table.folded]
            for number, table in enumerate(shown):
                print_table(table, console, titled=number > 0)
        caveats = [sentence for sentence in section.caveats if sentence not in stated]
        _sentences("Caveats", caveats, console, "yellow")
        _sentences("Recommendations", section.advice, console, "")


def _verdict(section: Section, console: Console, stated: set[str]) -> None:
    """The first screen's lines on a question; ``stated``: sentences on numbers that can't be that
    were printed for it or for another one.
    """
    from rich.padding import Padding
    from rich.text import Text

    answered = section.status == "answered"
    console.print(Text(section.title, style="bold" if answered else "dim"))
    line = Text(section.verdict, style="" if answered else "dim")
    console.print(Padding(line, (0, 0, 0, 2)))
    if section.confidence:
        why = Text(f"{section.confidence} confidence: ", style=_STYLES[section.confidence])
        why.append(section.confidence_why, style="dim")
        console.print(Padding(why, (0, 0, 0, 2)))
    new = [each.sentence for each in section.impossible if each.sentence not in stated]
    for sentence in new[:_MAX_IMPOSSIBLE]:
        console.print(Padding(Text(sentence, style="red"), (0, 0, 0, 2)))
        stated.add(sentence)
    if len(new) > _MAX_IMPOSSIBLE:
        more = f"{len(new) - _MAX_IMPOSSIBLE} more of its numbers can't be; see its caveats."
        console.print(Padding(Text(more, style="red"), (0, 0, 0, 2)))


def print_table(table: Table, console: Console, *, titled: bool) -> None:
    """Print a table; with its title if ``titled``. Words are not broken: where there is no room
    for the columns, each row is a list.
    """
    from rich import box
    from rich.table import Table as Grid
    from rich.text import Text

    shown = [i for i, c in enumerate(table.columns) if console.width >= _ROOM.get(c.name, 0)]
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1))
    for index in shown:
        column = table.columns[index]
        grid.add_column(
            Text(column.label),
            justify="right" if column.numeric else "left",
            no_wrap=column.name != "note" and console.width >= _TIGHT,
            overflow="fold",
        )
    for row in table.rows:
        grid.add_row(*(_cell(row[index]) for index in shown))
    whole = _fit(grid, console)
    console.print()
    if titled:
        console.print(Text(table.title, style="dim"))
    console.print(grid if whole else _by_row(table, shown))
    for number, note in enumerate(table.notes if console.width >= _ROOM["limit"] else [], 1):
        console.print(Text(f"({number}) {note}", style="dim"))


def _fit(grid: Grid, console: Console) -> bool:
    """Wrap fields if the table is wider than the console; whether words then stay whole."""
    from rich.cells import cell_len
    from rich.measure import Measurement

    unbound = console.options.update(max_width=_UNBOUND)
    if Measurement.get(console, unbound, grid).maximum <= console.width:
        return True
    columns = [[str(text) for text in (column.header, *column.cells)] for column in grid.columns]
    most = [max(map(cell_len, texts)) for texts in columns]
    room = console.width - _BETWEEN * (len(columns) - 1)
    for longest in _LONGEST_WORDS:
        least = [
            max(
                _longest_word(texts[:1], longest),
                _longest_word(texts[1:], longest, quantities=column.justify == "right"),
            )
            for column, texts in zip(grid.columns, columns, strict=True)
        ]
        if sum(least) <= room:
            break
    free, wanted = room - sum(least), sum(most) - sum(least)
    for column, low, high in zip(grid.columns, least, most, strict=True):
        column.no_wrap = False
        if 0 <= free < wanted:  # what words leave is divided in proportion to what is wanted
            column.width = low + free * (high - low) // wanted
    return free >= 0


def _longest_word(texts: list[str], longest: int, *, quantities: bool = False) -> int:
    """Characters of the longest word of at most ``longest``, which isn't broken; ``quantities``:
    number and unit are one.
    """
    from rich.cells import cell_len

    words = [
        word
        for text in texts
        for word in ([text] if quantities and cell_len(text) <= _QUANTITY else text.split())
    ]
    return max((n for n in map(cell_len, words) if n <= longest), default=1)


def _by_row(table: Table, shown: list[int]) -> Grid:
    """A table for which there is no room: each row is a list, with its first field as heading."""
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid.grid(padding=(0, 2, 0, 0))
    grid.add_column()
    grid.add_column(overflow="fold")
    first, *others = shown
    for row in table.rows:
        grid.add_row(Text(table.columns[first].label, style="bold"), Text(row[first].text, "bold"))
        for index in others:
            grid.add_row(Text(f"  {table.columns[index].label}"), _cell(row[index]))
    return grid


def _cell(entry: Entry) -> RenderableType:
    from rich.text import Text

    return Text(entry.text, style=_TONES.get(entry.tone, ""))


def _sentences(head: str, sentences: list[str], console: Console, style: str) -> None:
    from rich.table import Table
    from rich.text import Text

    if not sentences:
        return
    console.print()
    console.print(Text(head, style=f"bold {style}".rstrip()))
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for sentence in sentences[:_MAX_SENTENCES]:
        grid.add_row("  -", Text(sentence))
    if len(sentences) > _MAX_SENTENCES:
        left = len(sentences) - _MAX_SENTENCES
        grid.add_row("", Text(f"and {left} more in the report", style="dim"))
    console.print(grid)
