"""Finds the times of a plan's cells in earlier runs on the same machine."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from statistics import median

import msgspec

from assay.campaign.cells.effort import sampling_seconds
from assay.campaign.cells.launch_times import launch_overhead
from assay.errors import AssayError
from assay.model.plan import Plan
from assay.records.directory import RunDirectory, list_runs
from assay.records.model import Manifest
from assay.records.reading import measurements_of, read_streams
from assay.records.schema import MeasurementRecord

# Maximum number of runs to search (the newest), and maximum size of the streams of one run: reading
# them must take no longer than a launch.
MOST_RUNS, MOST_BYTES = 5, 8 << 20


def with_earlier_times(plan: Plan, root: Path, system: dict[str, object], fake: str | None) -> Plan:
    """The plan with the times of its cells in the newest runs of a folder, if there are any.

    ``system``: the facts of the machine at hand; ``fake``: the path of its scenario.
    """
    wanted = {cell.id for cell in plan.cells}
    times: dict[str, float] = {}
    overheads: list[float] = []
    looked = 0
    for run in _newest(root):
        if looked == MOST_RUNS or wanted <= times.keys():
            break
        with suppress(AssayError, OSError):
            manifest = run.manifest()
            if not _alike(manifest, system, fake) or manifest.imported:
                continue
            looked += 1
            found, beside = _times_of(run, manifest, wanted)
            times = {**found, **times}
            overheads = overheads or beside
    if not times:
        return plan
    launch = median(overheads) if overheads else 0.0
    return msgspec.structs.replace(plan, earlier=times, launch_time=launch)


def _newest(root: Path) -> list[RunDirectory]:
    try:
        return [run for run in reversed(list_runs(root)) if run.begun]
    except AssayError:
        return []


def _alike(manifest: Manifest, system: dict[str, object], fake: str | None) -> bool:
    """Whether a run was made on the same machine."""
    return manifest.fake == fake and (fake is not None or _host(manifest.system) == _host(system))


def _host(system: dict[str, object]) -> object:
    facts = system.get("os")
    return facts.get("hostname") if isinstance(facts, dict) else None


def _times_of(
    run: RunDirectory, manifest: Manifest, wanted: set[str]
) -> tuple[dict[str, float], list[float]]:
    """Minimum seconds of a measurement by cell id, and seconds of launches outside measurements."""
    if sum(path.stat().st_size for path in run.streams()) > MOST_BYTES:
        return {}, []
    launches = {record.launch: record for record in run.launches()}
    times: dict[str, list[float]] = {}
    overheads = []
    for name, stream in read_streams(run):
        overhead = launch_overhead(launches.get(name), stream)
        if overhead is not None:
            overheads.append(max(overhead, 0.0))
        for measurement in measurements_of([(name, stream)], manifest.plan.cells):
            if measurement.cell.id in wanted and measurement.record.status == "ok":
                times.setdefault(measurement.cell.id, []).append(_least(measurement.record))
    return {name: median(found) for name, found in times.items()}, overheads


def _least(record: MeasurementRecord) -> float:
    """Seconds of a measurement with a single sample."""
    sampling = sampling_seconds(record)
    count = len(record.series[0].values) if record.series else 0
    return record.wall - sampling + (sampling / count if count else 0.0)
