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
from assay.kernels.builds.origin import BuildOrigin, StoredBuild, stored_builds
from assay.kernels.toolchains import select_toolchain
from assay.records.directory import list_runs
from assay.records.jobs import JobBook, JobEnd, JobEvent
from assay.units import listed

# Number of the newest runs in which the nodes' processor is looked for.
_LOOKED_AT = 50
# How much longer a node may take for a build than this machine did: a slower file system, other
# jobs on the same cores.
BUSY = 2.0
# CPU time over duration of builds of which only the latter is known.
_PARALLEL = 4.0


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
    suits the nodes: the time that it took is expected then (``_seconds``).
    """
    node = _last_node(runs, scheduler)
    seconds = 0.0
    missing, foreign = [], []
    for name in sorted(toolchains):
        builds = _builds(name, config)
        suiting = [b for b in builds if node and b.identity in (None, node.identity)]
        if suiting:
            continue
        longest = max((_seconds(b.origin, scheduler) for b in builds), default=BUILDING)
        seconds += min(longest, BUILDING)
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


def _seconds(origin: BuildOrigin, scheduler: SchedulerConfig) -> float:
    """How long a node may take for a build: ``BUSY`` times what it took, with all its cores; with
    those of one task, where nodes are shared, as long as the CPU time of the compilers.
    """
    used = origin.cpu if origin.cpu is not None else _PARALLEL * origin.seconds
    return BUSY * (origin.seconds if scheduler.exclusive else max(used, origin.seconds))


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


def _last_node(runs: Path, scheduler: SchedulerConfig) -> JobEvent | JobEnd | None:
    """The last job in this partition whose processor is known; None without one."""
    for run in itertools.islice(reversed(list_runs(runs)), _LOOKED_AT):
        try:
            request = run.request()
            if request is None or request.scheduler is None:
                continue
            if request.scheduler.partition != scheduler.partition:
                continue
            book = JobBook(run.path)
            for job in reversed(book.jobs()):
                seen = [job.started, *book.task_ends(job.number).values()]
                if found := next((each for each in seen if each and each.identity), None):
                    return found
        except AssayError:
            continue
    return None
