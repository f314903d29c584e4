"""Progress of long replays on the terminal, with the time that is left."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# Replays that take less (s) are not worth a bar.
_QUICK = 2.0
_INTERVAL = 10.0


@contextmanager
def replay_progress() -> Iterator[Callable[[int, int], None]]:
    """Yields a function that is called with the numbers of finished and of all replays.

    A terminal has a bar with the time left after 2 s; elsewhere a line is written every 10 s.
    """
    from assay.console import console
    from assay.units import format_duration

    err = console(stderr=True)
    # Set by the first report: the native program may have to be built before.
    begun = last = 0.0
    if not err.is_terminal:

        def lines(done: int, total: int) -> None:
            nonlocal begun, last
            now = time.monotonic()
            if not begun:
                begun = last = now
            if now - last >= _INTERVAL and 0 < done < total:
                last = now
                left = (now - begun) * (total - done) / done
                err.print(f"{done:,} of {total:,} replays, {format_duration(left)} left")

        yield lines
        return

    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Remaining()
    with Progress(*columns, console=err, transient=True) as bars:
        task = bars.add_task("replays", total=None, visible=False)

        def bar(done: int, total: int) -> None:
            nonlocal begun
            begun = begun or time.monotonic()
            late = time.monotonic() - begun > _QUICK
            bars.update(task, completed=done, total=total, visible=late)

        yield bar
