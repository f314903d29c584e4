"""Profile a program's MPI calls: where its time goes, what it sends, and where it calls MPI.

Examples::

    assay profile -- mpirun -n 2 ./app
    assay profile --html --folder first.profile -- mpirun -n 2 ./app
    assay profile --trace -- mpirun -n 2 ./app  # every call, with its time
    assay profile --trace --launches 3 -- mpirun -n 2 ./app  # and how much launches differ
    assay profile npb.lu class=A --ppn 2  # one of assay's kernels
    assay profile --network "latency=1.5 us, bandwidth=25 GB/s" -- mpirun -n 2 ./app
    assay profile --submit --nodes 2 -- mpirun -n 4 ./app  # in a job of the batch scheduler
    assay profile --read app.profile  # the report of a kept profile
    assay profile --read app.profile --export chrome:app.json --export parquet:app-tables
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from assay.cli.options import (
    ConfigFile,
    Flag,
    Json,
    ReportFormat,
    ReportHtml,
    ReportOutput,
    SchedulerAccount,
    SchedulerPartition,
    SiteProfile,
    Verbose,
)


def profile(
    *command: str,
    trace: Flag = False,
    launches: int = 1,
    folder: Path | None = None,
    read: Path | None = None,
    program: int | None = None,
    nodes: str | None = None,
    ppn: str | None = None,
    threads: str | None = None,
    order: str | None = None,
    submit: Flag = False,
    walltime: str | None = None,
    partition: SchedulerPartition = None,
    account: SchedulerAccount = None,
    network: Annotated[list[str] | None, Parameter(negative=(), consume_multiple=False)] = None,
    export: Annotated[list[str] | None, Parameter(negative=(), consume_multiple=False)] = None,
    format_: ReportFormat = None,
    output: ReportOutput = None,
    html: ReportHtml = False,
    anonymize: Flag = False,
    config: ConfigFile = None,
    site: SiteProfile = None,
    json: Json = False,
    verbose: Verbose = False,
) -> int:
    """Run a program, and report its MPI calls: time by kind, function, call site, rank and size.

    The program is neither changed nor recompiled: a library is preloaded into it. Its input, output
    and exit status are as without assay. Works with MPICH, Open MPI and compatible libraries; C,
    C++ and Fortran.

    Parameters
    ----------
    command
        The program and its arguments, with its launcher, after --; or a kernel and its
        parameters, as for `assay measure`.
    trace
        Record every call, too (about 2 bytes each): rank-N.trace in the folder. The report then has
        causes and origins of waiting, run times on other networks, and a timeline in a file of its
        own.
    launches
        Run it this many times, and report the median launch. The uncertainty of run times on other
        networks then includes how much launches differ; with a single launch this is assumed.
    folder
        The folder for the ranks' records; for several hosts, on a file system that they share
        [default: profile-TIME in the working directory].
    read
        Report a kept profile from its folder instead of running a program.
    program
        The number of the program to report, if the command ran several, as in the report [default:
        the one whose ranks ran longest in total].
    nodes
        Nodes of a kernel, and of the job with --submit [default: 1].
    ppn
        Ranks per node of a kernel [default: the minimum for the kernel].
    threads
        Threads per rank of a kernel [default: 1].
    order
        Rank order of a kernel: block, cyclic, reversed, or each rank's seat [default: block].
    submit
        Run it in a job of the batch scheduler, and report it when the job has ended.
    walltime
        Time to request for the job, such as "20 min" [default: 1 h].
    network
        A network of your own for run times, in addition to the known ones, such as "latency=1.5 us,
        bandwidth=25 GB/s" (latency of a short message between programs, bandwidth of long ones),
        with an optional name=NAME; may be repeated. Implies --trace.
    export
        Also write the trace in another format, as FORMAT:PATH: otf2:FOLDER, chrome:FILE.json
        (Perfetto), simgrid:FOLDER or parquet:FOLDER; may be repeated.
    output
        The file to write, or its folder [default: profile.html and so on in the working directory].
    anonymize
        Replace names of hosts, users and folders in the report, the timeline and the exports. A
        name always has the same replacement. The default file name then ends in -anonymous.
    json
        Print the findings as JSON on standard output, after the program's own output.
    """
    from assay.campaign.commands.profile_order import ProfileOrder, run_profile
    from assay.campaign.commands.profiled_kernel import KernelPlacement
    from assay.campaign.jobs.submission import JobOptions
    from assay.config import load_config
    from assay.console import console, print_json
    from assay.errors import AssayError
    from assay.reference.interconnects import stated_networks
    from assay.report.destination import destination
    from assay.report.profile.analysis import analyse, read_events
    from assay.report.profile.write import build_profile, build_trace, present, profile_json
    from assay.trace.exports import parse_target, write_export
    from assay.trace.reading import RANK_FILES, read_profile
    from assay.trace.reading_trace import has_trace

    usual = Path("profile-anonymous.html" if anonymize else "profile.html")
    target = destination(format_, output, usual, html=html)
    networks = stated_networks(network or (), "--network")
    targets = [parse_target(text) for text in export or ()]
    if trace and read is not None:
        raise AssayError(
            "--trace is for running a program.", fix="Leave it out: a kept trace is read anyway."
        )
    if launches != 1 and read is not None:
        raise AssayError("--launches is for running a program.", fix="Leave it out.")
    if bool(command) == (read is not None):
        raise AssayError(
            "A program and --read exclude each other." if command else "No program is given.",
            fix="Name it after --, as in `assay profile -- mpirun -n 4 ./app`, or a kept profile "
            "by --read.",
        )
    if program is not None and read is None:
        raise AssayError(
            "--program is for a kept profile.", fix="Name its folder by --read, or leave it out."
        )
    notes = console(stderr=True)
    if read is not None:
        killed = has_trace(read) and not any(read.glob(RANK_FILES))
        recorded = None if killed else read_profile(read, program)
        kept, status = read, 0
    else:
        wanted = ProfileOrder(
            command,
            folder,
            trace=trace or bool(targets or networks),
            kernel=KernelPlacement(nodes, ppn, threads, order),
            submit=submit,
            site=JobOptions(partition, account, walltime),
            launches=launches,
        )
        recorded, kept = run_profile(wanted, load_config(config, site), notes)
        status = recorded.run.status
        notes.print(f"profile: {kept}", markup=False, soft_wrap=True)
    # A killed program has only a trace; a program that was not traced has only a profile.
    number = program if recorded is None else recorded.number
    events, problem = None, ""
    if targets or networks or has_trace(kept):
        events, problem = read_events(kept, number, profiled=recorded is not None)
    if anonymize:
        from assay.report.anonymous.profile import profile_without_names

        recorded, events = profile_without_names(recorded, events, kept)
    analysed = analyse(recorded, events, problem, networks)
    if analysed.problem:
        notes.print(analysed.problem, markup=False, soft_wrap=True)
    if networks and analysed.traced is not None and analysed.traced.network is None:
        notes.print("No run times on other networks: they need a model of at least two ranks.")
    if json:
        print_json(profile_json(analysed.found, analysed.traced))
    if not json or target is not None:
        if analysed.found is not None:
            report = build_profile(analysed.found, analysed.traced)
        else:
            assert events is not None and analysed.traced is not None
            report = build_trace(events.trace.run, events, analysed.traced)
        drawn = events if analysed.traced is not None else None
        present(report, None if json else console(), target, drawn, verbose=verbose)
    if events is None and targets:
        raise AssayError(f"The trace isn't exported. {problem}")
    if events is not None:
        for form, path in targets:
            for sentence in write_export(events.trace, form, path):
                notes.print(f"{path}: {sentence}", markup=False, soft_wrap=True)
            notes.print(f"exported: {path}", markup=False, soft_wrap=True)
    return status
