"""The request given to ``assay run`` on the command line, and the plan it yields on a machine."""

from __future__ import annotations

import dataclasses
import math
import os
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from assay import __version__
from assay.campaign.budget.announcement import first_launches
from assay.config import Config, SchedulerConfig
from assay.errors import AssayError
from assay.model.cell import OWN_TOOLCHAIN
from assay.model.plan import Plan, PlanContext
from assay.plans.app import App
from assay.plans.levels import Written
from assay.plans.overrides import WHOLE
from assay.plans.suites import Source, count_named, find_plan, load_plan, most_nodes
from assay.plans.words import read_words
from assay.records.request import REQUEST_SCHEMA, JobShape, RunOptions, RunRequest
from assay.units import counted

_MORE_NODES = (
    "Request fewer; or add --submit, run it in an allocation, or name hosts in [cluster] of "
    "assay.toml."
)
# The options that change a plan's replication rule.
RULE = ("budget", "precision", "launches", "duration", "every", "sessions")


def run_options(
    suite: str,
    words: Sequence[str],
    *,
    ppn: str | None = None,
    rule: Mapping[str, str | None] | None = None,
    nodes: str | None = None,
    seed: int | None = None,
    app: App | None = None,
    beside: Path | None = None,
    timeout: float = 0.0,
    whole: bool = False,
) -> RunOptions:
    """The run options given on the command line; ``rule``: the options of ``RULE`` by name.

    ``beside``: a folder of the site's executables; ``timeout``: maximum seconds of a launch of
    these, 0 if derived. ``whole``: whether every cell is measured at least once, whatever the
    budget. Raises AssayError for an unknown suite.
    """
    factors = [*words, f"ppn={ppn}"] if ppn else list(words)
    plan = os.path.abspath(find_plan(suite))  # noqa: PTH100
    given: dict[str, Any] = dict(rule or {})
    return RunOptions(
        plan=plan,
        words=factors,
        nodes=nodes,
        seed=seed,
        app=app,
        beside=str(beside.absolute()) if beside else None,
        timeout=timeout,
        whole=whole,
        **given,
    )


def plan_here(options: RunOptions, context: PlanContext) -> Plan:
    """The plan on the machine at hand, or on those hosts of a job that answer.

    Raises AssayError.
    """
    return _plan(options, context, Source(dict(options.texts)), lenient=False)


def plan_requested(options: RunOptions, context: PlanContext) -> Plan:
    """As ``plan_here``, for the machine of the command line: what it requests has to be there.

    Raises AssayError if it has fewer nodes, or if no cell uses all of them.
    """
    most = _most(options)
    if most and most > context.nodes and not context.unlimited:
        raise AssayError(
            f"There {'is' if context.nodes == 1 else 'are'} {counted(context.nodes, 'node')}.",
            where=f"--nodes {options.nodes}",
            fix=_MORE_NODES,
        )
    plan = plan_here(options, context)
    largest = max(cell.placement.nodes for cell in plan.cells)
    if most and largest < most:
        raise AssayError(
            f"No cell of '{plan.name}' runs on more than {counted(largest, 'node')} here.",
            where=f"--nodes {options.nodes}",
            fix=f"Request --nodes {largest}, or nodes={most} for all measures of the plan.",
        )
    return plan


def plan_elsewhere(
    options: RunOptions, context: PlanContext, config: Config
) -> tuple[Plan, dict[str, str]]:
    """The plan for other nodes, as far as known here, and the texts it is read from.

    Their number is the one requested, or the maximum that the plan names. Their resources are
    unknown, so no cell is refused for lack of them.
    """
    source = Source(dict(options.texts))
    most = _most(options) or most_nodes(Path(options.plan), read_words(options.words), source)
    there = dataclasses.replace(
        context,
        nodes=most,
        memory=None,
        adapters=None,
        toolchains=tuple(dict.fromkeys((*context.toolchains, *config.toolchains))),
    )
    return _plan(options, there, source, lenient=True), source.texts


def _levels(options: RunOptions) -> tuple[Written, ...]:
    return read_words([f"nodes={options.nodes}"])["nodes"] if options.nodes else ()


def _most(options: RunOptions) -> int | None:
    """The maximum number of nodes requested; None if no number was given."""
    levels = _levels(options)
    return max(map(count_named, levels)) or None if levels else None


def _plan(options: RunOptions, context: PlanContext, source: Source, *, lenient: bool) -> Plan:
    most = _most(options)
    if context.unlimited:
        context = dataclasses.replace(context, nodes=most or 1)
    if most:
        context = dataclasses.replace(context, nodes=min(context.nodes, most))
    plan = load_plan(
        Path(options.plan),
        context,
        options.seed,
        read_words(options.words),
        nodes=_levels(options) or None,
        source=source,
        lenient=lenient,
        app=options.app,
        changes={word: getattr(options, word) for word in RULE}
        | {WHOLE: "yes" if options.whole else None},
    )
    if options.beside is None:
        return plan
    from assay.plans.beside.matching import plan_beside

    return plan_beside(plan, Path(options.beside), options.timeout)


def run_request(
    options: RunOptions,
    texts: dict[str, str],
    *,
    command: list[str],
    seed: int,
    config: Config,
    fake: Path | None,
    report: bool,
    job: JobShape | None = None,
    scheduler: SchedulerConfig | None = None,
    members: int | None = None,
    hosts: list[str] | None = None,
) -> RunRequest:
    """The options with all that a job needs; ``texts``: the files that the plan was read from."""
    known = msgspec.structs.asdict(options) | {"texts": texts, "seed": seed}
    return RunRequest(
        **known,
        schema=REQUEST_SCHEMA,
        run="",
        utc=time.time(),
        assay=__version__,
        tag=secrets.token_hex(3),
        command=command,
        folder=str(Path.cwd()),
        config=str(config.path.absolute()) if config.path else None,
        fake=str(fake.absolute()) if fake else None,
        report=report,
        job=job,
        scheduler=scheduler,
        members=members,
        hosts=hosts,
        node_groups=config.system.groups,
    )


# Seconds that a job needs besides measuring. The values are generous: a job that requests too much
# waits a little longer in the queue, one that requests too little is cut short.
SURVEY = 60.0  # survey of the nodes, where there are several
BUILDING = 900.0  # the kernels with one toolchain, on a slow file system
LAUNCH = 5.0  # starting and ending ranks on few nodes
LAUNCH_NODE = 0.02  # additionally for each node
# Tables, report, seal: they take longer for more samples, up to a maximum.
CLOSING, CLOSING_SHARE, LONGEST_CLOSING = 30.0, 0.1, 120.0
SPARE = 1.25  # safety factor
MINUTE = 60.0
STARTING = 15.0  # from the job's begin until it measures or surveys
# Part of its walltime that a job reserves for ending: a share, and a maximum in seconds.
ENDING_SHARE, ENDING = 0.1, 120.0


@dataclass(frozen=True)
class JobEstimate:
    """The jobs that a plan needs; times in seconds.

    ``measuring``: in total. ``besides``: in each job besides measuring. ``walltime``: requested by
    each job. ``jobs``: number of jobs in each of the ``sessions``. ``every``: interval between the
    beginnings of sessions.
    """

    nodes: int
    measuring: float
    besides: float
    walltime: float
    jobs: int
    sessions: int = 1
    every: float = 0.0

    @property
    def seconds(self) -> float:
        """The walltime that a single job per session would request without a limit."""
        return minutes(SPARE * (self.measuring + self.besides))


def estimate(
    plan: Plan, *, compiling: float | None = None, longest: float = math.inf
) -> JobEstimate:
    """The resources to request from a scheduler, see docs/methods/campaigns.md.

    ``compiling``: seconds that the first job may need to compile kernels; None: ``BUILDING`` for
    each toolchain. ``longest``: seconds that one job may request.
    """
    groups = {(cell.toolchain, cell.placement) for cell in plan.cells}
    nodes = max(cell.placement.nodes for cell in plan.cells)
    budget = plan.replication.budget
    if plan.replication.whole:
        budget = max(budget, first_launches(plan).seconds)
    # The last launches may exceed the budget.
    measuring = budget + sum(LAUNCH + LAUNCH_NODE * placement.nodes for _, placement in groups)
    if compiling is None:
        compiling = BUILDING * len(built_toolchains(plan))
    closing = min(CLOSING + CLOSING_SHARE * budget, LONGEST_CLOSING)
    besides = STARTING + (SURVEY if nodes > 1 else 0.0) + closing + compiling
    whole = minutes(SPARE * (measuring + besides))
    one = JobEstimate(
        nodes=nodes,
        measuring=measuring,
        besides=besides,
        walltime=whole,
        jobs=1,
        sessions=plan.replication.planned,
        every=plan.replication.every or 0.0,
    )
    if whole <= longest:
        return one
    # The kernels are built only in the first job. At least 10% of each job goes into measuring.
    usable = longest - min(ENDING, ENDING_SHARE * longest) - STARTING
    each, first = max(usable, 0.1 * longest), max(usable - compiling, 0.1 * longest)
    jobs = 1 + math.ceil(max(measuring - first, 0.0) / each)
    return dataclasses.replace(one, walltime=longest, jobs=jobs)


def built_toolchains(plan: Plan) -> set[str]:
    """The toolchains that a plan needs kernels of."""
    return {cell.toolchain for cell in plan.cells} - {OWN_TOOLCHAIN}


def minutes(seconds: float) -> float:
    """Seconds rounded up to whole minutes, the unit of most schedulers."""
    return MINUTE * math.ceil(seconds / MINUTE)
