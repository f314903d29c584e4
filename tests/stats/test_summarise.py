"""The pieces of a cell's summary: series, metrics, work and sentences, by hand."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from assay.errors import AssayError
from assay.kernels import find_kernel
from assay.kernels.catalogue import Metric
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.records.model import Measurement
from assay.records.schema import MeasurementRecord, SampleSeries
from assay.stats.cells.caveats import CaveatInputs, caveats
from assay.stats.cells.summarise import LeftOut, find_series, metrics_of, steady, work_of
from assay.stats.core.intervals import checked
from assay.stats.repeats.repeats import headline, host_set, number
from records_builder import make_record

STREAM = Cell("memory.stream", {"op": "copy", "elements": 500}, Placement(ppn=2), "fake")
BARRIER = Cell("network.barrier", {}, Placement(ppn=2), "fake")


def series(metric: str, rank: int | None, *values: float, unit: str = "s") -> SampleSeries:
    return SampleSeries(metric, unit, rank, None, [], list(values))


def record_of(*found: SampleSeries, warmup: int = 0) -> MeasurementRecord:
    return msgspec.structs.replace(make_record(BARRIER, 0, [1.0]), series=found, warmup=warmup)


def test_a_statistic_is_of_finite_numbers() -> None:
    assert checked([1, 2]).tolist() == [1.0, 2.0]
    for wrong in ([], [[1.0]], [1.0, np.nan], [np.inf]):
        with pytest.raises(AssayError):
            checked(wrong)
    with pytest.raises(AssayError, match="Value 3 of 4 is nan"):
        checked([1.0, 2.0, np.nan, np.inf])


def test_the_series_of_all_ranks_comes_before_those_of_one() -> None:
    whole, first, second = (series("time", rank, 1.0) for rank in (None, 0, 1))
    assert find_series(record_of(first, whole, second), "time") is whole
    assert find_series(record_of(series("wait", None, 1.0), first), "time") is first
    assert find_series(record_of(first, second), "time") is None
    assert find_series(record_of(whole), "wait") is None


@pytest.mark.parametrize(("warmup", "left"), [(0, [1, 2, 3, 4, 5]), (2, [3, 4, 5]), (4, [3, 4, 5])])
def test_at_most_half_of_the_samples_are_warm_up(warmup: int, left: list[float]) -> None:
    own = series("time", None, 1, 2, 3, 4, 5)
    assert steady(record_of(own, warmup=warmup), own).tolist() == left


def test_a_series_of_another_length_has_no_warm_up() -> None:
    own, other = series("time", None, 1, 2, 3), series("phase", None, 7, 8)
    record = record_of(own, other, warmup=1)
    assert steady(record, other).tolist() == [7, 8]
    with pytest.raises(AssayError, match="time"):
        steady(record, series("time", None, 1, np.nan, 3))


def test_metrics_are_the_catalogues_or_those_of_the_records() -> None:
    kernel = find_kernel("memory.stream")
    assert metrics_of(kernel, []) == list(kernel.metrics)
    records = [
        record_of(series("solve", None, 1.0), series("rate", None, 2.0, unit="1/s")),
        record_of(series("solve", 1, 1.0), series("read", None, 3.0)),
    ]
    expected = [("solve", "s", "less"), ("rate", "1/s", "more"), ("read", "s", "less")]
    found = metrics_of(None, records)
    assert [(m.name, m.unit, m.better) for m in found] == expected
    assert [m.series for m in found] == ["solve", "rate", "read"]


def test_the_headline_is_the_kernels_or_the_first_metric() -> None:
    kernel = find_kernel("memory.stream")
    metrics = list(kernel.metrics)
    assert headline(kernel, metrics).name == kernel.headline != metrics[0].name
    own = Metric("solve", "s", "less", "")
    assert headline(None, [own, metrics[0]]) is own


def test_work_is_that_of_the_parameters_as_resolved() -> None:
    """Bytes of STREAM: words moved, of 8 bytes, for each element of each rank."""
    kernel = find_kernel("memory.stream")
    assert work_of(kernel, "bytes", STREAM, {}) == 2 * 8 * 500 * 2
    assert work_of(kernel, "bytes", STREAM, {"elements": 1000}) == 2 * 8 * 1000 * 2
    assert work_of(kernel, "bytes", STREAM, {"op": "triad"}) == 3 * 8 * 500 * 2
    assert work_of(kernel, "flops", STREAM, {"op": "triad"}) == 2 * 500 * 2


def test_no_work_leaves_a_rate_out() -> None:
    kernel = find_kernel("memory.stream")
    with pytest.raises(LeftOut, match=r"^$"):
        work_of(kernel, "flops", STREAM, {})  # a copy computes nothing
    with pytest.raises(LeftOut, match="is unknown"):
        work_of(kernel, "bytes", STREAM, {"op": "nothing such"})
    with pytest.raises(LeftOut, match="is unknown"):
        work_of(kernel, "messages", STREAM, {})


def test_an_unknown_number_is_nan() -> None:
    assert number(2.5) == 2.5 and number(0.0) == 0.0
    assert np.isnan(number(None))


def test_hosts_are_in_short_each_once_and_in_natural_order() -> None:
    assert host_set(["n10", "n2", "n1", "n2", "n3"]) == "n[1-3,10]"
    assert host_set(iter(["login"])) == "login"


def evidence(launches: int, **changes: object) -> CaveatInputs:
    values = [np.array([1.0, 1.01, 0.99])] * launches
    measurement = Measurement(BARRIER, 0, "0000", 0.0, make_record(BARRIER, 0, [1.0]), None, ())
    given = {
        "cell": BARRIER,
        "measurements": [measurement] * launches,
        "launches": values,
        "medians": np.array([float(np.median(v)) for v in values]),
        "half_width": 0.005,
        "precision": 0.01,
        "confidence": 0.95,
        "stop": "precision",
    }
    return CaveatInputs(**{**given, **changes})


def test_caveats_are_given_where_they_hold_and_in_one_order() -> None:
    few = "5 launches only: there is no 95% interval, which needs 6 launches."
    wide = "Known to ±3% where ±1% was requested: the budget was spent."
    assert caveats(evidence(6)) == []
    assert caveats(evidence(5)) == [few]
    assert caveats(evidence(6, half_width=0.03, stop="budget")) == [wide]
    assert caveats(evidence(5, half_width=0.03, stop="budget")) == [few, wide]
