"""Prints and writes a history in the requested format."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
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


def present(
    history: History, console: Console | None, target: Destination | None, *, every: bool
) -> None:
    """Print the history, and write it if a file is requested.

    ``console`` is None if JSON is printed instead. A file for programs replaces the terminal's
    text. Raises AssayError if the file can't be written.
    """
    for_programs = target is not None and target.form in FOR_PROGRAMS
    if not for_programs or console is None:
        from assay.report.history.terminal import print_history
        from assay.report.subject import present_subject
        from assay.subjects.history.subject import SUBJECT

        present_subject(
            SUBJECT,
            history,
            console,
            None if for_programs else target,
            screen=partial(print_history, every=every),
        )
    if target is not None and for_programs:
        from assay.records.files import OUTPUT, write_atomically
        from assay.report import make_folder

        make_folder(target.path.parent, OUTPUT)
        text = text_for_programs(history, target.form).encode()
        write_atomically(target.path, text, option=OUTPUT)


def print_for_programs(history: History, form: str) -> None:
    """Print the history as CSV or OpenMetrics on stdout."""
    sys.stdout.buffer.write(text_for_programs(history, form).encode())
    sys.stdout.buffer.flush()


def text_for_programs(history: History, form: str) -> str:
    """The history as CSV or OpenMetrics."""
    from assay.report.history.openmetrics import history_csv, openmetrics

    return openmetrics(history) if form == "openmetrics" else history_csv(history)
