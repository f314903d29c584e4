"""A history on a terminal: a line a cell with its course, the changes below."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from assay.answers.history import CellHistory, Event, History
from assay.answers.select import quantity_text
from assay.report.sparkline import sparkline
from assay.units import counted

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_STYLES = {"regression": "red", "improvement": "green", "steady": "", "short": "dim"}
_ORDER = {"regression": 0, "improvement": 1, "steady": 2, "short": 3}
_WORDS = {"short": "too few runs"}
# Columns of a terminal that a line's course may take, and the most changes told of a cell.
_COURSE, _WIDE, _NARROW = (12, 40), 110, 70
_EVENTS = 6


def print_history(history: History, console: Console, *, every: bool = False) -> None:
    """Print it in the console's width. ``every``: also the steady cells of a long list."""
    from rich.text import Text

    console.print(Text(history.verdict, style="bold"))
    console.print(Text(summary_line(history), style="dim"))
    if not history.cells:
        return
    console.print()
    cells = sorted(history.cells, key=lambda c: (_ORDER[c.state], -abs(c.against or 0.0)))
    shown = cells if every or len(cells) <= 40 else [c for c in cells if c.events or c.suspect]
    several = len(history.systems) > 1
    for line in _lines(shown, console.width, several, console.encoding.lower().startswith("utf")):
        console.print(line, no_wrap=True, overflow="ellipsis", crop=True)
    hidden = len(cells) - len(shown)
    if hidden:
        said = f"{counted(hidden, 'cell')} without a change; --all shows them."
        console.print(Text(said, style="dim"))
    for cell in shown:
        if cell.events or cell.suspect is not None:
            _print_events(cell, console)


def summary_line(history: History) -> str:
    """What the history is of, and what was left out."""
    said = [f"{counted(history.runs, 'run')} of {', '.join(history.systems) or 'no system'}"]
    words = {
        "unfinished": "unfinished",
        "groups": "of single nodes",
        "older": "of another version",
        "damaged": "damaged",
    }
    left = [f"{n} {words[name]}" for name, n in history.passed_over.items() if n]
    if left:
        said.append(f"passed over: {', '.join(left)}")
    return " · ".join(said)


def _lines(cells: list[CellHistory], width: int, several: bool, fancy: bool) -> list[Text]:
    from rich.text import Text

    course = min(max(width - 90, _COURSE[0]), _COURSE[1]) if width >= _NARROW else 0
    levels = [quantity_text(cell.level, cell.unit) for cell in cells]
    names = [f"{c.system}: {c.label}" if several else c.label for c in cells]
    room = max(width - course - max(map(len, levels), default=0) - 28, 16)
    column = min(max(map(len, names), default=0), room)
    made = []
    for cell, name, level in zip(cells, names, levels, strict=True):
        line = Text()
        cut = name if len(name) <= column else f"{name[: column - 1]}…"
        line.append(cut.ljust(column) + "  ")
        if course:
            line.append(sparkline(cell.points.value, course, plain=not fancy).ljust(course) + "  ")
        line.append(level.rjust(max(map(len, levels))) + "  ")
        line.append(_change_text(cell).rjust(7) + "  ")
        line.append(_WORDS.get(cell.state, cell.state), style=_STYLES[cell.state])
        made.append(line)
    return made


def _change_text(cell: CellHistory) -> str:
    return "" if cell.against is None else percent(cell.against)


def percent(share: float) -> str:
    """A relative change: ``+1.2%``; one that rounds to nothing has no sign."""
    text = f"{100 * share:+.1f}%"
    return "0.0%" if text in ("+0.0%", "-0.0%") else text


def _print_events(cell: CellHistory, console: Console) -> None:
    from rich.padding import Padding
    from rich.text import Text

    console.print()
    console.print(Text(cell.label, style="bold"))
    for event in cell.events[-_EVENTS:]:
        head = Text(event_text(event, cell), style="red" if event.worse else "")
        console.print(Padding(head, (0, 0, 0, 2)))
        console.print(Padding(Text(event.remark, style="dim"), (0, 0, 0, 4)))
    if len(cell.events) > _EVENTS:
        said = f"and {counted(len(cell.events) - _EVENTS, 'change')} before"
        console.print(Padding(Text(said, style="dim"), (0, 0, 0, 2)))
    if cell.suspect is not None:
        console.print(Padding(Text(suspect_text(cell), style="yellow"), (0, 0, 0, 2)))


def suspect_text(cell: CellHistory) -> str:
    """That the newest runs are odd, where they are."""
    if cell.suspect is None:
        return ""
    runs, size = cell.suspect.runs, cell.suspect.size
    newest = "The newest run is" if runs == 1 else f"The newest {runs} runs are"
    return (
        f"{newest} {100 * size:+.2g}% off those before, as in 1 of 100 looks by chance: "
        "the next ones will tell."
    )


def event_text(event: Event, cell: CellHistory) -> str:
    """A change in a sentence."""
    low, high = (100 * end for end in event.size_ci95)
    size = f"{100 * event.size:+.2g}% [{low:+.2g}, {high:+.2g}]"
    when = f"between {_day(event.after_utc)} and {_day(event.before_utc)}"
    if event.kind == "drift":
        return (
            f"Drift from {_day(event.after_utc)} to {_day(event.before_utc)}: {cell.metric} {size}"
        )
    if event.kind == "spread":
        return f"From about {_day(event.utc)}: scatter of {cell.metric} {size}"
    way = "worse" if event.worse else "better"
    return f"Step {when}: {cell.metric} {size}, {way} (p = {event.p:.1g})"


def _day(utc: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(utc))
