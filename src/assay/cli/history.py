"""``assay history``: how results have gone over all runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter


def history(
    *words: str,
    kernel: str | None = None,
    suite: str | None = None,
    system: str | None = None,
    since: str | None = None,
    until: str | None = None,
    least: str = "1%",
    runs: Path | None = None,
    format_: Literal["terminal", "html", "openmetrics", "csv"] | None = None,
    output: Annotated[Path | None, Parameter(alias="-o")] = None,
    html: Annotated[bool, Parameter(negative=())] = False,
    all_: Annotated[bool, Parameter(negative=())] = False,
    fail_on: Literal["never", "regression"] = "never",
    config: Path | None = None,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> int:
    """Say how each cell has gone over months of runs: what changed when, by how much, with what.

    A false change comes less than once in 1,000 runs of a cell, however often it is asked for.

    Parameters
    ----------
    words
        Of all cells those whose kernel, parameters, placement or toolchain have all these words.
    kernel
        Only cells of this kernel.
    suite
        Only runs of this suite.
    system
        Only runs of this machine.
    since
        Only runs from this day on, such as 2026-03-01, or from so long ago, such as "90 d". What
        was before is forgotten: nothing is held against it.
    until
        Only runs before this day.
    least
        The smallest change that is called a regression or an improvement.
    runs
        The folder that holds runs [default: ./runs, or as assay.toml says].
    format_
        terminal, html (a report with a calendar and trends), openmetrics or csv (every run of every
        cell) [default: html with --output *.html, else terminal].
    output
        The file to write [default: stdout; history.html in the folder of runs].
    html
        The same as --format html.
    all_
        On the terminal, the steady cells of a long list too.
    fail_on
        Exit with 1 if a cell is significantly worse at present than it has been, by --least.
    config
        The assay.toml to use.
    json
        Print the history as JSON on stdout.
    """
    from assay.answers.history_query import Asked, ask
    from assay.cli.output import console, print_json
    from assay.config import load_config
    from assay.report.history_write import present

    root = runs or load_config(config).runs
    asked = Asked.of(words, kernel, suite, system, since, until, least)
    found = ask(root, asked)
    if json:
        print_json(found)
    else:
        present(found, root, console(), "html" if html else format_, output, every=all_)
    worse = any(cell.state == "regression" for cell in found.cells)
    return 1 if fail_on == "regression" and worse else 0
