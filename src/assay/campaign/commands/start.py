"""``assay run``: starts or resumes a run, here or in jobs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from assay.campaign.budget.announcement import first_launches
from assay.campaign.budget.earlier_times import with_earlier_times
from assay.campaign.commands.conclusion import WhenEnded, conclude, follow_run
from assay.campaign.commands.dry_run import show_plan
from assay.campaign.commands.finish import check_run, exit_status, interrupted, present
from assay.campaign.commands.option_rules import check_here
from assay.campaign.engine.execute import execute_campaign, new_run, prepare, report_choices
from assay.campaign.engine.state import Interruption
from assay.campaign.jobs.batch import scheduler_of
from assay.campaign.jobs.group_jobs import usable_nodes
from assay.campaign.jobs.job import make_ready
from assay.campaign.jobs.node import deadline_here
from assay.campaign.jobs.submission import (
    JobOptions,
    Submission,
    ready,
    resume_submitted,
    scripts,
    submit_run,
    where,
)
from assay.campaign.machine.bench import Bench, fake_nodes, machine_for
from assay.campaign.requests.run_request import plan_requested
from assay.config import ClusterConfig, Config
from assay.errors import AssayError
from assay.launch.fake.check import check_cells
from assay.records.access.trust import check_place, check_trusted_run
from assay.records.creation import create_requested
from assay.records.directory import RunDirectory, find_run
from assay.records.request import RunOptions, RunRequest
from assay.units import counted, whole_number

if TYPE_CHECKING:
    from rich.console import Console

# The value of --nodes that selects each node of the partition, with --per-node.
ALL = "all"


@dataclass(frozen=True)
class StartOptions:
    """The command line's options for executing a run."""

    config: Config
    root: Path
    console: Console
    command: list[str]
    fake: Path | None = None
    submit: bool = False
    here: bool = False
    detach: bool = False
    dry_run: bool = False
    per_node: bool = False
    #: The nodes to measure with ``per_node``; empty for any.
    hosts: tuple[str, ...] = ()
    site: JobOptions = field(default_factory=JobOptions)
    after: WhenEnded = field(default_factory=WhenEnded)


def begin(options: RunOptions, how: StartOptions) -> int:
    """Start a run. Returns the exit status. Raises AssayError."""
    # Show the scripts of jobs if there may be jobs; otherwise what this machine would measure.
    scripts_alone = how.dry_run and not how.here and how.config.scheduler is not None
    check_place(how.root)
    away = where(how.config, submit=how.submit or scripts_alone, here=how.here) == "away"
    if not away and how.detach:
        raise AssayError("--detach needs jobs.", fix="Add --submit, or leave --detach out.")
    if how.after.patience < math.inf and (not away or how.detach):
        raise AssayError(
            "--patience limits the wait for jobs, but "
            + ("--detach doesn't wait for jobs." if away else "there are no jobs here."),
            fix="Leave --patience out, or give it to `assay runs --follow`."
            if away
            else "Add --submit, or leave --patience out.",
        )
    if not away:
        check_here(how.site.given)
    if how.per_node:
        return _per_node(options, how, away=away)
    if away:
        return _send(_order(options, how, None), how)
    machine = machine_for(how.config, how.fake)
    plan = plan_requested(options, machine.context)
    if how.fake is not None:
        check_cells(how.fake, plan.cells)
    plan = with_earlier_times(plan, how.root, machine.system.to_dict(), machine.fake)
    if how.dry_run:
        energy = machine.fake is not None or machine.system.processor.energy_readable is True
        return show_plan(plan, how.console, energy=energy, as_json=how.after.as_json)
    report_choices(plan, how.console, requested=bool(options.words or options.nodes))
    how.console.print(first_launches(plan).sentence, soft_wrap=True, markup=False, style="dim")
    bench = prepare(machine, plan, how.console)
    return _measure(new_run(machine, bench, plan, how.root, how.command), bench, how)


def resume_run(name: str, how: StartOptions) -> int:
    """Resume an unfinished run. Returns the exit status. Raises AssayError."""
    run = find_run(how.root, name, incomplete=True)
    check_trusted_run(run.path)
    request = run.request()
    if run.begun and run.manifest().imported:
        raise AssayError(
            "This run was imported, so there is nothing to measure.",
            where=str(run.path),
            fix="`assay import` reads its files again.",
        )
    if where(how.config, submit=how.submit, here=how.here, resumed=request) == "away":
        return _resume_away(run, request, how)
    if request is not None and request.members is not None:
        if request.fake is not None and how.fake is None:
            raise no_scenario(run, request.fake)
        return _let_measure(run, request, _cluster_or_fake(how), how)
    if request is not None:
        return _measure(run, make_ready(run, request, how.console, how.config), how)
    _check_machine(run, how.fake)
    bench = prepare(machine_for(how.config, how.fake), run.manifest().plan, how.console)
    return _measure(run, bench, how)


def _check_machine(run: RunDirectory, fake: Path | None) -> None:
    """Raise AssayError if a run on a fake machine would continue on a real one, or the reverse.

    If the manifest names no scenario, the launches show the kind of machine.
    """
    scenario = run.manifest().fake
    launches = run.launches()
    was_fake = scenario is not None or any(each.command[:1] == ["fake"] for each in launches)
    if was_fake and fake is None:
        raise no_scenario(run, scenario)
    if fake is not None and launches and not was_fake:
        raise AssayError(
            "This run measured a real machine, but --fake would add simulated numbers.",
            where=str(run.path),
            fix="Leave --fake out, or start a new run.",
        )


def no_scenario(run: RunDirectory, scenario: str | None) -> AssayError:
    """The error for a run on a fake machine that is resumed without --fake."""
    return AssayError(
        "This run measured a fake machine, but --fake is missing.",
        where=str(run.path),
        fix=f"Add --fake {scenario or 'with its original scenario'}.",
    )


def _resume_away(run: RunDirectory, request: RunRequest | None, how: StartOptions) -> int:
    if request is None or request.job is None:
        raise AssayError(
            "This run was not started through a scheduler.",
            where=str(run.path),
            fix="Continue it where it was started, or in an allocation.",
        )
    longest = how.site.seconds
    request = msgspec.structs.replace(
        request,
        scheduler=how.site.applied(request.scheduler),
        job=msgspec.structs.replace(request.job, longest=longest, seconds=longest)
        if longest is not None
        else request.job,
    )
    resume_submitted(run, request, how.console)
    return 0 if how.detach else follow_run(run, request, how.console, how.after)


def _send(order: Submission, how: StartOptions) -> int:
    """Submit a run and follow it, or show what would be submitted."""
    if how.dry_run:
        return _show(order, how)
    run = submit_run(order, how.console)
    if how.detach:
        how.console.print(
            f"Follow it with: assay runs --follow {run.name}", soft_wrap=True, markup=False
        )
        return 0
    request = run.request()
    assert request is not None
    return follow_run(run, request, how.console, how.after)


def _show(order: Submission, how: StartOptions) -> int:
    """Print the scripts of all jobs that would be submitted."""
    from assay.console import print_json

    found = scripts(order)
    if how.after.as_json:
        print_json(
            [
                {
                    "name": job.name,
                    "nodes": job.nodes,
                    "tasks": job.tasks,
                    "walltime": job.walltime,
                    "begin": job.begin,
                    "script": script,
                }
                for job, script in found
            ]
        )
        return 0
    for sentence in (*order.notes, order.sentence):
        how.console.print(sentence, soft_wrap=True, markup=False)
    for _, script in found:
        print(script)
    return 0


def _per_node(options: RunOptions, how: StartOptions, *, away: bool) -> int:
    """Let nodes measure themselves, in a job array or on the available hosts."""
    alone = msgspec.structs.replace(options, nodes=None)
    if away and options.nodes == ALL:
        return _each_node(alone, how)
    if away and how.hosts:
        return _send(_order(alone, how, len(how.hosts), list(how.hosts)), how)
    count = None if options.nodes == ALL else _count(options.nodes)
    if away:
        if count is None:
            raise AssayError(
                "--per-node requires a number of nodes.",
                fix="Add, for example, --nodes 16, or --nodes all for each node of the partition.",
            )
        return _send(_order(alone, how, count), how)
    cluster = _cluster_or_fake(how)
    there = len(cluster.hosts) if cluster is not None else fake_nodes(how.fake, count)
    members = there if count is None else count
    if members > there:
        raise AssayError(
            f"There {'is' if there == 1 else 'are'} {counted(there, 'node')}.",
            where=f"--nodes {members}",
            fix="Request fewer nodes.",
        )
    order = _order(alone, how, members, away=False)
    check_trusted_run(order.root / order.stem)
    request_here = msgspec.structs.replace(order.request, job=None, scheduler=None)
    run = create_requested(order.root, order.stem, request_here)
    request = run.request()
    assert request is not None
    return _let_measure(run, request, cluster, how)


def _each_node(options: RunOptions, how: StartOptions) -> int:
    """Measure each node of the partition that can run jobs, with jobs."""
    site = how.site.applied(how.config.scheduler)
    hosts, left_out = usable_nodes(scheduler_of(site), site.partition)
    if left_out:
        how.console.print(left_out, soft_wrap=True, markup=False)
    return _send(_order(options, how, len(hosts), hosts), how)


def _order(
    options: RunOptions,
    how: StartOptions,
    members: int | None,
    hosts: list[str] | None = None,
    *,
    away: bool = True,
) -> Submission:
    return ready(
        options,
        how.config,
        how.site,
        how.root,
        command=how.command,
        fake=how.fake,
        report=how.after.report,
        members=members,
        hosts=hosts,
        away=away,
    )


def _let_measure(
    run: RunDirectory, request: RunRequest, cluster: ClusterConfig | None, how: StartOptions
) -> int:
    """Let a group's hosts measure themselves, or simulate the group. Present the results."""
    from assay.campaign.commands.per_node import measure_fake_members, measure_members

    if cluster is None:
        ending = measure_fake_members(run, request, how.console)
    else:
        ending = measure_members(run, request, cluster, how.console)
    return conclude(run, request, ending, how.console, how.after)


def _count(nodes: str | None) -> int | None:
    if nodes is None:
        return None
    number = whole_number(nodes)
    if number is None or number < 1:
        raise AssayError(
            f"'{nodes}' is not a number of nodes.",
            where="--nodes",
            fix="With --per-node, give one number, such as 16, or all.",
        )
    return number


def _cluster_or_fake(how: StartOptions) -> ClusterConfig | None:
    """The available hosts: hosts of the allocation, or otherwise of the config; None for a
    scenario's nodes.

    Raises AssayError.
    """
    from assay.launch.allocation import find_allocation

    allocation = find_allocation()
    cluster = allocation.cluster if allocation is not None else how.config.cluster
    if cluster is None and how.fake is None:
        raise AssayError(
            "This node is the only one here.",
            fix="Add --submit, run it in an allocation, or name hosts in [cluster] of assay.toml.",
        )
    return cluster if cluster is None or not how.hosts else _only(cluster, how.hosts)


def _only(cluster: ClusterConfig, wanted: Sequence[str]) -> ClusterConfig:
    """The cluster with only the wanted hosts. Raises AssayError if it lacks one."""
    there = {name: host for host in cluster.hosts for name in (host, host.partition(".")[0])}
    lacking = [host for host in wanted if host not in there]
    if lacking:
        raise AssayError(
            f"The node {lacking[0]} isn't among the {counted(len(cluster.hosts), 'host')} here.",
            fix="Add --submit, measure in an allocation of the wanted nodes, or name them in "
            "[cluster] of assay.toml.",
        )
    return msgspec.structs.replace(cluster, hosts=[there[host] for host in wanted])


def _measure(run: RunDirectory, bench: Bench, how: StartOptions) -> int:
    """Execute a run in this process and present it."""
    try:
        data = execute_campaign(run, bench, how.console, deadline=deadline_here())
    except Interruption:
        return interrupted(run, how.console)
    cells = present(
        data,
        report=how.after.report,
        as_json=how.after.as_json,
        verbose=how.after.verbose,
        quiet=how.after.quiet,
    )
    if check_run(data, cells, how.after.expected, how.after.fail_on):
        return 1
    return exit_status(cells, how.after.fail_on, complete=data.complete)
