"""Compare runs: what is faster, slower, the same, or undecided.

Examples::

    assay compare 20260101T 20260201T  # two runs by parts of their names
    assay compare @2026-10-01 @2026-11-01  # the newest runs of two days
    assay compare old:toolchain=gcc new:toolchain=clang
    assay compare old new --fail-on slower:3%  # exit with 1 if a cell is 3% slower
    assay compare old1+old2+old3 new1+new2+new3  # several runs per side
    assay compare RUN ref:seaborg --scale-clock  # published figures, also at equal clock rates
    assay compare 'RUN:nodes=n[001-016]' RUN:rest  # nodes of a run with the others
    assay compare RUN:node=n003  # one node with the others
    assay compare old new --html  # with every question's answers side by side
    assay compare old.profile new.profile  # functions of profiles with samples
    assay compare p2.profile p4.profile p8.profile  # shares against the number of ranks
"""

from __future__ import annotations

from pathlib import Path

from assay.cli.options import (
    Anonymize,
    ConfigFile,
    Flag,
    JsonFindings,
    ReportFormat,
    ReportHtml,
    ReportLines,
    ReportOutput,
    ReportPage,
    RunsFolder,
    Verbose,
)


def compare(
    *sides: str,
    same: str = "1%",
    runs: RunsFolder = None,
    format_: ReportFormat = None,
    output: ReportOutput = None,
    html: ReportHtml = False,
    lines: ReportLines = False,
    page: ReportPage = False,
    fail_on: str = "never",
    scale_clock: Flag = False,
    anonymize: Anonymize = False,
    verbose: Verbose = False,
    config: ConfigFile = None,
    json: JsonFindings = False,
) -> int:
    """Compare runs with the first of them, cell by cell.

    A verdict is faster, slower, the same, or that more launches are needed. Each allows for the
    number of comparisons (Holm). Results of different codes have no verdict
    unless one of the runs measured the ratio of the codes (`assay run --beside`).

    Parameters
    ----------
    sides
        The runs: directories, unique parts of their names, or @DATE for the newest run on or before
        a day. RUN:toolchain=NAME takes only the cells of that toolchain, RUN:nodes=NAMES only
        measurements on these nodes, RUN:rest only measurements on the other nodes. RUN+RUN+RUN are
        several runs as one side. ref:NAME is a cluster of `assay references`, or one of its
        figures. Folders of profiles (`assay profile --sample`) are compared function by function.
    same
        The relative difference within which cells, or functions of profiles, count as the same.
    output
        The file to write, or its folder [default: comparison.html and so on in the working
        directory].
    fail_on
        slower:3% exits with 1 if a cell or a function is significantly slower, by 3% or more;
        slower exits with 1 for any size.
    scale_clock
        Also give ratios at equal clock rates.
    """
    from assay.config import load_config
    from assay.console import console
    from assay.questions.common.findings import findings_json
    from assay.report.anonymous.comparison import (
        comparison_report,
        comparison_without_names,
        names_of_sides,
    )
    from assay.report.comparison.brief import print_brief
    from assay.report.comparison.terminal import print_comparison
    from assay.report.destination import destination
    from assay.report.subject import present_subject
    from assay.subjects.compare.findings import find
    from assay.subjects.compare.other_runs import read_other_runs
    from assay.subjects.compare.query import FailOn, parse_margin
    from assay.subjects.compare.sides import read_sides
    from assay.subjects.compare.subject import SUBJECT
    from assay.subjects.profile.compared.sides import are_profiles

    usual = Path("comparison.html" if not anonymize else "comparison-anonymous.html")
    target = destination(format_, output, usual, html=html, lines=lines, page=page, json=json)
    limit = FailOn.of(fail_on)
    margin = parse_margin(same)
    if are_profiles(sides):
        from assay.report.profile.compared import compare_profiles

        changed = compare_profiles(
            sides, margin, None if json else console(), target, hide=anonymize, verbose=verbose
        )
        return 1 if limit.fails_for(changed) else 0
    root = runs or load_config(config).runs
    read = read_sides(root, sides)
    found = find(read, margin, scale_clock=scale_clock, others=read_other_runs(root, read))
    failed = limit.fails(found)
    names = names_of_sides(read) if anonymize else None
    if names is not None:
        found = comparison_without_names(found, names)
    present_subject(
        SUBJECT,
        found,
        None if json else console(),
        target,
        screen=print_comparison if verbose else print_brief,
        document=findings_json(found),
        model=lambda: comparison_report(found, read, names),
    )
    return 1 if failed else 0
