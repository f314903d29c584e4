"""Shows a campaign's progress live: the current measurement, its precision, the time left."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from assay.campaign.budget.time_left import Countdown, TimeLeft
from assay.campaign.cells.cell_state import CellState
from assay.campaign.engine.state import CampaignState
from assay.kernels import known_kernel
from assay.kernels.naming import cell_name
from assay.launch.executor import LaunchOrder
from assay.model.cell import Cell
from assay.model.placement import Placement, Value
from assay.records.schema import MeasurementBegin, MeasurementRecord, Progress, StreamRecord
from assay.units import counted, format_half_width, format_quantity, rough_duration

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live

# Seconds between redraws: the display runs on the cores that are being measured.
REDRAW = 0.5


class Silent:
    """An observer without output: for pipes, logs and programs."""

    def launching(self, replicate: int, order: LaunchOrder, cells: Sequence[Cell]) -> None:
        """Nothing."""

    def record(self, record: StreamRecord) -> None:
        """Nothing."""

    def measured(self, state: CellState) -> None:
        """Nothing."""

    def tick(self, state: CampaignState) -> None:
        """Nothing."""

    def note(self, sentence: str) -> None:
        """Nothing."""


class Notes(Silent):
    """Prints only notes, for output that is not a terminal."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def note(self, sentence: str) -> None:
        """Print the sentence as one line."""
        self._console.print(sentence, style="dim", markup=False, soft_wrap=True)


def describe_cell(cell: Cell, used: Mapping[str, Value] | None = None) -> str:
    """A short description of a cell: ``CG class A · 2 ranks``.

    ``used``: the parameters used to measure it. Their size is shown if the plan left it open.
    """
    if used and cell.parameters.get("n") == 0:
        cell = msgspec.structs.replace(cell, parameters={**cell.parameters, "n": used["n"]})
    return f"{cell_name(cell)} · {on_ranks(cell.placement)}"


def on_ranks(placement: Placement) -> str:
    """The ranks and threads of a placement: ``2 ranks × 4 threads``."""
    threads = f" × {placement.threads} threads" if placement.threads != 1 else ""
    return f"{counted(placement.ranks, 'rank')}{threads}"


class _SampleUnderWay:
    """The progress of a long sample: share done, rate so far, time left."""

    def __init__(self) -> None:
        self._first: tuple[float, float] | None = None  # seconds and share at its first report
        self._share = 0.0

    def seen(self, record: Progress, unit: str) -> str:
        """``"43%, 187 Gflop/s, about 25 s left"``; empty if the kernel reports no share."""
        share = record.share
        if share is None:
            self._first = None
            return ""
        if self._first is None or share < self._share:  # a new sample
            self._first = (record.elapsed, share)
        self._share = share
        text = f"{100 * share:.0f}%"
        if record.rate is not None:
            text += f", {format_quantity(record.rate, unit)}"
        since, begun = self._first
        if share > begun:
            left = (record.elapsed - since) / (share - begun) * (1.0 - share)
            text += f", about {rough_duration(left)} left"
        return text


class Display:
    """Draws on a terminal. Use as a context manager around ``Campaign.execute``."""

    def __init__(self, console: Console, title: str) -> None:
        self._console = console
        self._title = title
        self._began = time.monotonic()
        self._drawn = 0.0
        self._cells: dict[str, Cell] = {}
        self._parameters: dict[str, dict[str, Value]] = {}
        self._current = ""
        self._launch = ""
        self._samples: str = ""
        self._sample = _SampleUnderWay()
        self._live: Live | None = None
        self._countdown = Countdown()
        self._granted: list[tuple[str, float]] = []  # of a launch that is not yet part of the state
        self._changes = -1  # of the state at the last redraw
        self._changed = self._began
        self._share = 0.0  # as shown; it never decreases
        # Text below the campaign's progress, such as the state of the campaign's job.
        self.status = ""

    def __enter__(self) -> Display:
        from rich.live import Live

        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._live.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._live is not None:
            self._live.__exit__(None, None, None)

    def launching(self, replicate: int, order: LaunchOrder, cells: Sequence[Cell]) -> None:
        """Note that a launch is about to start."""
        self._cells = {cell.id: cell for cell in cells}
        self._parameters = {m.measurement: m.parameters for m in order.job.measurements}
        self._launch = f"launch {replicate + 1} of each cell, {order.toolchain}"
        self._current, self._samples = "starting", ""
        self._granted = [
            (m.measurement.rpartition("-")[0], m.budget) for m in order.job.measurements
        ]

    def record(self, record: StreamRecord) -> None:
        """Note that a record has arrived."""
        if isinstance(record, MeasurementBegin):
            cell = self._cells.get(record.measurement.rpartition("-")[0])
            used = self._parameters.get(record.measurement, {})
            self._current = describe_cell(cell, used) if cell else record.kernel
            self._samples = ""
            self._sample = _SampleUnderWay()
        elif isinstance(record, Progress):
            cell = self._cells.get(record.measurement.rpartition("-")[0])
            kernel = known_kernel(cell.kernel) if cell else None
            metric = kernel.metric("rate") if kernel else None
            texts = [
                f"{record.samples} samples" if record.samples or record.share is None else "",
                "" if record.median is None else format_quantity(record.median, "s"),
                _precision(record.half_width),
                self._sample.seen(record, metric.unit if metric else ""),
            ]
            self._samples = ", ".join(text for text in texts if text)
        elif isinstance(record, MeasurementRecord):
            count = len(record.series[0].values) if record.series else 0
            texts = [f"{count} samples", _precision(record.half_width)]
            self._samples = ", ".join(text for text in texts if text)
            self._countdown.measured(time.monotonic())

    def measured(self, state: CellState) -> None:
        """Does nothing: the record has already arrived."""

    def expect(self, cells: Sequence[Cell]) -> None:
        """Set the cells that records may belong to, if another process launches."""
        self._cells = {cell.id: cell for cell in cells}

    def tick(self, state: CampaignState | None) -> None:
        """Redraw if it is due. Without a state there is no plan yet."""
        now = time.monotonic()
        if self._live is not None and now - self._drawn >= REDRAW:
            self._drawn = now
            self._live.update(self._render(state), refresh=True)

    def note(self, sentence: str) -> None:
        """Print a sentence permanently above the live lines."""
        self._console.print(sentence, style="dim", markup=False)

    def time_left(self, state: CampaignState) -> TimeLeft:
        """The time left now: the time left in the state, minus the time since then."""
        now = time.monotonic()
        keeper = state.keeper
        if keeper.changes != self._changes:
            self._changes, self._changed = keeper.changes, now
            self._countdown.changed(now)
        if self._granted:
            expected = [
                state.cells[name].expected(budget)
                for name, budget in self._granted
                if name in state.cells
            ]
            self._countdown.launched(now, expected)
            self._granted = []
        whole = keeper.time_left()
        return self._countdown.left(whole, keeper.allowance(), now)

    def _done(self, state: CampaignState, left: TimeLeft) -> float:
        """The elapsed share of the expected time, 0 to 1; it never decreases.

        The state has the seconds of finished launches; later seconds are added.
        """
        gone = state.spent + time.monotonic() - self._changed
        total = gone + left.seconds
        share = gone / total if total > 0.0 else 1.0
        # Launches may take longer than expected, so the bar is full only at the end.
        self._share = max(
            self._share, min(share, 0.99 if state.keeper.time_left().seconds else 1.0)
        )
        return self._share

    def _render(self, state: CampaignState | None) -> RenderableType:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        elapsed = time.monotonic() - self._began
        status = Text(self.status, style="yellow", no_wrap=True, overflow="ellipsis")
        if state is None:
            gone = Text(f"{self._title}  ", style="bold")
            return Group(gone.append(f"{rough_duration(elapsed)} elapsed", style="dim"), status)
        left = self.time_left(state)
        head = Table.grid(padding=(0, 1))
        head.add_row(
            Text(self._title, style="bold"),
            ProgressBar(total=1.0, completed=self._done(state, left), width=30),
            Text(f"{100 * self._share:.0f}%"),
            Text(f"{rough_duration(elapsed)} elapsed, {left}"),
        )
        line = Text(no_wrap=True, overflow="ellipsis")
        line.append(self._current)
        if self._samples:
            line.append(f"  {self._samples}", style="cyan")
        parts: list[RenderableType] = [head, line, Text(self._launch, style="dim", no_wrap=True)]
        return Group(*parts, status) if self.status else Group(*parts)


def _precision(half_width: float | None) -> str:
    """``±0.5%``. If a coarse clock shows all samples as equal, the precision is unknown."""
    if half_width is None:
        return ""
    return format_half_width(half_width) if half_width > 0.0 else "all equal"
