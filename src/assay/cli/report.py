"""Write or show the report of a run.

Examples::

    assay report                                  the newest run, on the terminal
    assay report 20260101T --format markdown      a run by part of its name
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter


def report(
    run: str = "",
    *,
    runs: Path | None = None,
    format_: Literal["html", "markdown", "json", "terminal"] = "html",
    output: Path | None = None,
    open_: Annotated[bool, Parameter(negative=())] = False,
    config: Path | None = None,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Say what a run found, on the terminal and in a report file.

    Reports on the newest run, unless one is named. Nothing is measured anew, so a run can be
    reported on as often as wanted, unfinished ones too.

    Parameters
    ----------
    run
        A run's directory, or a part of its name that no other run's has [default: the newest].
    runs
        The folder that holds runs [default: ./runs, or as assay.toml says].
    format_
        html (one file that opens anywhere, offline), markdown (with its figures as SVG files beside
        it), json (for programs), or terminal (no file, the summary alone).
    output
        The file to write, or a folder for it [default: the run's own directory, or the current
        one where the run is read-only].
    open_
        Open the HTML report in the browser.
    config
        The assay.toml to use.
    json
        Print the report as JSON on stdout, and write no file.
    """
    import os

    from assay.config import load_config
    from assay.console import console, print_json
    from assay.records.directory import find_run
    from assay.records.reading import read_run
    from assay.report import build_report, print_summary, write_report
    from assay.report.earlier_runs import read_history
    from assay.stats.cells.summarise import summarise_cells

    directory = find_run(runs or load_config(config).runs, run)
    request = directory.request()
    if request is not None and request.members is not None:
        from assay.questions.nodes.findings import find
        from assay.records.group import read_group
        from assay.report.group import build_group

        group = read_group(directory.path)
        model = build_group(group, find(group))
    else:
        data = read_run(directory.path)
        model = build_report(data, summarise_cells(data), read_history(data))
    if json:
        print_json(model)
        return
    screen = console()
    print_summary(model, screen)
    if format_ == "terminal":
        return
    if output is None and not os.access(directory.path, os.W_OK):  # such as an archive's
        suffix = {"markdown": "md"}.get(format_, format_)
        output = Path(f"{directory.name}.{suffix}")
        screen.print(
            f"\nThe run is read-only: its report is written to {output} here; --output names "
            "another place.",
            markup=False,
            soft_wrap=True,
        )
    (written,) = write_report(model, output or directory.path, [format_])
    screen.print(f"\nreport: {written}", markup=False, soft_wrap=True)
    if open_ and format_ == "html":
        import webbrowser

        webbrowser.open(written.resolve().as_uri())
