"""Show how busy a machine is, from its scheduler's accounts, and what its queue costs.

Examples::

    assay usage machine.swf.gz  # utilisation, waits, sizes, what is unknown
    assay usage accounting/2026* --html  # PBS, with figures
    assay usage jobs.txt --processors 4096  # sacct --parsable2, the size stated
    assay usage lsb.acct* --since "90 d" --queue long
    assay usage clusters.txt --cluster alpha --since 2026-03-01 --html  # one of several clusters
    assay usage machine.swf.gz --model easy  # replayed by a modelled scheduler
    assay usage machine.swf.gz --what-if nodes=+10% --what-if longest=12h
    assay usage machine.swf.gz --what-if cov=5.7%:1%  # steadier run times, shorter requests
    assay usage --synthetic lublin --jobs 20000 --processors 256 --load 0.9 --model conservative
    assay usage machine.swf.gz --as-slurm load.sh --scale 60 --nodes 4 --jobs 500
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


def usage(
    *logs: Path,
    since: str | None = None,
    until: str | None = None,
    queue: str | None = None,
    user: str | None = None,
    cluster: str | None = None,
    processors: int | None = None,
    zone: str | None = None,
    identify: Flag = False,
    model: str | None = None,
    what_if: Annotated[list[str] | None, Parameter(negative=(), consume_multiple=False)] = None,
    estimates: str | None = None,
    resamples: int | None = None,
    seed: int | None = None,
    run: Path | None = None,
    synthetic: str | None = None,
    jobs: int | None = None,
    load: float | None = None,
    as_slurm: Path | None = None,
    scale: float | None = None,
    nodes: int | None = None,
    format_: ReportFormat = None,
    output: ReportOutput = None,
    html: ReportHtml = False,
    lines: ReportLines = False,
    page: ReportPage = False,
    json: JsonFindings = False,
    verbose: Verbose = False,
) -> int:
    """Show how busy a machine is: utilisation, waits, sizes, limits, and what the log can't say.

    Formats: Standard Workload Format, Slurm (sacct --parsable2 and --json, sacctmgr show event),
    PBS and Torque, LSF (lsb.acct), Flux; plain or compressed, recognised by content.

    With --model, --what-if, --estimates or --synthetic, a modelled scheduler also replays the jobs:
    under several policies, compared with the real waits, and with each stated change.

    Parameters
    ----------
    logs
        The files of one log, in any order; files of different formats are joined.
    since
        Only from this day or time (of the machine), or the last days of the log, such as "90 d".
    until
        Only before this day or time.
    queue
        Only jobs of this queue.
    user
        Only jobs of this user.
    cluster
        Only this cluster of a log of several, with its own size.
    processors
        The machine's number of processors [default: from the log; 256 for a synthetic load].
    zone
        The machine's time zone, such as Europe/Stockholm [default: from the log].
    identify
        Show the names of users, groups, queues and files; otherwise they are numbered.
    model
        The scheduler to model: fcfs, easy, conservative, multifactor, maui, or a TOML file with
        [policy] and [machine] [default: easy, if another option needs a model].
    what_if
        A change to simulate, repeatable. Requests: estimates=2 (halves what jobs request beyond
        their run time), estimates=exact. Run times: cov=10% (their variation), cov=5.7%:1% (the
        variation changes, and requests with it). The machine: nodes=+10%, heartbeat=2% (coordinated
        system tasks), lost-node=1d (per week). Rules: longest=12h and largest=64 (limits of time
        and processors per job), policy=conservative.
    estimates
        The requested times: logged, exact, modal (round values, as users choose them), or a
        multiple of the run time such as ×2 [default: logged; modal for a synthetic load].
    resamples
        Number of resampled loads (whole weeks) for the intervals of what-ifs [default: 100].
    seed
        Seed of all random numbers [default: 1].
    run
        A stored run whose variation and noise what-ifs refer to: cov=npb.ft:1% (a kernel of the
        run), cov=run:1% (its least steady program), heartbeat=run.
    synthetic
        A synthetic load instead of a log: lublin (Lublin and Feitelson, 2003).
    jobs
        Number of jobs of the synthetic load [default: 10000]; with --as-slurm, number of jobs to
        write, from the first [default: all].
    load
        Offered load of the synthetic load: processor time needed ÷ available, such as 0.9 [default:
        unscaled].
    as_slurm
        Only write the load as a shell script that submits sleeping jobs to a Slurm; report nothing.
    scale
        Divisor of all times in the script [default: 1].
    nodes
        The number of nodes of that Slurm; each job gets the same share of them as of the machine
        [default: sizes are unchanged].
    output
        The file to write, or its folder [default: usage.html and so on in the working directory].
    """
    from assay.console import console
    from assay.errors import AssayError
    from assay.report.destination import destination
    from assay.report.subject import present_subject
    from assay.report.usage.progress import UsageProgress
    from assay.report.usage.replaying import native_replay, steadiness_of_run, write_script
    from assay.subjects.usage.findings import find
    from assay.subjects.usage.queue.asking import (
        QueueQuery,
        check_query,
        find_with_queue,
        slurm_script,
    )
    from assay.subjects.usage.subject import SUBJECT
    from assay.usage.accounts.reading import read_accounts
    from assay.usage.analysis.query import UsageQuery

    if processors is not None and processors < 1:
        raise AssayError(
            "A machine has at least one processor.", where="--processors", fix="Write a number > 0."
        )
    query = UsageQuery(
        since=since,
        until=until,
        queue=queue,
        user=user,
        cluster=cluster,
        processors=processors,
        zone=zone,
        identify=identify,
    )
    asked = QueueQuery(
        model=model,
        what_ifs=tuple(what_if or ()),
        estimates=estimates,
        resamples=resamples,
        seed=seed,
        synthetic=synthetic,
        jobs=jobs,
        load=load,
        as_slurm=as_slurm is not None,
        scale=scale,
        nodes=nodes,
    )
    target = destination(
        format_, output, Path("usage.html"), html=html, lines=lines, page=page, json=json
    )
    report_asked = json or format_ is not None or target is not None
    check_query(asked, query, logs=bool(logs), run=run is not None, report=report_asked)
    with UsageProgress(console(stderr=True)) as watch:
        accounts = read_accounts(logs, watch) if logs else None
    if as_slurm is not None:
        write_script(slurm_script(accounts, query, asked), as_slurm)
        return 0
    if asked.wanted:
        steadiness = None if run is None else steadiness_of_run(run)
        with UsageProgress(console(stderr=True)) as watch:
            found = find_with_queue(
                accounts,
                query,
                asked,
                native_replay,
                steadiness=steadiness,
                report=watch.replays,
            )
    else:
        assert accounts is not None, "check_query has found a log"
        with UsageProgress(console(stderr=True)) as watch:
            found = find(accounts, query, watch)
    present_subject(SUBJECT, found, None if json else console(), target, verbose=verbose)
    return 0
