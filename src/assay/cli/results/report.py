"""Write or show the report of a run.

Examples::

    assay report  # the newest run, on the terminal
    assay report 20260101T --format markdown  # a run by part of its name
    assay report --lines  # only what is wrong, one line each, for a mail or cron
    assay report --profile app.profile  # what load of the network costs a profiled program
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
    ReportLines,
    ReportOutput,
    ReportPage,
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
    lines: ReportLines = False,
    page: ReportPage = False,
    open_: Flag = False,
    anonymize: Anonymize = False,
    config: ConfigFile = None,
    site: SiteProfile = None,
    json: Json = False,
    fail_on: Literal["never", "expectation"] = "never",
    junit: JunitFile = None,
    profile: Path | None = None,
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
    profile
        The folder of a program's profile (`assay profile`). The answer on the network then says
        what the measured load costs this program.
    """
    import os
    from dataclasses import replace

    import msgspec

    from assay.campaign.commands.finish import (
        Expected,
        is_failed,
        judge_expectations,
        print_judgements,
    )
    from assay.config import load_config
    from assay.console import console, print_json
    from assay.errors import AssayError
    from assay.records.access.trust import is_own
    from assay.records.directory import REPORT, find_run
    from assay.records.model import RunData
    from assay.records.reading import read_run
    from assay.report import build_report, print_lines, print_summary, write_asked
    from assay.report.anonymous.names import Names
    from assay.report.destination import destination
    from assay.report.earlier_runs import read_history
    from assay.report.expectations.judge import earlier_values
    from assay.report.overview.run_lines import expectation_lines
    from assay.stats.cells.summarise import summarise_cells

    found_config = load_config(config, site)
    data: RunData | None = None
    names: Names | None = None
    directory = find_run(runs or found_config.runs, run)
    usual = directory.path / ("report-anonymous.html" if anonymize else REPORT)
    named = json or lines or format_ is not None or output is not None
    asked = format_ if named else "html"
    target = destination(asked, output, usual, html=html, lines=lines, page=page, json=json)
    request = directory.request()
    demand = None
    if profile is not None:
        from assay.campaign.commands.program_demand import read_demand

        demand = read_demand(profile)
    if request is not None and request.members is not None:
        if demand is not None:
            raise AssayError(
                "A profile joins the report of one run, and this is a run of many nodes.",
                where="--profile",
                fix="Name a run of the suite congestion.",
            )
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
            model = report_without_names(data, earlier, names, demand)
        else:
            model = build_report(data, cells, earlier, demand)
    expected = Expected(found_config.expect, junit)
    judged = judge_expectations(
        expected=expected,
        run=directory.name,
        nodes=nodes,
        fail_on=fail_on,
        earlier=lambda: {} if data is None else earlier_values(data),
        names=names,
    )
    status = int(judged is not None and is_failed(judged, fail_on))
    model = msgspec.structs.replace(model, lines=[*expectation_lines(judged or ()), *model.lines])
    if target is not None and target.on_stdout:
        print_lines(model.lines)
        return status
    if judged is not None:
        print_judgements(judged)
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
