"""``assay runs --clean``: list and end leftover jobs and parts of labs.

A job counts only if a run's ``jobs.jsonl`` has its id and the scheduler reports its submitted name,
since schedulers reuse ids over the years.
"""

from __future__ import annotations

import re

import msgspec

from assay.campaign.jobs.batch import scheduler_of
from assay.config import Config
from assay.errors import AssayError
from assay.lab.cluster import remove_leftovers
from assay.lab.network import orphaned_namespaces
from assay.records.access.trust import NotTrusted, check_trusted_run
from assay.records.directory import RunDirectory
from assay.records.jobs import JobBook
from assay.schedulers.model import SchedulerSilent


class Leftover(msgspec.Struct, frozen=True):
    """A job that still exists, or a part of a lab whose owner has ended."""

    #: Kind of leftover: ``job`` or ``lab``.
    kind: str
    #: Id of the job, or name of the namespace.
    name: str
    #: State as reported by the scheduler.
    state: str
    #: Name of the job's run.
    run: str | None = None
    #: Whether this command ended it.
    ended: bool = False


def leftovers(
    runs: list[RunDirectory], config: Config, others: list[str], *, end: bool
) -> list[Leftover]:
    """The leftovers.

    ``end``: end them. ``others`` receives a sentence for each run whose jobs are not touched, since
    another user may have written it. Raises AssayError, including SchedulerSilent.
    """
    found = [each for run in runs for each in _jobs(run, config, others, end=end)]
    labs = sorted(orphaned_namespaces())
    if end and labs:
        remove_leftovers()
    return found + [Leftover("lab", name, "its owner has ended", ended=end) for name in labs]


def _is_named(reported: str, tag: str, number: int) -> bool:
    """Whether the scheduler's name of a job matches the run's job.

    Some schedulers add the task's number in brackets or cut long names, but they keep the tag.
    """
    name = f"assay-{tag}-{number}"
    whole = re.fullmatch(rf"{re.escape(name)}(?:\[.*)?", reported) is not None
    return whole or (len(reported) > len(f"assay-{tag}") and name.startswith(reported))


def _jobs(run: RunDirectory, config: Config, others: list[str], *, end: bool) -> list[Leftover]:
    book = JobBook(run.path)
    stories = [story for story in book.jobs() if story.job and story.ended is None]
    try:
        request = run.request() if stories else None
    except AssayError:  # of another version, which this version can't read
        return []
    if request is None:
        return []
    try:
        check_trusted_run(run.path)
    except NotTrusted as error:
        others.append(str(error))
        return []
    scheduler = scheduler_of(request.scheduler or config.scheduler)
    ids = [story.job for story in stories]
    try:
        known = scheduler.status(ids)
        names = scheduler.names(ids)
    except SchedulerSilent:
        raise
    except AssayError as error:
        others.append(f"{run.path}: {error}")
        return []
    found = []
    for story in stories:
        status = known.get(story.job)
        if status is None or status.state not in ("queued", "running"):
            continue
        if not _is_named(names.get(story.job, ""), request.tag, story.number):
            continue
        if end:
            scheduler.cancel([story.job])
        found.append(Leftover("job", story.job, status.state, run.name, ended=end))
    return found
