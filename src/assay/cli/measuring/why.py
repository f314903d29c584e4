"""Say why a program isn't faster, and what to change first: node, network, ranks or memory.

Examples::

    assay why -- mpirun -n 2 ./app
    assay why --html --budget "10 min" -- mpirun -n 2 ./app
    assay why --folder first.why -- mpirun -n 2 ./app
    assay why --submit --nodes 2 -- mpirun -n 4 ./app  # in a job of the batch scheduler
    assay why --read first.why  # the answer of kept launches
    assay why --read first.why --lines  # only what stands out, one line each
"""

from __future__ import annotations

from pathlib import Path

from assay.cli.options import (
    ConfigFile,
    Flag,
    Json,
    ReportFormat,
    ReportHtml,
    ReportLines,
    ReportOutput,
    SchedulerAccount,
    SchedulerPartition,
    SiteProfile,
    Verbose,
)


def why(
    *command: str,
    budget: str | None = None,
    launches: int | None = None,
    folder: Path | None = None,
    read: Path | None = None,
    nodes: str | None = None,
    submit: Flag = False,
    walltime: str | None = None,
    partition: SchedulerPartition = None,
    account: SchedulerAccount = None,
    format_: ReportFormat = None,
    output: ReportOutput = None,
    html: ReportHtml = False,
    lines: ReportLines = False,
    config: ConfigFile = None,
    site: SiteProfile = None,
    json: Json = False,
    verbose: Verbose = False,
) -> int:
    """Run a program several times, and name the first reason that it isn't faster.

    Asked in this order: the node (CPU quota, binding, other processes, slow CPU), the network
    (latency, bandwidth, congestion), waiting (imbalance, late senders, serial parts), memory
    bandwidth, too many ranks. Each reason has its cost with an interval, its place, and the change
    to try. The program is neither changed nor recompiled.

    Parameters
    ----------
    command
        The program and its arguments, with its launcher, after --.
    budget
        Time for all launches, such as "20 min". The first launch always runs; others start only if
        they fit [default: twice the first launch plus one minute].
    launches
        Maximum number of launches as usual; one more may let the ranks of a node compute in turn
        [default: 5].
    folder
        The folder for the records of all launches; for several hosts, on a file system that they
        share [default: why-TIME in the working directory].
    read
        Answer from a kept folder instead of running a program.
    nodes
        Nodes of the job with --submit [default: 1].
    submit
        Run all launches in one job of the batch scheduler, and answer when the job has ended.
    walltime
        Time to request for the job, such as "20 min" [default: 1 h].
    output
        The file to write, or its folder [default: why.html and so on in the working directory].
    json
        Print the findings as JSON on standard output, after the program's own output.
    """
    from contextlib import nullcontext

    from assay.campaign.explaining.launches import WhyOrder, launch_for_why, launch_in_job
    from assay.campaign.jobs.submission import JobOptions
    from assay.config import load_config
    from assay.console import console, print_json
    from assay.errors import AssayError
    from assay.report.destination import destination
    from assay.report.profile.why import explain, present_why, why_json

    target = destination(format_, output, Path("why.html"), html=html, lines=lines, json=json)
    if bool(command) == (read is not None):
        raise AssayError(
            "A program and --read exclude each other." if command else "No program is given.",
            fix="Name it after --, as in `assay why -- mpirun -n 4 ./app`, or kept launches by "
            "--read.",
        )
    job = JobOptions(partition, account, walltime)
    if read is not None and (submit or (budget, launches, folder) != (None, None, None)):
        raise AssayError(
            "--budget, --launches, --folder and --submit are for running a program.",
            fix="Leave them out.",
        )
    if not submit and (job != JobOptions() or nodes is not None):
        raise AssayError(
            "--nodes, --walltime, --partition and --account require a job.", fix="Add --submit."
        )
    notes = console(stderr=True)
    status = 0
    if read is None:
        order = WhyOrder(command, folder, budget=budget, launches=launches, nodes=nodes, site=job)
        loaded = load_config(config, site)
        if submit:
            read = launch_in_job(order, loaded, notes)
        else:
            read, status = launch_for_why(order, loaded, notes)
        notes.print(f"launches: {read}", markup=False, soft_wrap=True)
    # Long traces take seconds each.
    with notes.status("analysing the launches") if notes.is_terminal else nullcontext():
        explained = explain(read)
    status = status or (explained.found.status if submit else 0)
    if json:
        print_json(why_json(explained))
    if not json or target is not None:
        present_why(explained, None if json else console(), target, verbose=verbose)
    return status
