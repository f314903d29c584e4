"""Times that no clock can yield are failed measurements; costs that may be 0 are not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from assay.campaign.commands.finish import exit_status
from assay.kernels import kernels
from assay.records.reading import read_run
from assay.records.schema import TIMED, ImportedRecord, MeasurementRecord, SampleSeries
from assay.records.stream import StreamTail, checked_times, read_stream
from assay.stats.cells.summarise import summarise_cells
from records_builder import (
    make_cell,
    make_launch,
    make_plan,
    make_record,
    make_run,
    make_stream,
)


def _with(record: MeasurementRecord, metric: str, values: Sequence[float]) -> MeasurementRecord:
    series = SampleSeries(metric, "s", None, None, [], list(values))
    return msgspec.structs.replace(record, series=[*record.series, series])


@pytest.mark.parametrize("values", [[-1.0, 0.0, -5.0], [1e-3, 0.0, 1e-3], [1e-3, -1e-9]])
def test_a_cell_with_a_time_that_cannot_be_has_failed_and_the_exit_status_says_so(
    tmp_path: Path, values: list[float]
) -> None:
    cells = [make_cell("network.barrier"), make_cell("network.barrier", 4)]
    run = make_run(tmp_path, make_plan(cells))
    for replicate in range(6):
        launch = f"{replicate:04d}"
        records = [make_record(cells[0], replicate, [1e-3, 2e-3, 1e-3])]
        records.append(msgspec.structs.replace(make_record(cells[1], replicate, values), wall=1.0))
        (run.raw / f"{launch}.jsonl").write_bytes(make_stream(launch, records))
        run.append_launch(make_launch(launch))
    for samples in (True, False):  # in memory, and left in the stream
        good, bad = summarise_cells(read_run(run.path, samples=samples))
        assert good.status == "ok" and good.metrics["time"].n == 6
        assert bad.status == "failed" and bad.metrics == {}
        place, worst = next((n, v) for n, v in enumerate(values, 1) if v <= 0.0)
        assert f"sample {place} of {len(values)} of 'time' is {worst:g} s" in (bad.error or "")
        assert exit_status([good], "failure") == 0
        assert exit_status([good, bad], "failure") == 1


def test_a_growing_stream_is_judged_alike(tmp_path: Path) -> None:
    record = msgspec.structs.replace(make_record(make_cell(), 0, [-1.0]), wall=1.0)
    path = tmp_path / "stream.jsonl"
    path.write_bytes(make_stream("job", [record]))
    [found] = [r for r in StreamTail(path).new() if isinstance(r, MeasurementRecord)]
    assert found.status == "failed" and not found.series
    assert read_stream(path).finished  # the record counts; the launch was complete


def test_costs_that_may_be_zero_are_no_failure() -> None:
    """No interruption occurred, a phase took no time, a command used no CPU time."""
    noise = msgspec.structs.replace(make_record(make_cell("noise.fwq"), 0, [1e-4]), series=[])
    noise = _with(_with(noise, "detour", [0.0, 0.0]), "time", [1e-4, 1e-4])
    assert checked_times(noise) is noise
    npb = _with(make_record(make_cell("npb.cg"), 0, [1.0]), "allreduce", [0.0])
    assert checked_times(npb) is npb
    command = _with(make_record(make_cell("app"), 0, [1.0]), "cpu", [0.0])
    assert checked_times(command) is command
    # Whatever else it reports, the time of an operation is above 0.
    assert checked_times(_with(noise, "time", [0.0])).status == "failed"


def test_which_series_must_be_above_zero_agrees_with_the_catalogue() -> None:
    """Every cost in seconds and every divisor of a rate is, except what may not have happened."""
    nothing_may_happen = {"detour", "spread", "barrier"}
    timed, others = set(), set()
    for kernel in kernels():
        divisors = {metric.series for metric in kernel.metrics if metric.quantity}
        for metric in kernel.metrics:
            cost = (metric.unit, metric.better) == ("s", "less")
            required = cost and not metric.optional and not metric.phase
            required = required and metric.series not in nothing_may_happen
            (timed if required or metric.series in divisors else others).add(metric.series)
    assert timed == TIMED
    assert not others & TIMED


@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_times_are_finite(value: float) -> None:
    assert checked_times(make_record(make_cell(), 0, [1.0, value])).status == "failed"


def test_imported_numbers_are_as_printed(tmp_path: Path) -> None:
    """Another tool's 0.00 µs is its output, not a measurement of assay."""
    cell = make_cell("osu_latency")
    series = SampleSeries("time", "s", None, None, [], [0.0])
    record = ImportedRecord(f"{cell.id}-0", cell.kernel, "osu", "7", {}, [series])
    path = tmp_path / "stream.jsonl"
    path.write_bytes(msgspec.json.encode(record) + b"\n")
    assert read_stream(path).measurements[0].status == "ok"
