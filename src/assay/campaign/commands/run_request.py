"""What a person asked ``assay run`` for, and the plan that comes of it on a given machine."""

from __future__ import annotations

import dataclasses
import math
import os
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay import __version__
from assay.config import Config, SchedulerConfig
from assay.model.cell import OWN_TOOLCHAIN
from assay.model.plan import Plan, PlanContext
from assay.plans.app import App
from assay.plans.levels import Written
from assay.plans.suites import Source, count_named, find_plan, load_plan, most_nodes
from assay.plans.words import read_words
from assay.records.request import REQUEST_SCHEMA, JobShape, RunRequest

# The options that change a plan's replication rule.
RULE = ("budget", "precision", "launches", "duration", "every", "sessions")


@dataclass(frozen=True)
class RunOptions:
    """The words of ``assay run``, as far as a plan follows from them.

    ``nodes``: counts of nodes for the measures that name none, such as "1,2,4"; the largest is what
    plans call all nodes. ``members``: how many nodes measure themselves, each by itself. ``app``: a
    command in the place of the plan's kernels.
    """

    plan: Path
    words: tuple[str, ...] = ()
    nodes: str | None = None
    budget: str | None = None
    precision: str | None = None
    launches: str | None = None
    duration: str | None = None
    every: str | None = None
    sessions: str | None = None
    seed: int | None = None
    texts: Mapping[str, str] = dataclasses.field(default_factory=dict)
    app: App | None = None

    @classmethod
    def of(
        cls,
        suite: str,
        words: tuple[str, ...],
        *,
        nodes: str | None = None,
        ppn: str | None = None,
        seed: int | None = None,
        rule: Mapping[str, str | None] | None = None,
        app: App | None = None,
    ) -> RunOptions:
        """From the command line; ``rule``: what of ``RULE`` was given.

        Raises AssayError for a suite that there isn't.
        """
        factors = (*words, f"ppn={ppn}") if ppn else words
        plan = Path(os.path.abspath(find_plan(suite)))  # noqa: PTH100
        given: dict[str, Any] = dict(rule or {})
        return dataclasses.replace(cls(plan, factors, nodes, seed=seed, app=app), **given)

    @classmethod
    def again(cls, request: RunRequest) -> RunOptions:
        """From a request, with the plan's text as it was then."""
        asked = cls(
            plan=Path(request.plan),
            words=tuple(request.words),
            nodes=request.nodes,
            seed=request.seed,
            texts=request.texts,
            app=request.app,
        )
        return dataclasses.replace(asked, **{word: getattr(request, word) for word in RULE})

    def plan_on(self, context: PlanContext) -> Plan:
        """The plan on a machine that is at hand. Raises AssayError."""
        return self._plan(context, Source(dict(self.texts)), lenient=False)

    def plan_elsewhere(self, context: PlanContext, config: Config) -> tuple[Plan, dict[str, str]]:
        """The plan for other nodes as far as known here, and the texts it is read from.

        Their number is what was asked for, or the most that the plan names; of what they have
        nothing is known, so that nothing is refused for it.
        """
        source = Source(dict(self.texts))
        most = self.most or most_nodes(self.plan, read_words(self.words), source)
        there = dataclasses.replace(
            context,
            nodes=most,
            memory=None,
            adapters=None,
            toolchains=tuple(dict.fromkeys((*context.toolchains, *config.toolchains))),
        )
        return self._plan(there, source, lenient=True), source.texts

    @property
    def most(self) -> int | None:
        """The most nodes asked for; None if nothing was said of them."""
        return max(map(count_named, self._levels)) or None if self._levels else None

    @property
    def _levels(self) -> tuple[Written, ...]:
        return read_words([f"nodes={self.nodes}"])["nodes"] if self.nodes else ()

    def _plan(self, context: PlanContext, source: Source, *, lenient: bool) -> Plan:
        if self.most:
            context = dataclasses.replace(context, nodes=min(context.nodes, self.most))
        return load_plan(
            self.plan,
            context,
            self.seed,
            read_words(self.words),
            nodes=self._levels or None,
            source=source,
            lenient=lenient,
            app=self.app,
            changes=self._rule,
        )

    @property
    def _rule(self) -> dict[str, str | None]:
        return {word: getattr(self, word) for word in RULE}

    def request(
        self,
        texts: Mapping[str, str],
        *,
        command: list[str],
        seed: int,
        config: Config,
        fake: Path | None,
        report: bool,
        job: JobShape | None = None,
        scheduler: SchedulerConfig | None = None,
        members: int | None = None,
    ) -> RunRequest:
        """What a job needs to know of it."""
        return RunRequest(
            schema=REQUEST_SCHEMA,
            run="",
            utc=time.time(),
            assay=__version__,
            tag=secrets.token_hex(3),
            command=command,
            folder=str(Path.cwd()),
            plan=str(self.plan),
            texts=dict(texts),
            words=list(self.words),
            nodes=self.nodes,
            seed=seed,
            config=str(config.path.absolute()) if config.path else None,
            fake=str(fake.absolute()) if fake else None,
            report=report,
            job=job,
            scheduler=scheduler,
            members=members,
            budget=self.budget,
            precision=self.precision,
            launches=self.launches,
            duration=self.duration,
            every=self.every,
            sessions=self.sessions,
            app=self.app,
        )


# What a job does besides measuring, seconds, each taken amply: a job that asks for more than it
# needs waits a little longer in the queue, one that asks for less is cut short.
SURVEY = 60.0  # looking at the nodes
BUILDING = 900.0  # the kernels with one toolchain, on a slow file system
LAUNCH = 5.0  # starting ranks and ending them, on few nodes
LAUNCH_NODE = 0.02  # and for each node
CLOSING = 120.0  # tables, report, seal
SPARE = 1.25  # for what was not thought of
MINUTE = 60.0


@dataclass(frozen=True)
class JobEstimate:
    """The jobs that a plan needs. ``measuring``, ``besides``: seconds; ``besides`` is in each job.

    ``walltime``: what each job asks for; ``jobs``: how many there will be in each of the
    ``sessions``, which begin ``every`` so many seconds.
    """

    nodes: int
    measuring: float
    besides: float
    walltime: float
    jobs: int
    sessions: int = 1
    every: float = 0.0

    @property
    def seconds(self) -> float:
        """What one job of a session would ask for, were there no limit."""
        return minutes(SPARE * (self.measuring + self.besides))


def estimate(plan: Plan, *, building: bool = True, longest: float = math.inf) -> JobEstimate:
    """What to ask a scheduler for, see docs/methods/campaigns.md.

    ``building``: whether kernels may have to be compiled. ``longest``: seconds that one job may
    ask for.
    """
    groups = {(cell.toolchain, cell.placement) for cell in plan.cells}
    nodes = max(cell.placement.nodes for cell in plan.cells)
    # Each cell is measured once whatever the budget, so that a small one is exceeded.
    launching = sum(LAUNCH + LAUNCH_NODE * placement.nodes for _, placement in groups)
    measuring = plan.replication.budget + launching
    toolchains = len({cell.toolchain for cell in plan.cells} - {OWN_TOOLCHAIN})
    besides = SURVEY + CLOSING + (BUILDING * toolchains if building else 0.0)
    whole = minutes(SPARE * (measuring + besides))
    sessions = (plan.replication.planned, plan.replication.every or 0.0)
    if whole <= longest:
        return JobEstimate(nodes, measuring, besides, whole, 1, *sessions)
    # The kernels are built but once; a job in which nothing else fits measures at least something.
    each = max(longest / SPARE - SURVEY - CLOSING, 0.1 * longest)
    first = max(longest / SPARE - besides, 0.1 * longest)
    jobs = 1 + math.ceil(max(measuring - first, 0.0) / each)
    return JobEstimate(nodes, measuring, besides, longest, jobs, *sessions)


def minutes(seconds: float) -> float:
    """Rounded up to whole minutes, in which most schedulers count; in seconds."""
    return MINUTE * math.ceil(seconds / MINUTE)
