"""Output of a history in the requested format."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from rich.console import Console

    from assay.questions.history.model import History

HistoryFormat = Literal["terminal", "html", "openmetrics", "csv"]


def present(
    history: History,
    place: Path,
    console: Console,
    form: HistoryFormat | None,
    output: Path | None,
    *,
    every: bool,
) -> None:
    """Print the history, or write it. ``place``: the default file of an HTML report.

    Raises AssayError if a file can't be written.
    """
    chosen = form or _by_suffix(output)
    if chosen in ("openmetrics", "csv"):
        from assay.report.history.openmetrics import history_csv, openmetrics

        text = openmetrics(history) if chosen == "openmetrics" else history_csv(history)
        if output is None:
            sys.stdout.buffer.write(text.encode())
            sys.stdout.buffer.flush()
        else:
            _write(output, text)
        return
    from assay.report.history.terminal import print_history

    print_history(history, console, every=every)
    if chosen != "html":
        return
    from assay.report import write_report
    from assay.report.history.page import build_history

    (written,) = write_report(build_history(history), output or place, ["html"])
    console.print(f"\nreport: {written}", markup=False, soft_wrap=True)


def _by_suffix(output: Path | None) -> HistoryFormat:
    if output is None:
        return "terminal"
    return "csv" if output.suffix == ".csv" else "html"


def _write(path: Path, text: str) -> None:
    from assay.records.files import OUTPUT, cannot_write, write_atomically

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(path.parent, error, OUTPUT) from None
    write_atomically(path, text.encode(), option=OUTPUT)
