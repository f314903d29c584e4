"""The live display of a campaign: what is measured now, how precisely, and how long to go."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.campaign.state import CampaignState
from assay.kernels import parameters_text
from assay.launch.executor import LaunchOrder
from assay.plans.model import Cell
from assay.records.schema import Begin, MeasurementRecord, Progress, StreamRecord
from assay.units import format_duration, format_quantity

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live

# Seconds between redraws: the display runs on the cores that are being measured.
REDRAW = 0.5


class Silent:
    """Watches and says nothing: for pipes, logs and programs."""

    def launching(self, replicate: int, order: LaunchOrder, cells: Sequence[Cell]) -> None:
        """Nothing."""

    def record(self, record: StreamRecord) -> None:
        """Nothing."""

    def tick(self, state: CampaignState) -> None:
        """Nothing."""

    def note(self, sentence: str) -> None:
        """Nothing."""


def describe_cell(cell: Cell) -> str:
    """A cell in a few words: ``npb.cg class=A · 2 ranks``."""
    words = f"{cell.kernel} {parameters_text(cell)}".rstrip()
    placement = cell.placement
    ranks = f"{placement.ranks} rank{'s' if placement.ranks != 1 else ''}"
    threads = f" × {placement.threads} threads" if placement.threads != 1 else ""
    return f"{words} · {ranks}{threads}"


class Display:
    """Draws on a terminal. Use as a context manager around ``Campaign.execute``."""

    def __init__(self, console: Console, title: str) -> None:
        self._console = console
        self._title = title
        self._began = time.monotonic()
        self._drawn = 0.0
        self._cells: dict[str, Cell] = {}
        self._current = ""
        self._launch = ""
        self._samples: str = ""
        self._live: Live | None = None

    def __enter__(self) -> Display:
        from rich.live import Live

        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._live.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._live is not None:
            self._live.__exit__(None, None, None)

    def launching(self, replicate: int, order: LaunchOrder, cells: Sequence[Cell]) -> None:
        """A launch is about to start."""
        self._cells = {cell.id: cell for cell in cells}
        self._launch = f"launch {replicate + 1} of each cell, {order.toolchain}"
        self._current, self._samples = "starting", ""

    def record(self, record: StreamRecord) -> None:
        """A record has come in."""
        if isinstance(record, Begin):
            cell = self._cells.get(record.measurement.rpartition("-")[0])
            self._current = describe_cell(cell) if cell else record.kernel
            self._samples = ""
        elif isinstance(record, Progress):
            width = "" if record.half_width is None else f", ±{100 * record.half_width:.2g}%"
            median = "" if record.median is None else f", {format_quantity(record.median, 's')}"
            self._samples = f"{record.samples} samples{median}{width}"
        elif isinstance(record, MeasurementRecord):
            width = "" if record.half_width is None else f", ±{100 * record.half_width:.2g}%"
            count = len(record.series[0].values) if record.series else 0
            self._samples = f"{count} samples{width}"

    def tick(self, state: CampaignState) -> None:
        """Redraw if it is time to."""
        now = time.monotonic()
        if self._live is not None and now - self._drawn >= REDRAW:
            self._drawn = now
            self._live.update(self._render(state), refresh=True)

    def note(self, sentence: str) -> None:
        """Say it above the live lines, where it stays."""
        self._console.print(sentence, style="dim", markup=False)

    def _render(self, state: CampaignState) -> RenderableType:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        elapsed = time.monotonic() - self._began
        head = Table.grid(padding=(0, 1))
        head.add_row(
            Text(self._title, style="bold"),
            ProgressBar(total=max(state.expected, 1), completed=state.done, width=30),
            Text(f"{state.done}/{state.expected} measurements"),
            Text(f"{format_duration(elapsed)} gone", style="dim"),
            Text(f"about {format_duration(state.remaining_seconds())} to go"),
        )
        line = Text(no_wrap=True, overflow="ellipsis")
        line.append(self._current)
        if self._samples:
            line.append(f"  {self._samples}", style="cyan")
        return Group(head, line, Text(self._launch, style="dim", no_wrap=True))
