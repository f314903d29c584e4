"""``assay runs --clean``: what is left of runs that nobody needs any more, and its end.

Only jobs count that a run here has submitted itself: its ``jobs.jsonl`` names them, and the
scheduler calls them by the name that they were given. Ids are used again over the years.
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
    """A job that still exists, or a part of a lab whose owner is dead.

    ``kind``: ``job`` or ``lab``. ``name``: the job's id, or the namespace's name. ``state``: as the
    scheduler says. ``run``: whose job it is. ``ended``: whether it was ended now.
    """

    kind: str
    name: str
    state: str
    run: str | None = None
    ended: bool = False


def leftovers(runs: list[RunDirectory], config: Config, *, end: bool) -> list[Leftover]:
    """What is left, and ``end``: end it. Raises AssayError, SchedulerSilent among them."""
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
    except AssayError:  # of another version: not ours to judge
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
        # Some schedulers cut long names, or add the task's number: the tag tells whose it is.
        if not names.get(story.job, "").startswith(f"assay-{request.tag}"):
            continue
        if end:
            scheduler.cancel([story.job])
        found.append(Leftover("job", story.job, status.state, run.name, ended=end))
    return found
