r"""Measure this machine with a suite or a plan, and write its report.

Examples::

    assay run  # the suite 'quick', about 90 seconds
    assay run plan.toml --budget "10 min"  # a plan of your own
    assay run --resume  # what the newest unfinished run still lacks
    assay run network --submit --nodes 8  # in a job of the batch scheduler
    assay run --submit --per-node --nodes 400  # each of 400 nodes separately
    assay run steadiness --every "6 h" --sessions 8  # variation over two days
    assay run placement  # how to use the nodes: ranks, threads, binding
    assay run placement --app "mpirun -n {ranks} ./a.out" --time "took (\S+) s"
    assay run toolchains class=S  # which of compiler, MPI and ranks matters
    assay run npb class=A --beside ~/NPB/bin  # assay's code beside your cg.A.x, lu.A.x, …
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from assay.cli.options import (
    ConfigFile,
    FakeMachine,
    Flag,
    Json,
    JunitFile,
    LabName,
    RandomSeed,
    RunsFolder,
    SchedulerAccount,
    SchedulerPartition,
    SiteProfile,
    Verbose,
)


def run(
    suite: str = "quick",
    *factors: str,
    resume: Flag = False,
    nodes: str | None = None,
    ppn: str | None = None,
    per_node: Flag = False,
    submit: Flag = False,
    here: Flag = False,
    detach: Flag = False,
    dry_run: Flag = False,
    walltime: str | None = None,
    patience: str | None = None,
    partition: SchedulerPartition = None,
    account: SchedulerAccount = None,
    runs: RunsFolder = None,
    seed: RandomSeed = None,
    budget: str | None = None,
    whole: Flag = False,
    precision: str | None = None,
    launches: str | None = None,
    duration: str | None = None,
    every: str | None = None,
    sessions: str | None = None,
    config: ConfigFile = None,
    site: SiteProfile = None,
    lab: LabName = None,
    fake: FakeMachine = None,
    report: bool = True,
    fail_on: Literal["never", "failure", "precision", "nodes", "expectation"] = "failure",
    junit: JunitFile = None,
    json: Json = False,
    verbose: Verbose = False,
    app: str | None = None,
    time: str | None = None,
    verify: str | None = None,
    timeout: str | None = None,
    shell: Flag = False,
    matrix: Path | None = None,
    profile: Path | None = None,
    beside: Path | None = None,
) -> int:
    """Measure this machine, or a cluster through its scheduler, and write the report.

    Parameters
    ----------
    suite
        A shipped suite's name or a plan's TOML file; with --resume, a run's name or path.
    factors
        key=value replaces the plan's values for all kernels that have the key, such as class=A
        ppn=1,2. kernel=npb.lu,npb.cg measures only these kernels, even if the plan lacks them.
    resume
        Continue an unfinished run (the newest, if none is named).
    nodes
        Nodes of the measures that name none, such as 4 or 1,2,4; a plan's "all" is the largest of
        these numbers. With --per-node, the number of nodes that measure themselves, or "all" for
        each node of the partition once.
    ppn
        Ranks per node instead of the plan's, such as 2 or 1,all.
    per_node
        Measure the plan on every node separately and concurrently, and compare the nodes.
    submit
        Measure in jobs of the batch scheduler [default if assay.toml has a [scheduler]].
    here
        Measure on this machine even if assay.toml has a [scheduler].
    detach
        Submit and return at once; `assay runs --follow` follows the run later.
    dry_run
        Print the scripts of all jobs, and submit none; without a scheduler, print how long the plan
        takes on this machine and what is left out.
    walltime
        Walltime of each job, such as "2 h", 1-12:00:00 or 90 (minutes) [default: an estimate,
        limited as in assay.toml].
    patience
        How long a job may wait for its start, such as "2 h" [default: no limit]. After that the job
        stays in the queue and the command exits with 1; `assay runs --follow` continues.
    budget
        Time for all launches of the plan, or of each session, such as "90 s" [default: as in the
        plan]. Cells that don't fit are left out, and named. The survey of the machine and the
        compilation of kernels are not included.
    whole
        Measure every cell at least once, even if it takes longer than the budget.
    precision
        Relative half-width of the 95% interval to reach, such as 1% [default: as in the plan].
    launches
        Minimum and maximum launches per cell (and session), such as 100 or 6..30 [default: as in
        the plan]. The budget grows with their number, unless --budget is given.
    duration
        Measure for this time, such as "2 days": in sessions with --every, otherwise without a
        pause.
    every
        Time from the beginning of one session to the beginning of the next, such as "6 h".
    sessions
        Number of sessions.
    report
        Write report.html into the run.
    fail_on
        Exit with 1 if a cell failed its measurement or check, missed its precision, or, with
        --per-node, a node or a group of nodes is slower than the others ("nodes"), or a result
        misses an [[expect]] of assay.toml ("expectation").
    json
        Print the answers and all cells as JSON on stdout.
    app
        A command to measure instead of the plan's kernels: "mpirun -n {ranks} ./a.out".
        Placeholders: {nodes} {ppn} {ranks} {threads} {binding} {smt} {devices} {order} {adapter}
        {hostfile} {rankfile}.
    time
        A regular expression for the time in seconds in the command's output, such as
        "Time: (\\S+) s" [default: assay times the command from start to end].
    verify
        A regular expression that the output matches if the result is correct.
    timeout
        Maximum time of the command, or of a launch of each executable of --beside, such as "10 min"
        [default: from the fastest placement so far; for executables, initially from their work].
    shell
        Run the command in a shell.
    matrix
        A file with the bytes that the command's ranks send each other (docs/formats/plans.md). A
        rank order with little traffic between nodes is then measured, too.
    profile
        The folder of the command's profile (`assay profile`). Its matrix is used as --matrix, the
        placements that it predicts to be fast are tried first, and the answer says whether it
        explains the fastest placement.
    beside
        A folder with your own executables of NPB, HPL, HPCG, STREAM or OSU. Executables that
        correspond to kernels of the plan are measured on the same ranks, and the report gives the
        ratio of assay's code to yours.
    """
    from assay.campaign.commands.conclusion import WhenEnded, read_patience
    from assay.campaign.commands.finish import Expected
    from assay.campaign.commands.option_rules import check_junit, check_new, check_resumed
    from assay.campaign.commands.start import StartOptions, begin, resume_run
    from assay.campaign.jobs.submission import JobOptions
    from assay.campaign.requests.run_request import run_options
    from assay.config import load_config
    from assay.console import command_line, console
    from assay.errors import AssayError
    from assay.plans.app import read_app, read_timeout

    command = None
    if app is not None:
        from assay.plans.app import profiled_matrix, read_app

        demand = None
        if profile is not None:
            from assay.campaign.commands.program_demand import read_demand

            demand = read_demand(profile)
            matrix = matrix or profiled_matrix(app, profile)
        command = read_app(app, time, verify, timeout, shell=shell, matrix=matrix, demand=demand)
    elif time or verify or shell or matrix or profile or (timeout and beside is None):
        raise AssayError(
            "--time, --verify, --timeout, --shell, --matrix and --profile go with --app.",
            fix="Name the command to measure: --app 'mpirun -n {ranks} ./a.out'.",
        )
    if beside is not None and command is not None:
        raise AssayError(
            "--beside measures executables beside assay's kernels, but --app replaces these.",
            fix="Leave one of them out.",
        )
    settings = load_config(config, site)
    if lab is not None:
        from assay.lab.entering import on_lab

        settings = on_lab(lab, settings)
    how = StartOptions(
        config=settings,
        root=runs or settings.runs,
        console=console(stderr=True),
        command=command_line(),
        fake=fake,
        submit=submit,
        here=here,
        detach=detach,
        dry_run=dry_run,
        per_node=per_node,
        site=JobOptions(partition, account, walltime),
        after=WhenEnded(
            *(report, json, fail_on, Expected(settings.expect, junit), verbose),
            patience=read_patience(patience),
        ),
    )
    given = {
        "--nodes": nodes,
        "--ppn": ppn,
        "--seed": seed,
        "--budget": budget,
        "--whole": whole,
        "--precision": precision,
        "--launches": launches,
        "--duration": duration,
        "--every": every,
        "--sessions": sessions,
        "--app": app,
        "--beside": beside,
        "--dry-run": dry_run,
        "--per-node": per_node,
        "--fail-on": fail_on,
    }
    check_junit(junit)
    if not resume:
        check_new(given)
        asked = run_options(
            suite,
            factors,
            nodes=nodes,
            ppn=ppn,
            seed=seed,
            app=command,
            beside=beside,
            timeout=0.0 if command is not None else read_timeout(timeout),
            whole=whole,
            rule={
                "budget": budget,
                "precision": precision,
                "launches": launches,
                "duration": duration,
                "every": every,
                "sessions": sessions,
            },
        )
        return begin(asked, how)
    check_resumed(factors, given)
    return resume_run("" if suite == "quick" else suite, how)
