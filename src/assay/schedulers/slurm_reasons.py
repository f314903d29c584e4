"""Why a Slurm job waits: which reasons resolve by themselves, and which need a person's action.

squeue(1), JOB REASON CODES, and the names in Slurm's job_reason_codes.c.
"""

from __future__ import annotations

import re

from assay.schedulers.model import Prospect

# Slurm's own words: "a dependency that will never be satisfied", "can not be satisfied".
_NEVER = {"DependencyNeverSatisfied"}
_HELD = re.compile(
    r"JobHeld(?:User|Admin)|JobHoldMaxRequeue|launch failed requeued held"
    r"|job requeued in held state|REQUEUE_HOLD|SPECIAL_EXIT|RESV_DEL_HOLD|ReservationDeleted",
    re.IGNORECASE,
)
# The job requests more than a limit allows for one job, or something that does not exist.
_LIMITED = re.compile(
    r"Partition(?:Node|Time)Limit|BadConstraints|Invalid(?:Account|QOS)|(?:Account|QOS)NotAllowed"
    r"|(?:Assoc|QOS)(?:Max|Min)\w*(?:PerJob|PerNode)\w*|(?:Assoc|QOS)MaxWallDuration\w*"
    r"|MaxMemPerLimit|DeadLine|ReservationInvalid"
)


def prospect_of(state: str, reason: str) -> Prospect:
    """What Slurm's reason says about the start of a pending job. ``state``: in Slurm's words."""
    code = reason.partition(":")[0].partition(",")[0].strip()
    if code in _NEVER:
        return "never"
    if _HELD.match(reason) or _HELD.match(state):
        return "held"
    return "limited" if _LIMITED.fullmatch(code) else ""
