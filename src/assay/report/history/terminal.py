"""A history on a terminal: one line per cell with a sparkline, and the cell's changes below it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.charts.sparkline import sparkline
from assay.questions.common.selection import quantity_text
from assay.subjects.history.model import CellHistory, History
from assay.subjects.history.words import (
    cell_name,
    event_text,
    percent,
    state_text,
    summary_line,
    suspect_text,
)
from assay.units import capitalised, counted

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_STYLES = {
    "regression": "red",
    "improvement": "green",
    "steady": "",
    "variable": "yellow",
    "short": "dim",
}
_WORDS = {"short": "too few runs", "variable": "too variable"}
_ORDER = {"regression": 0, "improvement": 1, "variable": 2, "steady": 3, "short": 4}
# Minimum and maximum width of sparklines in columns; terminals below _NARROW have none.
_SPARKLINE, _NARROW = (12, 40), 70
# Maximum number of changes printed per cell; maximum number of cells for listing steady cells.
_MAX_EVENTS, _MAX_LINES = 6, 40


def print_history(history: History, console: Console, *, every: bool = False) -> None:
    """Print the history in the console's width. ``every``: always list steady cells."""
    from rich.text import Text

    console.print(Text(history.verdict, style="bold"))
    console.print(Text(summary_line(history), style="dim"))
    if not history.cells:
        return
    console.print()
    cells = sorted(history.cells, key=lambda c: (_ORDER[c.state], -abs(c.against or 0.0)))
    shown = (
        cells if every or len(cells) <= _MAX_LINES else [c for c in cells if c.events or c.suspect]
    )
    names = [cell_name(cell, history) for cell in shown]
    for line in _lines(shown, names, console.width, console.encoding.lower().startswith("utf")):
        console.print(line, no_wrap=True, overflow="ellipsis", crop=True)
    hidden = len(cells) - len(shown)
    if hidden:
        text = f"{counted(hidden, 'cell')} without a change; --all shows them."
        console.print(Text(text, style="dim"))
    for cell in shown:
        if cell.events or cell.suspect is not None or cell.state == "variable":
            _print_events(cell, console)


def _lines(cells: list[CellHistory], names: list[str], width: int, unicode: bool) -> list[Text]:
    from rich.text import Text

    spark = min(max(width - 90, _SPARKLINE[0]), _SPARKLINE[1]) if width >= _NARROW else 0
    levels = [quantity_text(cell.level, cell.unit) for cell in cells]
    room = max(width - spark - max(map(len, levels), default=0) - 28, 16)
    column = min(max(map(len, names), default=0), room)
    lines = []
    for cell, name, level in zip(cells, names, levels, strict=True):
        line = Text()
        cut = name if len(name) <= column else f"{name[: column - 1]}…"
        line.append(cut.ljust(column) + "  ")
        if spark:
            line.append(sparkline(cell.points.value, spark, plain=not unicode).ljust(spark) + "  ")
        line.append(level.rjust(max(map(len, levels))) + "  ")
        line.append(("" if cell.against is None else percent(cell.against)).rjust(7) + "  ")
        line.append(_WORDS.get(cell.state, cell.state), style=_STYLES[cell.state])
        lines.append(line)
    return lines


def _print_events(cell: CellHistory, console: Console) -> None:
    from rich.padding import Padding
    from rich.text import Text

    console.print()
    console.print(Text(cell.label, style="bold"))
    for event in cell.events[-_MAX_EVENTS:]:
        head = Text(event_text(event, cell), style="red" if event.worse else "")
        console.print(Padding(head, (0, 0, 0, 2)))
        console.print(Padding(Text(event.remark, style="dim"), (0, 0, 0, 4)))
    if len(cell.events) > _MAX_EVENTS:
        earlier = f"and {counted(len(cell.events) - _MAX_EVENTS, 'earlier change')}"
        console.print(Padding(Text(earlier, style="dim"), (0, 0, 0, 2)))
    if cell.state == "variable":
        console.print(Padding(Text(f"{capitalised(state_text(cell))}."), (0, 0, 0, 2)))
    if cell.suspect is not None:
        console.print(Padding(Text(suspect_text(cell), style="yellow"), (0, 0, 0, 2)))
