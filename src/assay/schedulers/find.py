"""Which batch scheduler is here."""

from __future__ import annotations

import shutil

from assay.config import Config
from assay.errors import AssayError, nearest
from assay.schedulers import schedulers
from assay.schedulers.model import BatchScheduler


def scheduler_for(config: Config) -> BatchScheduler | None:
    """The scheduler that the config names, else the one whose commands are found, else None.

    Raises AssayError if the one that is named is unknown or has no commands here.
    """
    named = config.scheduler.kind if config.scheduler else None
    if named is None:
        return next((scheduler() for scheduler in schedulers() if scheduler.is_here()), None)
    known = {scheduler.kind: scheduler for scheduler in schedulers()}
    where = config.where("scheduler", "kind")
    if named not in known:
        raise AssayError(
            f"[scheduler] names '{named}', which is no scheduler that assay knows.",
            where=where,
            fix=nearest(named, known),
        )
    scheduler = known[named]
    if shutil.which(scheduler.command) is None:
        raise AssayError(
            f"[scheduler] names {named}, and there is no command `{scheduler.command}` here.",
            where=where,
            fix="Load what brings the scheduler's commands, or name another.",
        )
    return scheduler()
