"""Progress of reading and counting a long log, on a terminal."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

# Time (s) after which progress is shown.
DELAY = 2.0


class UsageProgress:
    """Shows how far each stage is and how long it will take, once ``DELAY`` s have passed.

    Nothing is shown where the console is no terminal, and nothing remains at the end.
    """

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._began = clock()
        self._progress: Progress | None = None
        self._tasks: dict[str, int] = {}

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

    def __call__(self, stage: str, done: float, total: float) -> None:
        """``done`` of ``total`` of a stage."""
        if not self._console.is_terminal or self._clock() - self._began < DELAY:
            return
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
