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
# Minimum number of runs that are printed as plain lines: fitting a table to a terminal takes
# milliseconds per row.
MANY = 200


# Columns to leave out, in this order, while a line is too long: a run's name shows its start and
# its suite.
_DISPENSABLE = ("started (UTC)", "suite", "launches", "cells", "measurements")
# Minimum width of the state, in characters. Longer states are folded.
_STATE_WIDTH = 12
# Characters between columns of a table.
_BETWEEN = 2


def run_table(runs: Sequence[RunListing], width: int) -> Table | Text:
    """One row per run, oldest first.

    ``MANY`` or more runs are plain lines that do not wrap. Names are never cut to ``width``;
    columns that do not fit are left out.
    """
    return _table(runs, width) if len(runs) < MANY else _lines(runs)


def _table(runs: Sequence[RunListing], width: int) -> Table:
    from rich.table import Table
    from rich.text import Text

    rows = [_fields(run) for run in runs]
    columns = _fitting(rows, width)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for place in columns:
        table.add_column(
            _COLUMNS[place],
            justify="right" if place in _NUMBERS else "left",
            # Only the state is folded, since users copy names into the next command.
            no_wrap=place != len(_COLUMNS) - 1,
            overflow="fold",
        )
    for run, fields in zip(runs, rows, strict=True):
        texts = [Text(fields[place]) for place in columns[:-1]]
        table.add_row(*texts, _state(run, fields[-1]))
    return table


def _fitting(rows: Sequence[Sequence[str]], width: int) -> list[int]:
    """Indices of the columns that fit into a width; names and states always remain."""
    wide = [max(len(row[place]) for row in (_COLUMNS, *rows)) for place in range(len(_COLUMNS))]
    columns = list(range(len(_COLUMNS)))
    for name in _DISPENSABLE:
        state = min(wide[-1], _STATE_WIDTH)
        if sum(wide[place] + _BETWEEN for place in columns[:-1]) + state <= width:
            break
        columns.remove(_COLUMNS.index(name))
    return columns


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
