"""``request.json``: the options of a run whose plan a job makes later, on a compute node."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from assay.config import SchedulerConfig
from assay.model.plan import MeasuredContract
from assay.plans.app import App

REQUEST_SCHEMA = 1
REQUEST = "request.json"
# Pattern of the common part of the names of a run's jobs.
TAG = re.compile(r"[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)*", re.ASCII)


class JobShape(msgspec.Struct, frozen=True):
    """The resources that each job of a run requests: nodes, and the expected time of a session."""

    nodes: int
    #: Expected time of all jobs of a session together, s.
    seconds: float
    #: Maximum time of one job, s; null without a limit.
    longest: float | None = None


class RunOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options that determine a plan (``campaign/requests/run_request.py``)."""

    #: The suite's or plan's file.
    plan: str
    #: Content of this file and of included plans, by path, if known.
    texts: dict[str, str] = {}
    #: Factors that replace the plan's factors.
    words: list[str] = []
    #: Numbers of nodes for measures that name none, such as "1,2,4"; the largest is the value of
    #: "all" in plans.
    nodes: str | None = None
    #: ``budget``, ``precision``, ``launches``, ``duration``, ``every``, ``sessions``: as on the
    #: command line.
    budget: str | None = None
    precision: str | None = None
    launches: str | None = None
    duration: str | None = None
    every: str | None = None
    sessions: str | None = None
    #: Whether every cell is measured at least once, regardless of the budget.
    whole: bool = False
    seed: int | None = None
    #: A command in place of the plan's kernels.
    app: App | None = None
    #: Folder of the site's executables that are measured beside the kernels.
    beside: str | None = None
    #: Maximum duration of a launch of these executables, s; 0 if derived.
    timeout: float = 0.0
    #: The contract whose commitments are measured instead of the plan's cells.
    contract: MeasuredContract | None = None


class RunRequest(RunOptions, frozen=True, kw_only=True):
    """The options and further data that a job needs. They are written once, when the directory is
    created.
    """

    schema: int
    run: str
    utc: float
    assay: str
    #: Common part of the names of the run's jobs.
    tag: str
    command: list[str]
    #: The working directory of the command.
    folder: str
    #: ``config``, ``fake``: the paths of assay.toml and of a scenario.
    config: str | None = None
    fake: str | None = None
    #: Whether to write a report.
    report: bool = True
    #: ``job``, ``scheduler``: settings of the run's jobs; null without jobs.
    job: JobShape | None = None
    scheduler: SchedulerConfig | None = None
    #: For a group, the number of nodes, each with its own run; null for a single run.
    members: int | None = None
    #: Nodes of the members, by number, if they are named.
    hosts: list[str] | None = None
    #: Groups of nodes as in ``[system.groups]`` of assay.toml.
    node_groups: dict[str, dict[str, str]] = {}

    @property
    def suite(self) -> str:
        """The plan's name."""
        return "accept" if self.contract is not None else Path(self.plan).stem
