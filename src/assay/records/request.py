"""``request.json``: what was asked of a run whose plan a job makes later, on a compute node."""

from __future__ import annotations

from pathlib import Path

import msgspec

from assay.config import SchedulerConfig
from assay.plans.app import App

REQUEST_SCHEMA = 1
REQUEST = "request.json"


class JobShape(msgspec.Struct, frozen=True):
    """What each job of a run asks for: nodes, and the time that a session of it, or all of a run
    that has but one, is expected to take.

    ``seconds``: of all jobs of a session together. ``longest``: what one job may ask for, null
    without a limit.
    """

    nodes: int
    seconds: float
    longest: float | None = None


class RunOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked for, as far as a plan follows from it (``campaign/commands/run_request.py``).

    ``plan``: the suite's or plan's file; ``texts``: the content of that and of what it includes, by
    path, where that is known. ``words``: factors in the place of the plan's own. ``nodes``: counts
    of nodes for the measures that name none, such as "1,2,4"; the largest is what plans call all
    nodes. ``budget``, ``precision``, ``launches``, ``duration``, ``every``, ``sessions``: as on the
    command line. ``app``: a command in the place of the plan's kernels.
    """

    plan: str
    texts: dict[str, str] = {}
    words: list[str] = []
    nodes: str | None = None
    budget: str | None = None
    precision: str | None = None
    launches: str | None = None
    duration: str | None = None
    every: str | None = None
    sessions: str | None = None
    seed: int | None = None
    app: App | None = None


class RunRequest(RunOptions, frozen=True, kw_only=True):
    """The options with what a job needs besides. Written once, when the run's directory is made.

    ``tag``: what the names of its jobs have in common. ``folder``: where the command was given.
    ``config``, ``fake``: the paths of assay.toml and of a scenario. ``report``: whether one is
    wanted. ``job``, ``scheduler``: of its jobs; null where it runs without any. ``members``: how
    many nodes measure themselves, each in a run of its own; null for a run that is one by itself.
    """

    schema: int
    run: str
    utc: float
    assay: str
    tag: str
    command: list[str]
    folder: str
    config: str | None = None
    fake: str | None = None
    report: bool = True
    job: JobShape | None = None
    scheduler: SchedulerConfig | None = None
    members: int | None = None

    @property
    def suite(self) -> str:
        """The plan's name."""
        return Path(self.plan).stem
