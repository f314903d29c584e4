"""What a job will have to compile on its nodes, as far as it is known before it is submitted."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from assay.campaign.commands.run_request import BUILDING
from assay.config import Config, SchedulerConfig
from assay.errors import AssayError
from assay.kernels.builds.identity import cpu_kind, processor_name
from assay.kernels.builds.origin import StoredBuild, stored_builds
from assay.kernels.toolchains import select_toolchain
from assay.records.directory import list_runs
from assay.records.jobs import JobBook, JobEvent
from assay.units import listed

# Number of the newest runs in which the nodes' processor is looked for.
_LOOKED_AT = 50


@dataclass(frozen=True)
class ExpectedBuilds:
    """``seconds``: that a job may need to compile the kernels. ``notes``: sentences for the user on
    builds that are missing, with the fix.
    """

    seconds: float
    notes: tuple[str, ...] = ()


def expected_builds(
    toolchains: Iterable[str], config: Config, scheduler: SchedulerConfig, runs: Path
) -> ExpectedBuilds:
    """The builds that jobs lack. The nodes' processor is that of earlier jobs in ``runs``.

    If there was no job in this partition, and a build is in the cache, it is unknown whether it
    suits the nodes: the time that it took is expected then.
    """
    node = _last_node(runs, scheduler)
    seconds = 0.0
    missing, foreign = [], []
    for name in sorted(toolchains):
        builds = _builds(name, config)
        suiting = [b for b in builds if node and b.identity in (None, node.identity)]
        if suiting:
            continue
        seconds += max((b.origin.seconds for b in builds), default=BUILDING)
        if node is not None and node.identity != cpu_kind():
            foreign.append(name)
        elif not builds:
            missing.append(name)
    notes = []
    if foreign:
        assert node is not None
        notes.append(
            f"The nodes have another processor ({node.processor or 'unknown'}, on {node.host}) "
            f"than this machine ({processor_name() or 'unknown'}), and there are no kernels for it "
            f"with the {_toolchains(foreign)}: a node compiles them. If nodes have no compiler, "
            "build them here: assay kernels --build --for PROCESSOR, with the compiler's name of "
            "the nodes' processor, such as x86-64-v3 or znver4."
        )
    if missing:
        notes.append(
            f"The kernels with the {_toolchains(missing)} are not built yet: a node compiles them. "
            "`assay kernels --build` builds them here, for this machine's processor "
            f"({processor_name() or 'unknown'}); --for names another."
        )
    return ExpectedBuilds(seconds, tuple(notes))


def _toolchains(names: list[str]) -> str:
    return f"toolchain{'s' if len(names) > 1 else ''} {listed(names)}"


def _builds(name: str, config: Config) -> list[StoredBuild]:
    """The stored builds with a toolchain as it is now; none if it is unknown here."""
    try:
        toolchain = select_toolchain(name, config)
        builds = stored_builds(toolchain, config.toolchains.get(name))
    except AssayError:
        return []
    compiler = (toolchain.cxx, toolchain.cxx_version, toolchain.blas)
    return [
        build
        for build in builds
        if compiler
        == (
            build.origin.toolchain.cxx,
            build.origin.toolchain.cxx_version,
            build.origin.toolchain.blas,
        )
    ]


def _last_node(runs: Path, scheduler: SchedulerConfig) -> JobEvent | None:
    """The start of the last job in this partition whose processor is known; None without one."""
    for run in itertools.islice(reversed(list_runs(runs)), _LOOKED_AT):
        try:
            request = run.request()
            if request is None or request.scheduler is None:
                continue
            if request.scheduler.partition != scheduler.partition:
                continue
            for job in reversed(JobBook(run.path).jobs()):
                if job.started is not None and job.started.identity:
                    return job.started
        except AssayError:
            continue
    return None
