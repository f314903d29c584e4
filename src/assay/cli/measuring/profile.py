"""Profile a program's MPI calls: where its time goes, what it sends, and where it calls MPI.

Examples::

    assay profile -- mpirun -n 2 ./app
    assay profile --html --folder first.profile -- mpirun -n 2 ./app
    assay profile --trace -- mpirun -n 2 ./app  # every call, with its time
    assay profile --sample -- ./app  # functions and lines; with or without MPI
    assay profile --trace --launches 3 -- mpirun -n 2 ./app  # and how much launches differ
    assay profile npb.lu class=A --ppn 2  # one of assay's kernels
    assay profile --network "latency=1.5 us, bandwidth=25 GB/s" -- mpirun -n 2 ./app
    assay profile --submit --nodes 2 -- mpirun -n 4 ./app  # in a job of the batch scheduler
    assay profile --read app.profile  # the report of a kept profile
    assay profile --read app.profile --export chrome:app.json --export parquet:app-tables
    assay profile --read app.profile --export speedscope:app.speedscope.json
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
    ReportLines,
    ReportOutput,
    ReportPage,
    SchedulerAccount,
    SchedulerPartition,
    SiteProfile,
    Verbose,
)


def profile(
    *command: str,
    trace: Flag = False,
    sample: Annotated[str | None, Parameter(negative=())] = None,
    follow_forks: Flag = False,
    counters: Annotated[str | None, Parameter(negative=())] = None,
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
    lines: ReportLines = False,
    page: ReportPage = False,
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
    sample
        Sample the call stacks of all threads this many times per second of their CPU time [HZ; 97
        without a number]: functions and lines between the calls. Works without MPI, too.
    follow_forks
        Sample children that the program forks, too; each has a row of its own. Implies --sample.
    counters
        Count events beside the samples, by function, where the system allows it [EVENTS;
        cycles,instructions,cache-misses without a list]. Implies --sample.
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
        (Perfetto), simgrid:FOLDER or parquet:FOLDER; or the samples: folded:FILE,
        speedscope:FILE.json, firefox:FILE.json.gz or pprof:FILE.pb.gz; may be repeated.
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
    from assay.report.profile.analysis import analyse, read_events, read_stacks
    from assay.report.profile.write import build_report, present, profile_json
    from assay.trace.exports import parse_target, write_export
    from assay.trace.exports.model import TraceExport
    from assay.trace.reading import RANK_FILES, read_profile, read_run
    from assay.trace.reading_trace import has_trace
    from assay.trace.samples.exports import write_samples
    from assay.trace.samples.exports.model import SampleExport
    from assay.trace.samples.rate import counted_events, sampling_rate
    from assay.trace.samples.reading import has_samples

    usual = Path("profile-anonymous.html" if anonymize else "profile.html")
    target = destination(format_, output, usual, html=html, lines=lines, page=page, json=json)
    networks = stated_networks(network or (), "--network")
    asked = [parse_target(text) for text in export or ()]
    targets = [(form, path) for form, path in asked if isinstance(form, TraceExport)]
    stacks = [(form, path) for form, path in asked if isinstance(form, SampleExport)]
    if trace and read is not None:
        raise AssayError(
            "--trace is for running a program.", fix="Leave it out: a kept trace is read anyway."
        )
    rate = sampling_rate(sample)
    events_to_count = counted_events(counters)
    implied = ["--follow-forks"] * follow_forks + ["--counters"] * bool(events_to_count)
    if (implied or (stacks and read is None)) and rate is None:
        rate = sampling_rate("")
    if rate is not None and read is not None:
        raise AssayError(
            f"{[*implied, '--sample'][0]} is for running a program.",
            fix="Leave it out: kept samples are read anyway.",
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
        alone = not any(read.glob(RANK_FILES)) and (has_trace(read) or has_samples(read))
        recorded = None if alone else read_profile(read, program)
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
            sample=rate,
            follow_forks=follow_forks,
            counters=events_to_count,
        )
        recorded, kept = run_profile(wanted, load_config(config, site), notes)
        status = read_run(kept).status
        notes.print(f"profile: {kept}", markup=False, soft_wrap=True)
    # A killed program has only a trace; a program that was not traced has only a profile.
    number = program if recorded is None else recorded.number
    samples, lacking = read_stacks(kept, number, profiled=recorded is not None)
    if recorded is None and not has_trace(kept) and samples is None:  # without MPI
        return status
    events, problem = None, ""
    if targets or networks or has_trace(kept):
        events, problem = read_events(kept, number, profiled=recorded is not None)
    if anonymize:
        from assay.report.anonymous.profile import RecordedProgram, program_without_names

        named = RecordedProgram(read_run(kept), recorded, events, samples)
        hidden = program_without_names(named, kept)
        run, recorded, events, samples = hidden.run, hidden.profile, hidden.trace, hidden.samples
    else:
        run = read_run(kept)
    analysed = analyse(
        recorded, events, " ".join(filter(None, (problem, lacking))), networks, samples
    )
    if analysed.problem:
        notes.print(analysed.problem, markup=False, soft_wrap=True)
    if networks and analysed.traced is not None and analysed.traced.network is None:
        notes.print("No run times on other networks: they need a model of at least two ranks.")
    if json:
        print_json(profile_json(analysed.found, analysed.traced, analysed.sampled))
    if not json or target is not None:
        report = build_report(run, analysed, events)
        drawn = events if analysed.traced is not None else None
        screen = None if json else console()
        present(report, screen, target, drawn, samples, verbose=verbose)
    if events is None and targets:
        raise AssayError(f"The trace isn't exported. {problem}")
    if events is not None:
        for form, path in targets:
            for sentence in write_export(events.trace, form, path):
                notes.print(f"{path}: {sentence}", markup=False, soft_wrap=True)
            notes.print(f"exported: {path}", markup=False, soft_wrap=True)
    if samples is None and stacks:
        raise AssayError(
            f"There are no samples to export. {lacking}".strip(),
            fix="Profile the program with --sample.",
        )
    if samples is not None:
        for shape, path in stacks:
            write_samples(samples, shape, path)
            notes.print(f"exported: {path}", markup=False, soft_wrap=True)
    return status
