"""Launches of the fake executor: orders, scenarios, and their results."""

from __future__ import annotations

from assay.launch.executor import LaunchOrder
from assay.launch.fake.executor import FakeExecutor
from assay.launch.fake.scenario import (
    Behaviour,
    Scenario,
)
from assay.model.placement import Placement
from assay.records.schema import Job, MeasurementOrder
from assay.records.stream import read_stream


def entry(name="m-0", kernel="network.pingpong", **options):
    values = {
        "measurement": name,
        "kernel": kernel,
        "parameters": {"bytes": 8},
        "precision": -1.0,  # never reached
        "confidence": 0.95,
        "budget": 1e9,
        "min_samples": 5,
        "max_samples": 1000,
    }
    return MeasurementOrder(**{**values, **options})


def order(tmp_path, *entries, placement=None, launch="L1", timeout=1e9, toolchain="embedded"):
    job = Job(1, launch, 1, "compact", 1, list(entries) or [entry()])
    placement = placement or Placement(ppn=2)
    return LaunchOrder(launch, toolchain, placement, job, tmp_path / f"{launch}.jsonl", timeout)


def run(scenario, work):
    record = FakeExecutor(scenario).start(work).wait(10)
    assert record is not None
    return record, read_stream(work.stream)


def behave(launch_time=0.1, **options):
    """A machine with a perfect clock and one behaviour."""
    return Scenario(
        kernel=(Behaviour(**options),),
        launch_time=launch_time,
        clock_resolution=0.0,
        clock_overhead=0.0,
    )


def measure(tmp_path, scenario, **options):
    work = order(tmp_path, entry(**options))
    work.stream.unlink(missing_ok=True)
    record, stream = run(scenario, work)
    assert record.outcome == "complete"
    assert stream.finished
    return stream.measurements[0]


def values(record):
    return record.series[0].values
