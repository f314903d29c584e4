"""Simulate a program on a described cluster: its run time with the nodes' variability.

Examples::

    assay simulate --example > seth.toml  # a description to begin with
    assay simulate npb.cg.B --on seth.toml --ranks 64 --rate "300 Mop/s"
    assay simulate app.profile --on seth.toml  # the trace of a program (assay profile --trace)
    assay simulate --on seth.toml --ranks 16 -- ./app  # an MPI program compiled by smpicc
    assay simulate --from 20260301T0910 > measured.toml  # a measured network and its nodes
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
)


def simulate(
    program: str | None = None,
    /,
    *command: str,
    on: Path | None = None,
    ranks: int | None = None,
    ppn: int | None = None,
    rate: str | None = None,
    simgrid: Path | None = None,
    draws: int = 10,
    seed: int = 1,
    limit: str = "5 min",
    keep: Path | None = None,
    example: Flag = False,
    from_: Annotated[str | None, Parameter(name="--from")] = None,
    format_: ReportFormat = None,
    output: ReportOutput = None,
    html: ReportHtml = False,
    lines: ReportLines = False,
    page: ReportPage = False,
    json: JsonFindings = False,
) -> int:
    """Predict the run time of a program on a described cluster, with SimGrid if it is installed.

    Without SimGrid, assay reports the run time by its own closed form, and how to get SimGrid.

    Parameters
    ----------
    program
        npb.KERNEL.CLASS, linpack.ORDER, or the folder of a kept profile with a trace.
    command
        An MPI program compiled by SimGrid's smpicc and its arguments, after --.
    on
        The description of the cluster (docs/formats/cluster.md).
    ranks
        Number of ranks of an NPB kernel or a command; a trace has its own.
    ppn
        Ranks per node [default: a rank per core].
    rate
        Compute rate of an NPB kernel on one rank, in official operations, such as "500 Mop/s"; for
        Linpack, the rate of DGEMM on one rank.
    simgrid
        SimGrid's smpirun, or a folder with it [default: smpirun on PATH].
    draws
        Number of draws of the nodes' speeds and the network's uncertain figures.
    seed
        Seed of the draws.
    limit
        Time limit of a single simulation.
    keep
        A new folder to keep SimGrid's input (platform and actions) in.
    example
        Print a description to begin with.
    from_
        Print the network and the nodes of this stored run (id, its beginning, or path) as a
        description.
    output
        The file to write, or its folder [default: simulate.html and so on in the working
        directory].
    """
    from assay.console import console
    from assay.simulation.example import EXAMPLE

    if example:
        print(EXAMPLE, end="")
        return 0
    if from_ is not None:
        from assay.report.simulation.measured import print_cluster

        print_cluster(from_)
        return 0
    from assay.report.destination import destination
    from assay.report.simulation.source import checked, source_of
    from assay.report.subject import present_subject
    from assay.report.usage.progress import UsageProgress
    from assay.simulation.cluster import read_cluster
    from assay.simulation.simgrid import find_simgrid
    from assay.subjects.simulation.findings import SimulationSettings, find_simulation
    from assay.subjects.simulation.subject import SUBJECT
    from assay.units import parse_duration

    target = destination(
        format_, output, Path("simulate.html"), html=html, lines=lines, page=page, json=json
    )
    file = checked(on, draws, ranks, ppn)
    cluster = read_cluster(file)
    simulator = find_simgrid(simgrid)
    source = source_of(program, command, ranks=ranks, rate=rate, cluster=cluster, simgrid=simulator)
    settings = SimulationSettings(
        ppn or cluster.cores, draws, seed, parse_duration(limit, where="--limit"), keep
    )
    with UsageProgress(console(stderr=True)) as watch:
        found = find_simulation(
            source=source,
            cluster=cluster,
            file=file,
            simgrid=simulator,
            settings=settings,
            progress=lambda n, of: watch("draws", n, of),
        )
    present_subject(SUBJECT, found, None if json else console(), target)
    return 0
