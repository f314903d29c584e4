"""Show how results changed over time: when, by how much, and what else changed.

Examples::

    assay history  # every cell, one line each
    assay history npb --since "90 d" --html  # with a calendar and trends
    assay history --fail-on regression  # exit with 1 if a cell is worse
    assay history --format openmetrics -o assay.prom
    assay history --html --anonymize  # without names of hosts, users, paths and sites
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from assay.cli.options import (
    Anonymize,
    ConfigFile,
    Flag,
    Json,
    ReportHtml,
    ReportLines,
    ReportOutput,
    ReportPage,
    RunsFolder,
)


def history(
    *words: str,
    kernel: str | None = None,
    suite: str | None = None,
    system: str | None = None,
    since: str | None = None,
    until: str | None = None,
    least: str = "1%",
    runs: RunsFolder = None,
    format_: Literal[
        "terminal", "html", "markdown", "json", "lines", "pdf", "latex", "openmetrics", "csv"
    ]
    | None = None,
    output: ReportOutput = None,
    html: ReportHtml = False,
    lines: ReportLines = False,
    page: ReportPage = False,
    all_: Flag = False,
    fail_on: Literal["never", "regression"] = "never",
    anonymize: Anonymize = False,
    config: ConfigFile = None,
    json: Json = False,
) -> int:
    """Show how each cell's results changed over time: when, by how much, and what else changed.

    In 1,000 runs of a cell without changes, 0.6 to 0.8 false changes are detected, however often
    you call this. If runs depend on each other, it is more: 2.1 with an autocorrelation of 0.3.

    Parameters
    ----------
    words
        Only cells whose kernel, parameters, placement or toolchain contain all these words.
    kernel
        Only cells of this kernel.
    suite
        Only runs of this suite.
    system
        Only runs of this machine.
    since
        Only runs from this day, such as 2026-03-01, or of the last days, such as "90 d". Results
        are not compared with earlier ones.
    until
        Only runs before this day.
    least
        The smallest relative change that counts as a regression or an improvement.
    format_
        terminal; html, markdown, json, pdf or latex (a report with a calendar and trends); lines;
        openmetrics or csv (every run of every cell) [default: by the suffix of --output].
    output
        The file to write, or its folder [default: history.html and so on in the working directory;
        stdout for openmetrics and csv].
    all_
        On the terminal, also list the steady cells if there are many.
    fail_on
        Exit with 1 if a cell is significantly worse than its best earlier level, by --least.
    json
        Print the history as JSON on stdout.
    """
    from assay.config import load_config
    from assay.console import console
    from assay.report.destination import destination
    from assay.report.history.write import (
        FOR_PROGRAMS,
        HISTORY_SUFFIXES,
        present,
        print_for_programs,
    )
    from assay.subjects.history.findings import find
    from assay.subjects.history.query import HistoryQuery

    usual = Path("history-anonymous.html" if anonymize else "history.html")
    target = None
    if format_ not in FOR_PROGRAMS or output is not None or html or page:
        target = destination(
            format_,
            output,
            usual,
            html=html,
            lines=lines,
            page=page,
            json=json,
            suffixes=HISTORY_SUFFIXES,
        )
    root = runs or load_config(config).runs
    query = HistoryQuery.of(
        words=words,
        kernel=kernel,
        suite=suite,
        system=system,
        since=since,
        until=until,
        least=least,
    )
    found = find(root, query)
    if anonymize:
        from assay.report.anonymous.history import history_without_names

        found = history_without_names(found, root)
    if target is None and format_ in FOR_PROGRAMS and not json:
        print_for_programs(found, format_)
    else:
        present(found, None if json else console(), target, every=all_)
    worse = any(cell.state == "regression" for cell in found.cells)
    return 1 if fail_on == "regression" and worse else 0
