"""Design a cluster within a budget, from a catalogue of parts with prices and rates.

Examples::

    assay design cluster.toml  # the best clusters, how sure, what to find out next
    assay design cluster.toml --html  # with figures
    assay design cluster.toml --json
    assay design --example > cluster.toml  # a specification to begin with
    assay design --from 20260301T0910 > node.toml  # a measured machine as a node
    assay design --from 20260301T0910 --from 20260302T0910 > nodes.toml  # a node per vendor
    assay design --program app.profile > program.toml  # a profiled program as a workload
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from assay.cli.options import (
    Flag,
    JsonFindings,
    ReportFormat,
    ReportHtml,
    ReportLines,
    ReportOutput,
    ReportPage,
    Verbose,
)


def design(
    spec: Path | None = None,
    /,
    *,
    example: Flag = False,
    from_: Annotated[
        list[str] | None, Parameter(name="--from", negative=(), consume_multiple=False)
    ] = None,
    program: Path | None = None,
    format_: ReportFormat = None,
    output: ReportOutput = None,
    html: ReportHtml = False,
    lines: ReportLines = False,
    page: ReportPage = False,
    anonymize: Flag = False,
    json: JsonFindings = False,
    verbose: Verbose = False,
) -> int:
    """Design a cluster: which nodes, how many, which interconnect; price, power, predicted rates.

    Parameters
    ----------
    spec
        The specification: catalogues of parts, limits, workload (docs/formats/design.md).
    example
        Print a specification to begin with.
    from_
        Print a catalogue whose node is the machine of this stored run (id, its beginning, or path);
        repeatable, a node per run.
    program
        Print the program of a kept profile (`assay profile`) as a [[program]] for a specification.
    output
        The file to write, or its folder [default: design.html and so on in the working directory].
    anonymize
        Replace the names of the specification's files, of systems, users and addresses. The default
        file name then ends in -anonymous.
    """
    from assay.console import console
    from assay.design.example import EXAMPLE
    from assay.errors import AssayError

    if example:
        print(EXAMPLE, end="")
        return 0
    if from_:
        from assay.report.design.measured import print_nodes

        print_nodes(from_)
        return 0
    if program is not None:
        from assay.report.design.measured import print_program

        print_program(program)
        return 0
    if spec is None:
        raise AssayError(
            "No specification is named.",
            where="assay design",
            fix="Name a file; 'assay design --example > cluster.toml' writes one.",
        )
    from assay.design.spec.reading import read_spec
    from assay.report.destination import destination
    from assay.report.subject import present_subject
    from assay.report.usage.progress import UsageProgress
    from assay.subjects.design.findings import find
    from assay.subjects.design.subject import SUBJECT

    usual = Path("design-anonymous.html" if anonymize else "design.html")
    target = destination(format_, output, usual, html=html, lines=lines, page=page, json=json)
    wanted = read_spec(spec)
    with UsageProgress(console(stderr=True)) as watch:
        found = find(wanted, lambda done, all_: watch("candidates", done, all_))
    if anonymize:
        from assay.report.anonymous.design import design_without_names

        found = design_without_names(found)
    present_subject(SUBJECT, found, None if json else console(), target, verbose=verbose)
    return 0
