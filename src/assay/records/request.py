"""``request.json``: the options of a run whose plan a job makes later, on a compute node."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from assay.config import SchedulerConfig
from assay.plans.app import App

REQUEST_SCHEMA = 1
REQUEST = "request.json"
# The common part of the names of a run's jobs.
TAG = re.compile(r"[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)*", re.ASCII)


class JobShape(msgspec.Struct, frozen=True):
    """The resources that each job of a run requests: nodes, and the expected time of a session.

    ``seconds``: of all jobs of a session together. ``longest``: the maximum for one job, null
    without a limit.
    """

    nodes: int
    seconds: float
    longest: float | None = None


class RunOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options that determine a plan (``campaign/requests/run_request.py``).

    ``plan``: the suite's or plan's file; ``texts``: its content and that of included plans, by
    path, if known. ``words``: factors that replace the plan's own. ``nodes``: counts of nodes for
    the measures that name none, such as "1,2,4"; the largest is the value of "all" in plans.
    ``budget``, ``precision``, ``launches``, ``duration``, ``every``, ``sessions``: as on the
    command line. ``whole``: whether every cell is measured at least once, whatever the budget.
    ``app``: a command in place of the plan's kernels. ``beside``: the folder of the site's
    executables to measure beside the kernels; ``timeout``: maximum seconds of a launch of these, 0
    if derived.
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
    whole: bool = False
    seed: int | None = None
    app: App | None = None
    beside: str | None = None
    timeout: float = 0.0


class RunRequest(RunOptions, frozen=True, kw_only=True):
    """The options and further data that a job needs. Written once, when the directory is created.

    ``tag``: the common part of the names of its jobs. ``folder``: the working directory of the
    command. ``config``, ``fake``: the paths of assay.toml and of a scenario. ``report``: whether to
    write one. ``job``, ``scheduler``: for its jobs; null without jobs. ``members``: for a group,
    the number of nodes, each with its own run; null for a single run.
    ``hosts``: the members' nodes, by number, if they are named. ``node_groups``: groups of
    nodes as in ``[system.groups]`` of assay.toml.
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
    hosts: list[str] | None = None
    node_groups: dict[str, dict[str, str]] = {}

    @property
    def suite(self) -> str:
        """The plan's name."""
        return Path(self.plan).stem
