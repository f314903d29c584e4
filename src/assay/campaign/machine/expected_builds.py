"""Predicts before a submission what a job must compile on its nodes."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from assay.config import Config, SchedulerConfig
from assay.errors import AssayError
from assay.kernels.builds.identity import cpu_kind, processor_name, source_digest
from assay.kernels.builds.origin import BuildOrigin, StoredBuild, stored_builds
from assay.kernels.builds.partial import PartialProgress, interrupted_builds
from assay.kernels.builds.units import units_of
from assay.kernels.sources import native_sources
from assay.kernels.toolchains import select_toolchain
from assay.model.cell import OWN_TOOLCHAIN
from assay.records.directory import list_runs
from assay.records.jobs import JobBook, JobEnd, JobEvent
from assay.units import format_duration, listed

# Assumed seconds to build the kernels with one toolchain in a job, on a slow file system.
BUILDING = 900.0
# Number of the newest runs that are searched for the nodes' processor.
_LOOKED_AT = 50
# Assumed ratio of a node's to this machine's build time: nodes may have a slower file system, and
# other jobs on the same cores.
BUSY = 2.0
# Assumed ratio of CPU time to duration, for builds with only a known duration.
_PARALLEL = 4.0


@dataclass(frozen=True)
class ExpectedBuilds:
    """The builds that jobs are expected to make."""

    #: Time that a job may need to compile the kernels, s.
    seconds: float
    #: Sentences for the user on builds that are missing, with the fix.
    notes: tuple[str, ...] = ()


def expected_builds(
    kernels: Mapping[str, Collection[str]],
    config: Config,
    scheduler: SchedulerConfig,
    runs: Path,
) -> ExpectedBuilds:
    """The builds that jobs lack.

    The nodes are assumed to have the processor of earlier jobs in ``runs``. ``kernels``: kernels
    that the jobs measure, by toolchain. Without earlier jobs in this partition, it is unknown
    whether a cached build suits the nodes. The time of this build is then expected (``_seconds``).
    """
    node = _last_node(runs, scheduler)
    # A build from other sources is not continued.
    sources = source_digest(native_sources())
    interrupted = [each for each in interrupted_builds().values() if each.about.sources == sources]
    expected: dict[_Lack, list[_Expected]] = defaultdict(list)
    for name in sorted(kernels.keys() - {OWN_TOOLCHAIN}):
        needed = units_of(native_sources(), kernels[name])
        builds = [build for build in _builds(name, config) if build.holds(needed)]
        if any(node and build.identity in (None, node.identity) for build in builds):
            continue
        # The build time of other kernels says little about these kernels, so the time of all
        # kernels is used.
        known = max((_seconds(build.origin, scheduler) for build in builds), default=None)
        # With a build for this machine's processor, jobs build only for another one. What was
        # compiled for this machine, or is being compiled at this moment, saves them no time.
        built = {cpu_kind()} & {build.identity for build in builds}
        begun = [build for build in interrupted if build.about.identity not in built]
        found = _expected(name, known, node, begun)
        if node is not None and node.identity != cpu_kind():
            expected["foreign"].append(found)
        else:
            expected["unknown" if builds else "missing"].append(found)
    notes = [_note(lack, found, node) for lack, found in expected.items()]
    return ExpectedBuilds(
        sum(each.seconds for found in expected.values() for each in found), tuple(notes)
    )


# Why a job may have to build: the nodes have another processor; there is no build; there is a
# build, but the nodes' processor isn't known.
_Lack = Literal["foreign", "missing", "unknown"]


@dataclass(frozen=True)
class _Expected:
    """The expected time of one build."""

    toolchain: str
    #: Time to allow for a build, s.
    seconds: float
    #: Whether the time comes from an earlier build.
    measured: bool
    #: Share of the build that is already compiled.
    share: float


def _expected(
    name: str,
    known: float | None,
    node: JobEvent | JobEnd | None,
    interrupted: Sequence[PartialProgress],
) -> _Expected:
    whole = min(BUILDING if known is None else known, BUILDING)
    begun = [
        build
        for build in interrupted
        if build.about.toolchain == name
        and (node is None or build.about.identity in (None, node.identity))
    ]
    share = max((build.share for build in begun), default=0.0)
    return _Expected(name, whole * (1 - share), known is not None, share)


def _note(lack: _Lack, found: Sequence[_Expected], node: JobEvent | JobEnd | None) -> str:
    """A sentence on builds that jobs must make, on their time, and on how to avoid them."""
    kernels = f"kernels with the {_toolchains([each.toolchain for each in found])}"
    here = processor_name() or "unknown"
    seconds = sum(each.seconds for each in found)
    about = "about" if all(each.measured for each in found) else "up to"
    time = f"which takes {about} {format_duration(seconds)} of its walltime"
    begun = max(found, key=lambda each: each.share)
    if begun.share:
        time += (
            f" ({100 * begun.share:.0f}% of a build is already compiled, and the job continues it)"
        )
    named = (
        "--for PROCESSOR, with the compiler's name of the processor, such as x86-64-v3 or znver4"
    )
    if lack == "foreign":
        assert node is not None
        return (
            f"The nodes have another processor ({node.processor or 'unknown'}, on {node.host}) "
            f"than this machine ({here}), and no {kernels} are built for it. The job compiles "
            f"them first, {time}. To avoid this, run `assay kernels --build` in an interactive "
            f"job on a node, or build them here: assay kernels --build {named}."
        )
    avoided = (
        "To avoid this, run `assay kernels --build` here if the nodes have this machine's "
        f"processor ({here}). Otherwise run it in an interactive job on a node, or here with "
        f"{named}."
    )
    if lack == "missing":
        return f"The {kernels} are not built yet. The job compiles them first, {time}. {avoided}"
    return (
        f"The {kernels} are built for this machine's processor ({here}). If the nodes have "
        f"another processor, the job compiles them first, {time}. To avoid this, run `assay "
        "kernels --build` in an interactive job on a node."
    )


def _seconds(origin: BuildOrigin, scheduler: SchedulerConfig) -> float:
    """The time that a node may take for a build. With all its cores, this is ``BUSY`` times the
    earlier time. With the cores of one task on shared nodes, this is the CPU time of the compilers.
    """
    used = origin.cpu if origin.cpu is not None else _PARALLEL * origin.seconds
    return BUSY * (origin.seconds if scheduler.exclusive else max(used, origin.seconds))


def _toolchains(names: list[str]) -> str:
    return f"toolchain{'s' if len(names) > 1 else ''} {listed(names)}"


def _builds(name: str, config: Config) -> list[StoredBuild]:
    """The stored builds with a toolchain's current state; none if the toolchain is unknown here."""
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
    """The last job in this partition with a known processor; None if there is none."""
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
