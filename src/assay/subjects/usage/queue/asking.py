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
    """The request for the model: texts as on the command line; None if not stated."""

    #: Name of the policy, or TOML file.
    model: str | None = None
    #: ``what_ifs``, ``estimates``: texts; see ``whatif``.
    what_ifs: Sequence[str] = ()
    estimates: str | None = None
    resamples: int | None = None
    seed: int | None = None
    #: Name of a synthetic load. ``jobs``: number of its jobs. ``load``: offered load.
    synthetic: str | None = None
    jobs: int | None = None
    load: float | None = None
    #: Whether to write the load as a script for a Slurm with this number of ``nodes`` and all times
    #: divided by ``scale``. ``jobs`` then limits the script to the first jobs.
    as_slurm: bool = False
    scale: float | None = None
    nodes: int | None = None

    @property
    def wanted(self) -> bool:
        """Whether the model is needed."""
        return bool(self.model or self.what_ifs or self.estimates or self.synthetic)


def check_query(
    query: QueueQuery, usage: UsageQuery, *, logs: bool, run: bool, report: bool = False
) -> None:
    """Raise AssayError for options that don't fit together, before anything is read.

    ``logs``: whether there are logs. ``run``: whether a run is named. ``report``: whether a format
    or file of the report is named.
    """
    if query.synthetic is not None and logs:
        raise AssayError(
            "A synthetic load replaces a log.",
            where="--synthetic",
            fix="Leave out the log, or --synthetic.",
        )
    if query.synthetic is None and not logs:
        raise AssayError("A log is missing.", fix="Name it: assay usage machine.swf.gz.")
    if query.synthetic is None and (
        query.load is not None or (query.jobs is not None and not query.as_slurm)
    ):
        raise AssayError(
            "A number of jobs and an offered load can only be stated for a synthetic load.",
            where="--jobs, --load",
            fix="Add --synthetic lublin and leave out the log.",
        )
    if not query.as_slurm and (query.scale is not None or query.nodes is not None):
        raise AssayError(
            "A scale and a number of nodes can only be stated for a script for a Slurm.",
            where="--scale, --nodes",
            fix="Name the script with --as-slurm FILE.",
        )
    if query.as_slurm and query.what_ifs:
        raise AssayError(
            "A script for a Slurm contains the unchanged load, without what-ifs.",
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
        (usage.since, usage.until, usage.queue, usage.user, usage.cluster, usage.zone)
    ):
        raise AssayError(
            "A synthetic load has no days, queues, users, clusters or time zone.",
            where="--synthetic",
            fix="Leave out --since, --until, --queue, --user, --cluster and --zone.",
        )
    if run and not any(map(refers_to_run, query.what_ifs)):
        raise AssayError(
            "A run is named, but no what-if refers to it.",
            where="--run",
            fix="Add one that does, such as --what-if cov=run:1%, or leave out --run.",
        )
    _check_numbers(query)


def _check_numbers(query: QueueQuery) -> None:
    if query.resamples is not None and not query.what_ifs:
        raise AssayError(
            "Resamples are only used for what-ifs.",
            where="--resamples",
            fix="Add a what-if, such as --what-if nodes=+10%, or leave out --resamples.",
        )
    if query.seed is not None and not query.wanted and not query.as_slurm:
        raise AssayError(
            "A seed is only used with the scheduler's model.",
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

    ``accounts``: accounts of the log; None for a synthetic load. ``replay``: returns the function
    that replays a load; it is called only after all other options are checked. ``steadiness``:
    steadiness of the run to which what-ifs refer. Raises AssayError for wrong options.
    """
    model = model_of(query.model or DEFAULT_MODEL)
    load = load_asked(accounts, usage, query, model)
    context = WhatIfContext(load.machine, steadiness or RunSteadiness())
    what_ifs = [parse_what_if(text, context) for text in query.what_ifs]
    if what_ifs and load.source == "log" and load.start is None:
        raise AssayError(
            "The log has no waits. Its jobs were submitted at unknown times, so the effect of a "
            "change on waits can't be computed.",
            where="--what-if",
            fix="Leave out the what-if. --model easy replays the jobs as if they were submitted "
            "when they started.",
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
        absent=found.records.absent_share or 0.0,
    )
    return dataclasses.replace(found, queue=queue)
