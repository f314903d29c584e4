"""Prints and writes a history in the requested format."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from assay.report.destination import REPORT_SUFFIXES, Destination

if TYPE_CHECKING:
    from rich.console import Console

    from assay.subjects.history.model import History

# Formats of a history by the suffixes of files.
HISTORY_SUFFIXES: Mapping[str, tuple[str, ...]] = {
    **REPORT_SUFFIXES,
    "openmetrics": (".prom", ".openmetrics"),
    "csv": (".csv",),
}
# Formats that are printed on stdout if no file is named.
FOR_PROGRAMS = ("openmetrics", "csv")


def present(history: History, console: Console, target: Destination | None, *, every: bool) -> None:
    """Print the history, and write it if a file is requested.

    Raises AssayError if the file can't be written.
    """
    if target is None or target.form not in FOR_PROGRAMS:
        from assay.report.history.terminal import print_history

        print_history(history, console, every=every)
    write_history(history, console, target)


def write_history(history: History, console: Console | None, target: Destination | None) -> None:
    """Write the history if a file is requested.

    ``console`` is None where JSON goes to stdout. Raises AssayError if the file can't be written.
    """
    if target is None:
        return
    if target.form not in FOR_PROGRAMS:
        from assay.report import write_asked
        from assay.report.subject import build_subject
        from assay.subjects.history.subject import SUBJECT

        write_asked(build_subject(SUBJECT, history), console, target)
        return
    from assay.records.files import OUTPUT, write_atomically
    from assay.report import make_folder

    make_folder(target.path.parent, OUTPUT)
    write_atomically(target.path, text_for_programs(history, target.form).encode(), option=OUTPUT)


def print_for_programs(history: History, form: str) -> None:
    """Print the history as CSV or OpenMetrics on stdout."""
    sys.stdout.buffer.write(text_for_programs(history, form).encode())
    sys.stdout.buffer.flush()


def text_for_programs(history: History, form: str) -> str:
    """The history as CSV or OpenMetrics."""
    from assay.report.history.openmetrics import history_csv, openmetrics

    return openmetrics(history) if form == "openmetrics" else history_csv(history)
