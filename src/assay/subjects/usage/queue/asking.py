"""The use of a machine with the scheduler's model, as requested on the command line."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from assay.errors import AssayError
from assay.subjects.usage.findings import find
from assay.subjects.usage.model import UsageFindings
from assay.subjects.usage.queue.findings import Replay, Report, find_queue, policy_of
from assay.usage.accounts.reading import Accounts
from assay.usage.analysis.prepared import prepare
from assay.usage.analysis.query import UsageQuery
from assay.usage.queue.load import ReplayedLoad, accounts_of, log_load, synthetic_load
from assay.usage.queue.policies import NamedModel, model_of
from assay.usage.queue.walltimes import RunSteadiness
from assay.usage.queue.whatif import WhatIfContext, parse_what_if, refers_to_run
from assay.usage.workload.as_slurm import SlurmScript, as_slurm

DEFAULT_MODEL = "easy"
DEFAULT_RESAMPLES, DEFAULT_SEED = 100, 1
DEFAULT_JOBS, DEFAULT_PROCESSORS = 10_000, 256


@dataclass(frozen=True)
class QueueQuery:
    """What is asked of the model: texts as on the command line, None where not stated."""

    #: Name or TOML file.
    model: str | None = None
    #: ``what_ifs``, ``estimates``: see ``whatif``.
    what_ifs: Sequence[str] = ()
    estimates: str | None = None
    resamples: int | None = None
    seed: int | None = None
    #: The name of a synthetic load, with its number of ``jobs`` and the offered ``load``.
    synthetic: str | None = None
    jobs: int | None = None
    load: float | None = None
    #: Whether the load is wanted as a script for a Slurm of that many ``nodes``, its times divided
    #: by ``scale``; ``jobs`` are then the first ones.
    as_slurm: bool = False
    scale: float | None = None
    nodes: int | None = None

    @property
    def wanted(self) -> bool:
        """Whether anything is asked of the model."""
        return bool(self.model or self.what_ifs or self.estimates or self.synthetic)


def check_query(
    query: QueueQuery, usage: UsageQuery, *, logs: bool, run: bool, report: bool = False
) -> None:
    """Raise AssayError for options that don't fit together, before anything is read.

    ``logs``: whether there are any; ``run``: whether one is named; ``report``: whether a format or
    file of the report is.
    """
    if query.synthetic is not None and logs:
        raise AssayError(
            "A synthetic load takes the place of a log.",
            where="--synthetic",
            fix="Leave out the log, or --synthetic.",
        )
    if query.synthetic is None and not logs:
        raise AssayError("A log is missing.", fix="Name it: assay usage machine.swf.gz.")
    if query.synthetic is None and (
        query.load is not None or (query.jobs is not None and not query.as_slurm)
    ):
        raise AssayError(
            "Only a synthetic load has a stated number of jobs and load.",
            where="--jobs, --load",
            fix="Write --synthetic lublin with them, instead of a log.",
        )
    if not query.as_slurm and (query.scale is not None or query.nodes is not None):
        raise AssayError(
            "Only a script for a Slurm has a scale and a number of nodes.",
            where="--scale, --nodes",
            fix="Name the script with --as-slurm FILE.",
        )
    if query.as_slurm and query.what_ifs:
        raise AssayError(
            "A script for a Slurm has the load itself, without what-ifs.",
            where="--as-slurm",
            fix="Leave out --what-if.",
        )
    if query.as_slurm and report:
        raise AssayError(
            "A script for a Slurm is written without a report.",
            where="--as-slurm",
            fix="Leave out --output, --format, --html and --json.",
        )
    if query.synthetic is not None and any(
        (usage.since, usage.until, usage.queue, usage.user, usage.zone)
    ):
        raise AssayError(
            "A synthetic load has no days, queues, users or time zone.",
            where="--synthetic",
            fix="Leave out --since, --until, --queue, --user and --zone.",
        )
    if run and not any(map(refers_to_run, query.what_ifs)):
        raise AssayError(
            "No what-if refers to the run.",
            where="--run",
            fix="Write one that does, such as --what-if cov=run:1%, or leave out --run.",
        )
    _check_numbers(query)


def _check_numbers(query: QueueQuery) -> None:
    if query.resamples is not None and not query.what_ifs:
        raise AssayError(
            "Only what-ifs have resamples.",
            where="--resamples",
            fix="Write a what-if, such as --what-if nodes=+10%, or leave out --resamples.",
        )
    if query.seed is not None and not query.wanted and not query.as_slurm:
        raise AssayError(
            "Without the scheduler's model nothing is random.",
            where="--seed",
            fix="Add --model easy or a what-if, or leave out --seed.",
        )
    if query.seed is not None and query.seed < 0:
        raise AssayError("The seed is negative.", where="--seed", fix="Write 0 or more.")
    if query.resamples is not None and query.resamples < 0:
        raise AssayError(
            "The number of resamples is negative.", where="--resamples", fix="Write 0 or more."
        )
    least = 1 if query.synthetic is None else 2
    if query.jobs is not None and not least <= query.jobs <= 10_000_000:
        raise AssayError(
            f"A load can't have {query.jobs:,} jobs.",
            where="--jobs",
            fix=f"Write a number from {least} to 10000000.",
        )
    if query.load is not None and not 0.0 < query.load <= 10.0:
        raise AssayError(
            f"An offered load of {query.load:g} can't be modelled.",
            where="--load",
            fix="Write processor time needed ÷ available, such as 0.9.",
        )


def load_asked(
    accounts: Accounts | None, usage: UsageQuery, query: QueueQuery, model: NamedModel
) -> ReplayedLoad:
    """The load of the log, or the synthetic one. Raises AssayError for wrong options and loads."""
    estimates = query.estimates or "logged"
    seed = DEFAULT_SEED if query.seed is None else query.seed
    if accounts is not None:
        return log_load(
            accounts=accounts,
            data=prepare(accounts, usage),
            query=usage,
            model=model,
            estimates=estimates,
            seed=seed,
        )
    assert query.synthetic is not None, "check_query has found a log or a synthetic load"
    return synthetic_load(
        name=query.synthetic,
        jobs=query.jobs or DEFAULT_JOBS,
        processors=usage.processors or DEFAULT_PROCESSORS,
        load=query.load,
        model=model,
        estimates=estimates,
        seed=seed,
    )


def slurm_script(accounts: Accounts | None, usage: UsageQuery, query: QueueQuery) -> SlurmScript:
    """The load as a script for a Slurm. Raises AssayError for wrong options and loads."""
    model = model_of(query.model or DEFAULT_MODEL)
    load = load_asked(accounts, usage, query, model)
    return as_slurm(
        load.workload,
        load.machine,
        scale=1.0 if query.scale is None else query.scale,
        nodes=query.nodes,
        jobs=query.jobs,
        partitions=[each.name for each in load.machine.partitions],
    )


def find_with_queue(
    accounts: Accounts | None,
    usage: UsageQuery,
    query: QueueQuery,
    replay: Callable[[], Replay],
    *,
    steadiness: RunSteadiness | None = None,
    report: Report = lambda _done, _all: None,
) -> UsageFindings:
    """The findings on the use of a machine, with those of the model.

    ``accounts``: of the log, None for a synthetic load. ``replay``: provides the function that
    replays a load; it is called once everything else that was asked is known to be right.
    ``steadiness``: of the run that what-ifs refer to. Raises AssayError for wrong options.
    """
    model = model_of(query.model or DEFAULT_MODEL)
    load = load_asked(accounts, usage, query, model)
    context = WhatIfContext(load.machine, steadiness or RunSteadiness())
    what_ifs = [parse_what_if(text, context) for text in query.what_ifs]
    if what_ifs and load.source == "log" and load.start is None:
        raise AssayError(
            "The log has no waits: its jobs were submitted at unknown times, so that the effect of "
            "a change on waits can't be computed.",
            where="--what-if",
            fix="Leave it out; --model easy replays the jobs, submitted when they really started.",
        )
    replays = replay()
    first = None
    if accounts is None:
        first = replays(load.workload, load.machine, policy_of(model, load))
        accounts = accounts_of(load, first)
        usage = UsageQuery(processors=load.machine.processors, identify=True)
    found = find(accounts, usage)
    queue = find_queue(
        load,
        model,
        what_ifs,
        replays,
        resamples=DEFAULT_RESAMPLES if query.resamples is None else query.resamples,
        seed=DEFAULT_SEED if query.seed is None else query.seed,
        report=report,
        first=first,
    )
    return dataclasses.replace(found, queue=queue)
