"""Detecting the batch scheduler."""

from __future__ import annotations

import shutil

from assay.config import Config
from assay.errors import AssayError, nearest
from assay.schedulers import schedulers
from assay.schedulers.model import BatchScheduler


def scheduler_for(config: Config) -> BatchScheduler | None:
    """The scheduler that the config names, else the first with commands on PATH, else None.

    Raises AssayError if the named scheduler is unknown or its command is missing.
    """
    named = config.scheduler.kind if config.scheduler else None
    if named is None:
        return next((scheduler() for scheduler in schedulers() if scheduler.is_here()), None)
    known = {scheduler.kind: scheduler for scheduler in schedulers()}
    where = config.where("scheduler", "kind")
    if named not in known:
        raise AssayError(
            f"[scheduler] names '{named}', which is not a scheduler that assay knows.",
            where=where,
            fix=nearest(named, known),
        )
    scheduler = known[named]
    if shutil.which(scheduler.command) is None:
        raise AssayError(
            f"[scheduler] names {named}, but there is no command `{scheduler.command}` here.",
            where=where,
            fix="Load the module with the scheduler's commands, or name another.",
        )
    return scheduler()
