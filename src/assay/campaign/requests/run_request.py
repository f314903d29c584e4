"""The request to ``assay run`` from the command line, and its plan on a machine."""

from __future__ import annotations

import dataclasses
import os
import secrets
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from assay.campaign.requests.contract_plan import contract_plan
from assay.config import Config, SchedulerConfig
from assay.errors import AssayError
from assay.model.plan import Plan, PlanContext
from assay.plans.app import App
from assay.plans.levels import Written
from assay.plans.overrides import WHOLE
from assay.plans.suites import Source, count_named, find_plan, load_plan, most_nodes
from assay.plans.words import read_words
from assay.records.request import REQUEST_SCHEMA, JobShape, RunOptions, RunRequest
from assay.units import counted
from assay.version import VERSION

_MORE_NODES = (
    "Request fewer nodes, add --submit, run it in an allocation, or name hosts in [cluster] of "
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
    """The run options given on the command line.

    ``rule``: the options of ``RULE`` by name. ``beside``: a folder with the site's executables;
    ``timeout``: maximum seconds of their launches, 0 to derive it. ``whole``: whether every cell is
    measured at least once, regardless of the budget. Raises AssayError for an unknown suite.
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
    """The plan on this machine, or on the hosts of a job that answer.

    Raises AssayError.
    """
    return _plan(options, context, Source(dict(options.texts)), lenient=False)


def plan_requested(options: RunOptions, context: PlanContext) -> Plan:
    """Like ``plan_here``, for the machine of the command line, which must have the requested nodes.

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
            fix=f"Use --nodes {largest}, or set nodes={most} in all measures of the plan.",
        )
    return plan


def plan_elsewhere(
    options: RunOptions, context: PlanContext, config: Config
) -> tuple[Plan, dict[str, str]]:
    """The plan for other nodes, as far as known here, and the texts that it is read from.

    The number of nodes is the requested number, or the plan's maximum. The nodes' resources are
    unknown, so no cell is refused for lack of resources.
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
    changes = {word: getattr(options, word) for word in RULE}
    if options.contract is not None:
        return contract_plan(
            options.contract,
            context,
            seed=options.seed,
            app=options.app,
            changes=changes,
            source=source,
            lenient=lenient,
        )
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
        changes=changes | {WHOLE: "yes" if options.whole else None},
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
    """The options with everything that a job needs.

    ``texts``: the files that the plan was read from.
    """
    known = msgspec.structs.asdict(options) | {"texts": texts, "seed": seed}
    return RunRequest(
        **known,
        schema=REQUEST_SCHEMA,
        run="",
        utc=time.time(),
        assay=VERSION,
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
