"""The time that a job requests to compile kernels, from builds that were made and nodes seen."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
import pytest

from assay.campaign.machine import expected_builds as module
from assay.campaign.machine.expected_builds import BUILDING, BUSY, expected_builds
from assay.campaign.requests.job_estimate import estimate
from assay.config import Config, SchedulerConfig
from assay.kernels.builds.identity import cpu_kind, source_digest
from assay.kernels.builds.origin import BuildOrigin, StoredBuild
from assay.kernels.builds.partial import About, PartialProgress
from assay.kernels.builds.units import units_of
from assay.kernels.sources import native_sources
from assay.kernels.toolchains import select_toolchain
from assay.records.creation import create_requested
from assay.records.jobs import JobBook, JobEnd, JobEvent
from assay.records.request import REQUEST_SCHEMA, RunRequest
from records_builder import make_cell, make_plan

SHARED = SchedulerConfig(exclusive=False)


@pytest.fixture(autouse=True)
def interrupted(monkeypatch: pytest.MonkeyPatch) -> dict[str, PartialProgress]:
    """The interrupted builds, in place of those in this user's cache."""
    builds: dict[str, PartialProgress] = {}
    monkeypatch.setattr(module, "interrupted_builds", lambda: builds)
    return builds


def test_an_interrupted_build_counts_if_it_is_of_these_sources(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    interrupted: dict[str, PartialProgress],
) -> None:
    monkeypatch.setattr(module, "_builds", lambda name, config: [])
    for sources, share in (("other", 0.0), (source_digest(native_sources()), 0.75)):
        interrupted["key"] = PartialProgress(About("embedded", None, sources), 93, 124, 60.0)
        assert seconds(tmp_path) == BUILDING * (1.0 - share)


def built(monkeypatch: pytest.MonkeyPatch, *builds: tuple[float, float | None, str]) -> None:
    """Builds by their seconds, CPU seconds, and the processor that they are for."""
    toolchain = select_toolchain("embedded", Config())
    found = [
        StoredBuild(
            Path("cache"), BuildOrigin(1, toolchain, "login", "", 0.0, wall, 10, cpu), made, True
        )
        for wall, cpu, made in builds
    ]
    monkeypatch.setattr(module, "_builds", lambda name, config: found)


def seconds(runs: Path, scheduler: SchedulerConfig = SHARED) -> float:
    return expected_builds({"embedded": ["memory.stream"]}, Config(), scheduler, runs).seconds


def test_a_build_in_progress_for_this_processor_saves_no_time_on_another(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    interrupted: dict[str, PartialProgress],
) -> None:
    """Another process may be building other kernels at this moment."""
    built(monkeypatch, (70.0, 140.0, cpu_kind()))
    sources = source_digest(native_sources())
    interrupted["here"] = PartialProgress(About("embedded", cpu_kind(), sources), 93, 124, 60.0)
    assert seconds(tmp_path) == 280.0
    interrupted["there"] = PartialProgress(About("embedded", "another", sources), 62, 124, 60.0)
    assert seconds(tmp_path) == 140.0


def make_group(runs: Path, identity: str) -> None:
    """A group of which one task has ended on a node."""
    request = RunRequest(
        schema=REQUEST_SCHEMA,
        run="",
        utc=time.time(),
        assay="0",
        tag="t",
        command=[],
        folder=str(runs),
        plan="plan.toml",
        members=2,
        scheduler=SHARED,
    )
    run = create_requested(runs, "group", request)
    book = JobBook(run.path)
    book.append(JobEvent("submitted", 1, time.time(), job="7", members=[0, 1]))
    book.write_end(JobEnd(1, time.time(), "complete", host="n1", identity=identity), 1)


def test_without_a_build_a_whole_one_is_expected(tmp_path, monkeypatch) -> None:
    built(monkeypatch)
    found = expected_builds({"embedded": ["memory.stream"]}, Config(), SHARED, tmp_path)
    assert found.seconds == BUILDING and "assay kernels --build" in found.notes[0]


def test_one_core_that_others_use_too_needs_more_than_the_build_took(tmp_path, monkeypatch) -> None:
    """70 s with two cores are 140 s of one, and 280 s of half a core."""
    built(monkeypatch, (70.0, 140.0, "another"))
    assert seconds(tmp_path) == BUSY * 140.0 == 280.0
    assert seconds(tmp_path, SchedulerConfig(exclusive=True)) == BUSY * 70.0
    # What a job of a minute on half a core takes: start, compilation, measuring, launch, tables.
    plan = make_plan([make_cell()], budget=60.0)
    assert estimate(plan, compiling=seconds(tmp_path)).walltime >= 2 * 15 + 280 + 60 + 5 + 2 * 30
    built(monkeypatch, (70.0, None, "another"))  # by an earlier version
    assert 280.0 <= seconds(tmp_path) <= BUILDING
    built(monkeypatch, (700.0, 1400.0, "another"))
    assert seconds(tmp_path) == BUILDING


def test_a_node_of_a_group_makes_its_processor_known(tmp_path, monkeypatch) -> None:
    built(monkeypatch, (70.0, 140.0, cpu_kind()))
    assert seconds(tmp_path) == 280.0  # it is unknown what the nodes are
    make_group(tmp_path, cpu_kind())
    assert seconds(tmp_path) == 0.0
    assert seconds(tmp_path, SchedulerConfig(partition="other", exclusive=False)) == 280.0


def test_a_build_of_other_kernels_does_not_count(tmp_path, monkeypatch) -> None:
    toolchain = select_toolchain("embedded", Config())
    origin = BuildOrigin(1, toolchain, "login", "", 0.0, 70.0, 10, 140.0)
    units = units_of(native_sources(), ["npb.ep"])
    build = StoredBuild(Path("cache"), origin, cpu_kind(), True, units)
    monkeypatch.setattr(module, "_builds", lambda name, config: [build])
    make_group(tmp_path, cpu_kind())
    for kernels, expected in ((["npb.ep"], 0.0), (["npb.ep", "npb.cg"], BUILDING)):
        found = expected_builds({"embedded": kernels}, Config(), SHARED, tmp_path)
        assert found.seconds == expected, kernels


def test_nodes_of_another_processor_are_named(tmp_path, monkeypatch) -> None:
    built(monkeypatch, (70.0, 140.0, cpu_kind()))
    make_group(tmp_path, "another")
    found = expected_builds({"embedded": ["memory.stream"]}, Config(), SHARED, tmp_path)
    assert found.seconds == 280.0 and "on n1" in found.notes[0]


def test_origins_of_earlier_versions_are_read() -> None:
    toolchain = select_toolchain("embedded", Config())
    origin = BuildOrigin(1, toolchain, "login", "", 0.0, 70.0, 10, 140.0)
    content = msgspec.to_builtins(origin)
    del content["cpu"]
    assert msgspec.convert(content, BuildOrigin).cpu is None
