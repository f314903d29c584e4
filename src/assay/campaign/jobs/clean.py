"""``assay runs --clean``: list and end leftover jobs and parts of labs.

A job counts only if a run's ``jobs.jsonl`` has its id and the scheduler reports the name under
which it was submitted: schedulers reuse ids over the years.
"""

from __future__ import annotations

import msgspec

from assay.campaign.jobs.batch import scheduler_of
from assay.config import Config
from assay.errors import AssayError
from assay.lab.cluster import remove_leftovers
from assay.lab.network import orphaned_namespaces
from assay.records.directory import RunDirectory
from assay.records.jobs import JobBook


class Leftover(msgspec.Struct, frozen=True):
    """A job that still exists, or a part of a lab whose owner has ended.

    ``kind``: ``job`` or ``lab``. ``name``: the job's id, or the namespace's name. ``state``: as the
    scheduler reports it. ``run``: the run of the job. ``ended``: whether it was ended now.
    """

    kind: str
    name: str
    state: str
    run: str | None = None
    ended: bool = False


def leftovers(runs: list[RunDirectory], config: Config, *, end: bool) -> list[Leftover]:
    """The leftovers; ``end``: end them. Raises AssayError, including SchedulerSilent."""
    found = [each for run in runs for each in _jobs(run, config, end=end)]
    labs = sorted(orphaned_namespaces())
    if end and labs:
        remove_leftovers()
    return found + [Leftover("lab", name, "its owner has ended", ended=end) for name in labs]


def _jobs(run: RunDirectory, config: Config, *, end: bool) -> list[Leftover]:
    book = JobBook(run.path)
    stories = [story for story in book.jobs() if story.job and story.ended is None]
    try:
        request = run.request() if stories else None
    except AssayError:  # of another version, not readable here
        return []
    if request is None:
        return []
    scheduler = scheduler_of(request.scheduler or config.scheduler)
    ids = [story.job for story in stories]
    known = scheduler.status(ids)
    names = scheduler.names(ids)
    found = []
    for story in stories:
        status = known.get(story.job)
        if status is None or status.state not in ("queued", "running"):
            continue
        # Some schedulers cut long names or add the task's number: the tag identifies the run.
        if not names.get(story.job, "").startswith(f"assay-{request.tag}"):
            continue
        if end:
            scheduler.cancel([story.job])
        found.append(Leftover("job", story.job, status.state, run.name, ended=end))
    return found
