"""Write or show the report of a run.

Examples::

    assay report  # the newest run, on the terminal
    assay report 20260101T --format markdown  # a run by part of its name
    assay report --anonymize --output shared.html  # without names of hosts, users, paths and sites
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from assay.cli.options import (
    Anonymize,
    ConfigFile,
    Flag,
    Json,
    JunitFile,
    ReportFormat,
    ReportHtml,
    ReportOutput,
    RunsFolder,
    SiteProfile,
    Verbose,
)


def report(
    run: str = "",
    *,
    runs: RunsFolder = None,
    format_: ReportFormat = None,
    output: ReportOutput = None,
    html: ReportHtml = False,
    open_: Flag = False,
    anonymize: Anonymize = False,
    config: ConfigFile = None,
    site: SiteProfile = None,
    json: Json = False,
    fail_on: Literal["never", "expectation"] = "never",
    junit: JunitFile = None,
    verbose: Verbose = False,
) -> int:
    """Report the results of a run, on the terminal and in a report file.

    Reports on the newest run, unless one is named. Nothing is measured, so a report can be written
    at any time, even of an unfinished run.

    Parameters
    ----------
    run
        A run's directory, or a unique part of its name [default: the newest].
    output
        The file to write, or its folder [default: report.html and so on in the run's own
        directory, or in the working directory if the run is read-only].
    open_
        Open the HTML report in the browser.
    json
        Print the report as JSON on stdout; a file is written only if one is asked for.
    fail_on
        Exit with 1 if a result misses an [[expect]] of assay.toml.
    """
    import os
    from dataclasses import replace

    from assay.campaign.commands.finish import Expected, check_expectations
    from assay.config import load_config
    from assay.console import console, print_json
    from assay.records.access.trust import is_own
    from assay.records.directory import REPORT, find_run
    from assay.records.model import RunData
    from assay.records.reading import read_run
    from assay.report import build_report, print_summary, write_asked
    from assay.report.anonymous.names import Names
    from assay.report.destination import destination
    from assay.report.earlier_runs import read_history
    from assay.report.expectations.judge import earlier_values
    from assay.stats.cells.summarise import summarise_cells

    found_config = load_config(config, site)
    data: RunData | None = None
    names: Names | None = None
    directory = find_run(runs or found_config.runs, run)
    usual = directory.path / ("report-anonymous.html" if anonymize else REPORT)
    asked = format_ if json or format_ is not None or output is not None else "html"
    target = destination(asked, output, usual, html=html)
    request = directory.request()
    if request is not None and request.members is not None:
        from assay.records.group import read_group
        from assay.report.nodes.build import build_group
        from assay.subjects.nodes.findings import find

        group = read_group(directory.path)
        found = find(group, found_config.system.groups)
        model = build_group(group, found)
        nodes = [(node.name, node.cells) for node in found.measurements]
        if anonymize:
            from assay.report.anonymous.report import group_names
            from assay.report.anonymous.runs import anonymous_report

            names = group_names(group, found_config.system.groups)
            model = anonymous_report(model, names)
    else:
        data = read_run(directory.path)
        earlier = read_history(data)
        cells = summarise_cells(data)
        nodes = [("", cells)]
        if anonymize:
            from assay.report.anonymous.report import names_of_runs, report_without_names

            names = names_of_runs(data, earlier)
            model = report_without_names(data, earlier, names)
        else:
            model = build_report(data, cells, earlier)
    expected = Expected(found_config.expect, junit)
    status = int(
        check_expectations(
            expected=expected,
            run=directory.name,
            nodes=nodes,
            fail_on=fail_on,
            earlier=lambda: {} if data is None else earlier_values(data),
            names=names,
        )
    )
    screen = None if json else console()
    if screen is None:
        print_json(model)
    else:
        print_summary(model, screen, verbose=verbose)
    if target is None:
        return status
    read_only = not os.access(directory.path, os.W_OK)  # for example in an archive
    if output is None and (read_only or not is_own(directory.path)):
        # The name in a manifest is not a path.
        target = replace(target, path=Path(f"{Path(model.run).name}{target.path.suffix}"))
        why = "is read-only" if read_only else "is another user's"
        if screen is not None:
            screen.print(
                f"\nThe run {why}: the report is written to {target.path} here; --output "
                "names another place.",
                markup=False,
                soft_wrap=True,
            )
    write_asked(model, screen, target)
    if open_ and target.form == "html":
        import webbrowser

        webbrowser.open(target.path.resolve().as_uri())
    return status
