"""The table of ``assay runs``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.records.listing import RunListing
from assay.units import format_minute

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

_STYLES = {
    "complete": "green",
    "unfinished": "yellow",
    "queued": "cyan",
    "damaged": "red",
    "unreadable": "red",
}
_COLUMNS = ("run", "suite", "started (UTC)", "cells", "launches", "measurements", "state")
_NUMBERS = range(3, 6)
# Number of runs from which on they are plain lines: fitting a table to a terminal takes
# milliseconds per row.
MANY = 200


def run_table(runs: Sequence[RunListing]) -> Table | Text:
    """One row per run, oldest first; from ``MANY`` runs on, plain lines that do not wrap."""
    return _table(runs) if len(runs) < MANY else _lines(runs)


def _table(runs: Sequence[RunListing]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for place, name in enumerate(_COLUMNS):
        number = place in _NUMBERS
        table.add_column(
            name, justify="right" if number else "left", overflow="ellipsis" if number else "fold"
        )
    for run in runs:
        *fields, state = _fields(run)
        table.add_row(*map(Text, fields), _state(run, state))
    return table


def _lines(runs: Sequence[RunListing]) -> Text:
    from rich.text import Text

    rows = [_COLUMNS, *map(_fields, runs)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(_COLUMNS) - 1)]

    def line(row: Sequence[str]) -> str:
        return "".join(
            (text.rjust(width) if place in _NUMBERS else text.ljust(width)) + " "
            for place, (text, width) in enumerate(zip(row, widths, strict=False))
        )

    lines = Text(no_wrap=True)
    lines.append(line(_COLUMNS) + _COLUMNS[-1], style="bold")
    for run, row in zip(runs, rows[1:], strict=True):
        lines.append("\n" + line(row)).append(_state(run, row[-1]))
    return lines


def _fields(run: RunListing) -> tuple[str, ...]:
    stamp = format_minute(run.utc) if run.utc else "–"
    counts = (run.cells, run.launches, run.measurements)
    return (
        run.run,
        run.suite or "–",
        stamp,
        *("–" if count is None else str(count) for count in counts),
        run.state,
    )


def _state(run: RunListing, state: str) -> Text:
    from rich.text import Text

    text = Text(state, style=_STYLES[run.state])
    if run.imported:
        text.append(", imported", style="default")
    if run.members is not None:
        counts_of = (f"{count} {name}" for name, count in sorted(run.members.items()))
        text.append(f": nodes {', '.join(counts_of)}", style="default")
    return text.append(f" ({run.problem})") if run.problem else text
