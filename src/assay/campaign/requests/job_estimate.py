"""Estimates the jobs that a plan needs: their number, their nodes and their walltime."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

from assay.campaign.budget.announcement import first_launches
from assay.campaign.machine.expected_builds import BUILDING
from assay.model.cell import OWN_TOOLCHAIN
from assay.model.plan import Plan

# Seconds that a job needs in addition to measuring. The values are generous: a job that requests
# too much time waits slightly longer in the queue, but a job that requests too little is cut short.
SURVEY = 60.0  # survey of the nodes, if there are several
LAUNCH = 5.0  # starting and ending ranks on few nodes
LAUNCH_NODE = 0.02  # additionally for each node
# Tables, report and seal, which take longer for more samples, up to a maximum.
CLOSING, CLOSING_SHARE, LONGEST_CLOSING = 30.0, 0.1, 120.0
SPARE = 1.25  # safety factor
MINUTE = 60.0
STARTING = 15.0  # from the job's start until it measures or surveys
# Part of a job's walltime that is reserved for ending: a share, and a maximum in seconds.
ENDING_SHARE, ENDING = 0.1, 120.0


@dataclass(frozen=True)
class JobEstimate:
    """The jobs that a plan needs; times in seconds."""

    nodes: int
    #: Time in total, s.
    measuring: float
    #: Time in each job in addition to measuring, s.
    besides: float
    #: Walltime that each job requests, s.
    walltime: float
    #: Number of jobs in each of the ``sessions``.
    jobs: int
    sessions: int = 1
    #: Interval between the starts of sessions, s.
    every: float = 0.0

    @property
    def seconds(self) -> float:
        """The walltime (s) that a single job per session would request without a limit."""
        return minutes(SPARE * (self.measuring + self.besides))


def estimate(
    plan: Plan, *, compiling: float | None = None, longest: float = math.inf
) -> JobEstimate:
    """The resources to request from a scheduler (see docs/methods/campaigns.md).

    ``compiling``: seconds that the first job may need to compile kernels; None for ``BUILDING`` for
    each toolchain. ``longest``: maximum seconds that one job may request.
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
    # Only the first job builds the kernels. At least 10% of each job is for measuring.
    usable = longest - min(ENDING, ENDING_SHARE * longest) - STARTING
    each, first = max(usable, 0.1 * longest), max(usable - compiling, 0.1 * longest)
    jobs = 1 + math.ceil(max(measuring - first, 0.0) / each)
    return dataclasses.replace(one, walltime=longest, jobs=jobs)


def built_toolchains(plan: Plan) -> set[str]:
    """The toolchains that must build kernels for a plan."""
    return {cell.toolchain for cell in plan.cells} - {OWN_TOOLCHAIN}


def minutes(seconds: float) -> float:
    """Seconds rounded up to whole minutes, the unit of most schedulers."""
    return MINUTE * math.ceil(seconds / MINUTE)
