"""The report on a terminal: a first screen of verdicts; ``verbose``: also tables and caveats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.questions.common.tables import Column, Entry, Table
from assay.report.imported_run.build import SECTION
from assay.report.model import ReportModel, Section
from assay.report.overview.confidences import confidence_lines
from assay.report.overview.grouped import grouped
from assay.report.overview.impossible import impossible_sentences
from assay.report.overview.order import open_questions, shown_sections
from assay.report.overview.presented import without_empty_columns
from assay.report.shorten import MOST_LINES, beginning, shortened
from assay.subjects.board import first_reason

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table as Grid

_TONES = {"bad": "red", "warn": "yellow", "quiet": "dim"}
_STYLES = {"high": "green", "medium": "yellow", "low": "red"}
# Terminal widths, in columns.
_TIGHT = 78  # below this, fields wrap
_NOTES = 30  # least width of notes beside fields that do not wrap
# Minimum width at which a table column is shown, by the column's name or heading.
_ROOM = {
    "limit": 96, "note": 140, "most": 96, "users": 96, "slowdown": 96, "wait90": 112,
    # Columns of imported numbers, by heading.
    "Samples": 112, "Tool's check": 96, "File:line": 112,
}  # fmt: skip
_UNBOUND = 10_000  # more than any table needs
_PAPERS = "papers"  # section whose tables before the figures are shown
_BETWEEN = 3  # blanks between two columns of a table
# Maximum characters of a word that is never broken; paths are longer. The second number is for
# narrow terminals.
_LONGEST_WORDS = (24, 16)
_WHOLE = 13  # maximum characters of an unbroken text: a number with its unit, or a short name
_MAX_SENTENCES = 5  # maximum caveats and recommendations; the HTML report has all of them
_VERDICT_LINES = (
    5  # maximum lines of the first verdict and of its recommendation on the first screen
)
_OTHER_LINES = 3  # maximum lines of the other verdicts, which have no recommendation there
_FIRST_ROWS = 8  # maximum rows of a table on the first screen
_FIRST_CAVEATS = 2


def print_report(report: ReportModel, console: Console, *, verbose: bool = False) -> None:
    """Print the report in the console's width, in colour if the console supports colour.

    ``verbose``: also print tables, all caveats, all recommendations and full verdicts.
    """
    from rich.padding import Padding
    from rich.text import Text

    report = shortened(report, MOST_LINES if verbose else _FIRST_ROWS)
    console.print(Text(report.title, style="bold"))
    if report.machine:
        console.print(Text(report.machine))
    console.print(Text(f"{report.utc} · {report.summary}", style="dim"))
    if report.unfinished:
        console.print(Text(report.unfinished, style="yellow"))
    console.print()
    stated: set[str] = set()
    if report.foremost:
        console.print(Text("Read this first", style="bold red"))
        console.print(Padding(Text(report.foremost), (0, 0, 0, 2)))
        stated.add(report.foremost)
    sections = shown_sections(report)
    for number, section in enumerate(sections):
        if verbose:
            _verdict(section, console, stated, most=_UNBOUND, advised=False)
        else:
            lines = _OTHER_LINES if number else _VERDICT_LINES
            most = (console.width - 2) * lines
            _verdict(section, console, stated, most=most, advised=number == 0)
    _open_questions(report, console, verbose)
    if not verbose:
        _first_caveats(sections, console, stated)
        for section in sections:
            # The numbers of an imported run, and its devices side by side.
            for number, table in enumerate(section.tables if section.id == SECTION else []):
                print_table(table, console, titled=number > 0)
        return
    for section in sections:
        # An imported run has a table of its numbers in place of evidence; a paper has a table of
        # conclusions.
        if section.evidence or section.id in (SECTION, _PAPERS):
            shown = [table for table in section.tables if not table.folded]
            if section.id == _PAPERS:
                shown = [each for each in shown if each.leading] or shown
            for number, table in enumerate(shown):
                print_table(table, console, titled=number > 0)
        caveats = [sentence for sentence in grouped(section.caveats) if sentence not in stated]
        _sentences("Caveats", caveats, console, "yellow")
        _sentences("Recommendations", section.advice, console, "")


def _verdict(
    section: Section, console: Console, stated: set[str], *, most: int, advised: bool
) -> None:
    """Print the first screen's lines on a question.

    ``stated``: sentences on impossible numbers that were already printed. ``most``: maximum
    characters of the verdict. ``advised``: also print the first recommendation.
    """
    from rich.padding import Padding
    from rich.text import Text

    answered = section.status == "answered"
    console.print(Text(section.title, style="bold" if answered else "dim"))
    shown = beginning(section.verdict, most, section.asked)
    line = Text(shown, style="" if answered else "dim")
    console.print(Padding(line, (0, 0, 0, 2)))
    for each in confidence_lines(section):
        why = Text(f"{each.heading}: ", style=_STYLES[each.confidence or "low"])
        whole = most == _UNBOUND
        why.append(each.why if whole else first_reason(each.why), style="dim")
        console.print(Padding(why, (0, 0, 0, 2)))
    if section.advice and advised:
        advice = Text("→ ", style="bold")
        advice.append(beginning(section.advice[0], most))
        console.print(Padding(advice, (0, 0, 0, 2)))
    for sentence in impossible_sentences(section, stated):
        console.print(Padding(Text(sentence, style="red"), (0, 0, 0, 2)))
        stated.add(sentence)


def _open_questions(report: ReportModel, console: Console, verbose: bool) -> None:
    """Print the unmeasured questions: a line with their commands, or the reasons."""
    from rich.padding import Padding
    from rich.text import Text

    questions = open_questions(report)
    if not questions:
        return
    if not verbose:
        line = Text("Not answered here: ", style="dim")
        line.append(" · ".join(f"{each.title} {each.command}" for each in questions), style="dim")
        console.print(line)
        return
    for each in questions:
        console.print(Text(each.title, style="dim"))
        known = each.command in each.why
        why = each.why if known else f"{each.why} `{each.command}` measures it."
        console.print(Padding(Text(why, style="dim"), (0, 0, 0, 2)))


def _first_caveats(sections: Sequence[Section], console: Console, stated: set[str]) -> None:
    """Print the first caveats of all sections, and the number of the others."""
    every = [sentence for section in sections for sentence in section.caveats]
    caveats = [sentence for sentence in grouped(dict.fromkeys(every)) if sentence not in stated]
    if not caveats:
        return
    _sentences("Caveats", caveats, console, "yellow", most=_FIRST_CAVEATS, rest="with --verbose")


def print_table(table: Table, console: Console, *, titled: bool) -> None:
    """Print a table, with its title if ``titled``. Words are not broken. If the columns do not fit,
    each row becomes a list.
    """
    from rich import box
    from rich.table import Table as Grid
    from rich.text import Text

    table = without_empty_columns(table)
    shown = [i for i, c in enumerate(table.columns) if console.width >= _room(c)]
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


def _room(column: Column) -> int:
    return _ROOM.get(column.label, _ROOM.get(column.name, 0))


def _fit(grid: Grid, console: Console) -> bool:
    """Wrap fields if the table is wider than the console. Returns whether words stay whole.

    Only notes wrap if enough room for them remains.
    """
    from rich.cells import cell_len
    from rich.measure import Measurement

    unbound = console.options.update(max_width=_UNBOUND)
    if Measurement.get(console, unbound, grid).maximum <= console.width:
        return True
    columns = [[str(text) for text in (column.header, *column.cells)] for column in grid.columns]
    most = [max(map(cell_len, texts)) for texts in columns]
    room = console.width - _BETWEEN * (len(columns) - 1)
    notes = [index for index, column in enumerate(grid.columns) if not column.no_wrap]
    if len(notes) == 1:
        rest = room - sum(most) + most[notes[0]]
        if rest >= max(_NOTES, _longest_word(columns[notes[0]], _UNBOUND)):
            grid.columns[notes[0]].width = rest
            return True
    for longest in _LONGEST_WORDS:
        least = [
            max(
                _longest_word(texts[:1], longest),
                _longest_word(texts[1:], longest, whole=_WHOLE),
            )
            for column, texts in zip(grid.columns, columns, strict=True)
        ]
        if sum(least) <= room:
            break
    free, wanted = room - sum(least), sum(most) - sum(least)
    for column, low, high in zip(grid.columns, least, most, strict=True):
        column.no_wrap = False
        if (
            0 <= free < wanted
        ):  # the space beyond words is divided in proportion to the wanted widths
            column.width = low + free * (high - low) // wanted
    return free >= 0


def _longest_word(texts: list[str], longest: int, *, whole: int = 0) -> int:
    """Length of the longest unbroken word, at most ``longest`` characters. A text of at most
    ``whole`` characters counts as one word.
    """
    from rich.cells import cell_len

    words = [
        word for text in texts for word in ([text] if cell_len(text) <= whole else text.split())
    ]
    return max((n for n in map(cell_len, words) if n <= longest), default=1)


def _by_row(table: Table, shown: list[int]) -> Grid:
    """A table that does not fit: each row is a list, with its first field as heading."""
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


def _sentences(
    head: str,
    sentences: list[str],
    console: Console,
    style: str,
    *,
    most: int = _MAX_SENTENCES,
    rest: str = "in the report",
) -> None:
    from rich.table import Table
    from rich.text import Text

    if not sentences:
        return
    console.print()
    console.print(Text(head, style=f"bold {style}".rstrip()))
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for sentence in sentences[:most]:
        grid.add_row("  -", Text(sentence))
    if len(sentences) > most:
        grid.add_row("", Text(f"and {len(sentences) - most} more {rest}", style="dim"))
    console.print(grid)
