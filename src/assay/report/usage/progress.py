"""Shows progress while a long log is read, counted and replayed."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

# Delay (s) before a terminal shows progress, and interval (s) between lines elsewhere.
DELAY = 2.0
INTERVAL = 10.0


class UsageProgress:
    """Shows the progress and the remaining time of each stage.

    A terminal shows a bar per stage after ``DELAY`` s and removes it at the end. Elsewhere a line
    is printed every ``INTERVAL`` s. The time of a stage starts with its first report, since
    programs may be built before.
    """

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._began = self._written = clock()
        self._progress: Progress | None = None
        self._tasks: dict[str, int] = {}
        self._stages: dict[str, float] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._progress is not None:
            self._progress.stop()

    def replays(self, done: int, total: int) -> None:
        """Report that the share ``done`` of all replays of a load is finished."""
        self("replays", done, total)

    def __call__(self, stage: str, done: float, total: float) -> None:
        """Report that ``done`` of ``total`` of a stage is finished."""
        now = self._clock()
        begun = self._stages.setdefault(stage, now)
        if not self._console.is_terminal:
            self._line(stage, done, total, now - begun)
        elif now - self._began >= DELAY:
            self._bar(stage, done, total)

    def _line(self, stage: str, done: float, total: float, passed: float) -> None:
        if self._clock() - self._written < INTERVAL or not 0 < done < total or passed <= 0:
            return
        from assay.units import format_duration

        self._written = self._clock()
        left = format_duration(passed * (total - done) / done)
        self._console.print(f"{stage}: {done / total:.0%}, {left} left")

    def _bar(self, stage: str, done: float, total: float) -> None:
        if self._progress is None:
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            self._progress = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.percentage:3.0f}%"),
                TimeRemainingColumn(),
                console=self._console,
                transient=True,
            )
            self._progress.start()
        if stage not in self._tasks:
            self._tasks[stage] = self._progress.add_task(stage)
        task = self._progress.tasks[self._tasks[stage]].id
        self._progress.update(task, completed=done, total=total)
