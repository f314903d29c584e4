"""The table of ``assay runs``."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.records.listing import RunListing

if TYPE_CHECKING:
    from rich.table import Table

_STYLES = {
    "complete": "green",
    "unfinished": "yellow",
    "queued": "cyan",
    "damaged": "red",
    "unreadable": "red",
}


def run_table(runs: Sequence[RunListing]) -> Table:
    """One row a run, oldest first."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("run", "suite", "started (UTC)"):
        table.add_column(name, overflow="fold")
    for name in ("cells", "launches", "measurements"):
        table.add_column(name, justify="right")
    table.add_column("state", overflow="fold")
    for run in runs:
        stamp = time.strftime("%Y-%m-%d %H:%M", time.gmtime(run.utc)) if run.utc else "–"
        counts = (run.cells, run.launches, run.measurements)
        state = Text(run.state, style=_STYLES[run.state])
        if run.members is not None:
            counts_of = (f"{count} {name}" for name, count in sorted(run.members.items()))
            state.append(f": nodes {', '.join(counts_of)}", style="default")
        if run.problem:
            state.append(f" ({run.problem})")
        table.add_row(
            Text(run.run),
            Text(run.suite or "–"),
            stamp,
            *("–" if count is None else str(count) for count in counts),
            state,
        )
    return table
