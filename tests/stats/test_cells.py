"""Cells from measurements with planted values: levels, warm-up, rates, caveats, failures."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import pytest
from scipy.special import ndtr

from assay.campaign.commands.finish import exit_status
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.model.plan import Plan
from assay.model.replication import Replication
from assay.records.model import LaunchRecord, Manifest, Measurement, RunData
from assay.records.schema import (
    ClockRecord,
    MeasurementRecord,
    RankRecord,
    SampleSeries,
    Verification,
)
from assay.stats.cells.caveats import drift
from assay.stats.cells.resolution import resolution_of
from assay.stats.cells.summarise import launch_value, record_value, summarise_cells
from assay.stats.core.correlation import effective_size
from assay.stats.core.intervals import median_interval
from assay.stats.core.model import CellSummary

DGEMM = Cell("compute.dgemm", {"n": 100}, Placement(ppn=2), "fake")
BARRIER = Cell("network.barrier", {}, Placement(ppn=2), "fake")
PINGPONG = Cell("network.pingpong", {"bytes": 0}, Placement(ppn=2), "fake")
OUTSIDE = Cell("site.solver", {"size": 3}, Placement(ppn=2), "fake")
CLOCK = ClockRecord(source="fake", overhead=2e-8, resolution=1e-9)


def seat(rank: int, **changes: object) -> RankRecord:
    record = RankRecord(
        rank=rank,
        host="node1",
        pid=100 + rank,
        local_rank=rank,
        cpus=[2 * rank],
        numa=0,
        pinned=True,
        oversubscribed=False,
    )
    return msgspec.structs.replace(record, **changes)


def series(values: Sequence[float], metric: str = "time", unit: str = "s") -> SampleSeries:
    return SampleSeries(metric, unit, None, None, [0.0] * len(values), list(values))


def measured(
    cell: Cell,
    replicate: int,
    values: Sequence[float] = (),
    *,
    clock: ClockRecord = CLOCK,
    seats: Sequence[RankRecord] = (seat(0), seat(1)),
    **changes: object,
) -> Measurement:
    record = MeasurementRecord(
        measurement=f"{cell.id}-{replicate}",
        kernel=cell.kernel,
        status="ok",
        start=0.0,
        wall=1.0,
        parameters=dict(cell.parameters),
        verified=True,
        batch=1,
        warmup=0,
        stop="precision",
        series=[series(values)] if len(values) else [],
    )
    record = msgspec.structs.replace(record, **changes)
    return Measurement(cell, replicate, f"l{replicate}", 0.0, record, clock, tuple(seats))


def run_of(
    measurements: Sequence[Measurement],
    cells: Sequence[Cell],
    *,
    complete: bool = True,
    launches: Sequence[LaunchRecord] = (),
    **rule: float,
) -> RunData:
    plan = Plan("test", "Test", tuple(cells), msgspec.convert(rule, Replication), 1)
    manifest = Manifest(1, "r", 0.0, "0", [], plan, {}, {})
    return RunData(None, manifest, tuple(measurements), tuple(launches), complete)


def only(*args: object, **kwargs: object) -> CellSummary:
    [summary] = summarise_cells(run_of(*args, **kwargs))
    return summary


def noisy(seed: int, launches: int, samples: int = 30, spread: float = 0.002) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [
        1e-3 * (1 + spread * rng.standard_normal() + 0.01 * rng.standard_exponential(samples))
        for _ in range(launches)
    ]


def crashed(blamed: str | None, outcome: str = "crash") -> LaunchRecord:
    return LaunchRecord("l9", "fake", [], 0.0, 1.0, 139, outcome, "killed by signal 11", blamed)


def test_cost_and_rate_of_launch_medians() -> None:
    launches = noisy(1, 8)
    cell = only([measured(DGEMM, i, v) for i, v in enumerate(launches)], [DGEMM])
    medians = [float(np.median(v)) for v in launches]
    pooled = np.concatenate(launches)
    time, rate = cell.metrics["time"], cell.metrics["rate"]
    assert (time.unit, time.better, rate.unit, rate.better) == ("s", "less", "flop/s", "more")
    assert time.median == pytest.approx(np.median(medians))
    assert time.ci95 == pytest.approx(median_interval(medians))
    assert (time.min, time.max) == (pooled.min(), pooled.max())
    assert (time.p05, time.p95) == pytest.approx(np.quantile(pooled, [0.05, 0.95]))
    assert time.cov == pytest.approx(np.std(medians, ddof=1) / np.mean(medians))
    within = [np.std(v, ddof=1) / np.mean(v) for v in launches]
    assert time.cov_samples == pytest.approx(np.median(within))
    assert (time.n, time.samples) == (8, 240)
    work = 2 * 100**3 * 2  # two ranks
    assert rate.median == pytest.approx(work / time.median)
    assert rate.ci95 == pytest.approx((work / time.ci95[1], work / time.ci95[0]))
    assert (rate.min, rate.max) == pytest.approx((work / pooled.max(), work / pooled.min()))
    assert (rate.p05, rate.p95) == pytest.approx((work / time.p95, work / time.p05))
    assert rate.ci95[0] < rate.median < rate.ci95[1]
    assert rate.p05 < rate.median < rate.p95
    rates = work / np.array(medians)
    assert rate.cov == pytest.approx(np.std(rates, ddof=1) / np.mean(rates))
    assert cell.status == "ok"
    assert cell.verified is True
    assert cell.parameters == {"n": 100}


def test_launches_of_unequal_sizes_count_equally() -> None:
    values = [[float(i)] * (1000 if i == 1 else 5) for i in range(1, 8)]
    metric = only([measured(BARRIER, i, v) for i, v in enumerate(values)], [BARRIER])
    assert metric.metrics["time"].median == 4.0
    assert metric.metrics["time"].samples == 1030


def test_recorded_warmup_is_dropped_but_never_more_than_half() -> None:
    values = [9.0] * 4 + [1.0] * 6
    cell = only([measured(BARRIER, 0, values, warmup=4)], [BARRIER])
    assert (cell.metrics["time"].max, cell.metrics["time"].samples) == (1.0, 6)
    cell = only([measured(BARRIER, 0, values, warmup=9)], [BARRIER])
    assert cell.metrics["time"].samples == 5
    cell = only([measured(BARRIER, 0, values, warmup=None)], [BARRIER])
    assert cell.metrics["time"].samples == 10


def test_resolved_parameters_make_the_work() -> None:
    auto = Cell("memory.stream", {"op": "triad"}, Placement(ppn=2), "fake")
    resolved = {"op": "triad", "elements": 1000, "stores": "nontemporal"}
    cell = only([measured(auto, 0, [2.0], parameters=resolved)], [auto])
    assert cell.metrics["bandwidth"].median == 8 * 3 * 1000 * 2 / 2.0
    assert cell.parameters == resolved


def test_rates_without_work_or_time_are_left_out() -> None:
    cell = only([measured(PINGPONG, 0, [1e-6])], [PINGPONG])
    assert set(cell.metrics) == {"latency"}
    assert not any("bandwidth" in c for c in cell.caveats)
    cell = only([measured(DGEMM, 0, [1e-3, 0.0])], [DGEMM])
    assert set(cell.metrics) == {"time"}
    assert any("No rate" in c and "clock" in c for c in cell.caveats)


def test_outside_programs_series_as_they_are() -> None:
    both = [series([2.0, 4.0], "step"), series([7.0, 9.0], "bandwidth", "B/s")]
    cell = only([measured(OUTSIDE, 0, series=both)], [OUTSIDE])
    assert (cell.metrics["step"].better, cell.metrics["bandwidth"].better) == ("less", "more")
    assert cell.metrics["bandwidth"].median == 8.0
    assert cell.metrics["bandwidth"].unit == "B/s"


def test_series_of_all_ranks_comes_before_single_ranks() -> None:
    mine = msgspec.structs.replace(series([5.0]), rank=0)
    cell = only([measured(BARRIER, 0, series=[mine, series([6.0])])], [BARRIER])
    assert cell.metrics["time"].median == 6.0
    cell = only([measured(BARRIER, 0, series=[mine])], [BARRIER])
    assert cell.metrics["time"].median == 5.0


def test_wrong_result_gives_no_number() -> None:
    found = Verification("residual", 5.0, 1e-9)
    bad = measured(DGEMM, 1, [1.0], verified=False, verification=found)
    cell = only([measured(DGEMM, 0, [1.0]), bad, measured(DGEMM, 2, [1.0])], [DGEMM])
    assert cell.verified is False
    assert cell.metrics == {}
    assert "1 of 3" in cell.caveats[0]
    assert "residual is 5" in cell.error
    nan = Verification("residual", None, 1e-9)
    bad = measured(DGEMM, 0, [1.0], verified=False, verification=nan)
    assert "not a number" in only([bad], [DGEMM]).error


def test_what_could_not_be_checked_is_null() -> None:
    assert only([measured(BARRIER, 0, [1.0], verified=None)], [BARRIER]).verified is None


def test_values_that_are_no_numbers_fail_the_cell_by_name() -> None:
    cell = only([measured(BARRIER, 0, [1.0, float("nan")])], [BARRIER])
    assert (cell.status, cell.metrics) == ("failed", {})
    assert f"{BARRIER.id}-0" in cell.error


def test_failures_and_cells_never_reached() -> None:
    failed = measured(BARRIER, 0, status="failed", error="no memory", verified=None)
    cell = only([failed], [BARRIER])
    assert (cell.status, cell.error, cell.verified) == ("failed", "no memory", None)
    cell = only([], [BARRIER], complete=False)
    assert cell.status == "interrupted"
    cell = only([], [BARRIER], launches=[crashed(f"{BARRIER.id}-0")])
    assert (cell.status, cell.error) == ("failed", "killed by signal 11")
    cell = only([], [BARRIER], launches=[crashed(None)])
    assert cell.status == "failed"
    cell = only([], [BARRIER], launches=[crashed(f"{DGEMM.id}-0")])
    assert cell.status == "interrupted"
    cell = only([measured(BARRIER, 0, [1.0])], [BARRIER], launches=[crashed(f"{BARRIER.id}-1")])
    assert (cell.status, cell.metrics["time"].stop) == ("ok", "failed")
    assert any("1 launch failed: killed by signal 11" in c for c in cell.caveats)


def test_every_cell_of_the_plan_in_its_order() -> None:
    found = [measured(BARRIER, 0, [1.0]), measured(DGEMM, 0, [1.0])]
    ids = [c.id for c in summarise_cells(run_of(found, [DGEMM, PINGPONG, BARRIER]))]
    assert ids == [DGEMM.id, PINGPONG.id, BARRIER.id]


@pytest.mark.parametrize(
    ("spread", "complete", "rule", "stop"),
    [
        (0.001, True, {}, "precision"),
        (0.001, False, {}, "precision"),
        (0.3, True, {"max_launches": 8}, "launches"),
        (0.3, True, {}, "budget"),
        (0.3, False, {}, "interrupted"),
    ],
)
def test_why_it_stopped(spread: float, complete: bool, rule: dict[str, int], stop: str) -> None:
    values = [[1.0 + spread * (-1) ** i] for i in range(8)]
    found = [measured(BARRIER, i, v) for i, v in enumerate(values)]
    cell = only(found, [BARRIER], complete=complete, **rule)
    assert cell.metrics["time"].stop == stop
    sentences = [c for c in cell.caveats if "was requested" in c]
    assert len(sentences) == (stop != "precision")


def test_same_run_same_summaries_whatever_the_order() -> None:
    found = [measured(DGEMM, i, v) for i, v in enumerate(noisy(3, 7))]
    first = msgspec.json.encode(summarise_cells(run_of(found, [DGEMM])))
    assert msgspec.json.encode(summarise_cells(run_of(found, [DGEMM]))) == first
    assert msgspec.json.encode(summarise_cells(run_of(found[::-1], [DGEMM]))) == first


def test_launch_value_is_the_headlines_cost() -> None:
    assert launch_value(measured(DGEMM, 0, [9.0, 1.0, 2.0, 3.0], warmup=1)) == 2.0
    outside = [series([8.0], "bandwidth", "B/s"), series([2.0], "step")]
    assert launch_value(measured(OUTSIDE, 0, series=outside)) == 8.0
    assert launch_value(measured(DGEMM, 0)) is None
    assert record_value(measured(DGEMM, 0, [9.0, 1.0, 2.0, 3.0], warmup=1).record) == 2.0
    assert launch_value(measured(DGEMM, 0, [1.0], status="failed")) is None
    assert launch_value(measured(DGEMM, 0, [float("inf")])) is None


def quiet(launches: int = 6, samples: int = 40) -> list[Measurement]:
    found = noisy(11, launches, samples, spread=0.0002)
    return [measured(BARRIER, i, v, rank_medians=[1e-3, 1e-3]) for i, v in enumerate(found)]


def changed(found: Sequence[Measurement], **changes: object) -> list[Measurement]:
    return [
        Measurement(
            m.cell,
            m.replicate,
            m.launch,
            m.utc,
            msgspec.structs.replace(m.record, **changes),
            m.clock,
            m.ranks,
        )
        for m in found
    ]


def test_a_quiet_cell_has_no_caveat() -> None:
    assert only(quiet(), [BARRIER]).caveats == []


COVARIATES = {"sampling_seconds": 1.0}
CAVEATS = {
    "steal": (changed(quiet(), covariates=COVARIATES | {"steal_seconds": 0.1}), "5% of the CPU"),
    "others": (changed(quiet(), covariates=COVARIATES | {"other_cpu_seconds": 0.5}), "0.5 CPUs"),
    "switches": (
        changed(quiet(), covariates=COVARIATES | {"involuntary_switches": 300.0}),
        "150 times per second",
    ),
    "heat": (changed(quiet(), covariates=COVARIATES | {"throttle_events": 1.0}), "6 times"),
    "throttled device": (
        changed(quiet(), covariates=COVARIATES | {"device_throttled": 0.25}),
        "A device was throttled during 25% of the measurement: it",
    ),
    "reason": (
        changed(
            quiet(),
            covariates=COVARIATES | {"device_throttled": 1.0},
            facts={"device_throttle_reasons": "power limit, power brake"},
        ),
        "during 100% of the measurement (power limit, power brake)",
    ),
    "device memory": (
        changed(quiet(), covariates=COVARIATES | {"device_ecc_uncorrected": 1.0}),
        "Don't trust this cell: 6 uncorrected errors of device memory",
    ),
    "xid": (
        changed(quiet(), covariates=COVARIATES | {"device_xid": 1.0}, facts={"device_xids": "31"}),
        "the driver reported 6 errors of a device during the measurement (XID 31)",
    ),
    "far": (
        changed(quiet(), facts={"far_from_device": "1, 3"}),
        "The CPUs of ranks 1, 3 aren't near the device",
    ),
    "slow rank": (
        changed(quiet(), rank_medians=[1e-3, 1.2e-3]),
        "Rank 1 (host node1, CPU 2) is 20% slower",
    ),
    "few": (quiet(5), "5 launches only"),
}


@pytest.mark.parametrize("name", CAVEATS)
def test_a_caveat_refers_to_its_number(name: str) -> None:
    found, words = CAVEATS[name]
    sentences = only(found, [BARRIER]).caveats
    assert len(sentences) == 1
    assert words in sentences[0]


@pytest.mark.parametrize(
    "covariates",
    [
        {"steal_seconds": 0.005},
        {"steal_seconds": None},
        {"involuntary_switches": 30.0},
        {"other_cpu_seconds": 0.05},
        {"throttle_events": 0.0},
        {"device_throttled": 0.0, "device_ecc_uncorrected": 0.0, "device_xid": 0.0},
        {"device_throttled": None, "device_ecc_uncorrected": None, "device_xid": None},
        # The effect of the counters' 10 ms resolution on a measurement of 4 ms.
        {"sampling_seconds": 0.004, "other_cpu_seconds": 0.01},
        {"sampling_seconds": 0.004, "involuntary_switches": 2.0},
    ],
)
def test_small_disturbances_are_not_reported(covariates: dict[str, float]) -> None:
    found = changed(quiet(), covariates=COVARIATES | covariates)
    assert only(found, [BARRIER]).caveats == []


def test_seats_of_ranks() -> None:
    values = noisy(11, 6, 40, spread=0.0002)

    def sentences(**changes: object) -> list[str]:
        seats = (seat(0), seat(1, **changes))
        found = [measured(BARRIER, i, v, seats=seats) for i, v in enumerate(values)]
        return only(found, [BARRIER]).caveats

    assert ["1 of 2 ranks were not pinned" in c for c in sentences(pinned=False)] == [True]
    assert ["1 of 2 ranks shared" in c for c in sentences(oversubscribed=True)] == [True]


def test_late_starts_and_diverging_clocks() -> None:
    collective = Cell("network.collective", {"op": "bcast", "bytes": 8}, Placement(ppn=2), "fake")
    values = noisy(11, 6, 40, spread=0.0002)

    def sentences(**facts: float) -> list[str]:
        found = [measured(collective, i, v, facts=facts) for i, v in enumerate(values)]
        return only(found, [collective]).caveats

    typical = float(np.median(values))
    assert sentences(late_starts=9, late_kept=0, clock_error=0.009 * typical, clock_domains=2) == []
    [late] = sentences(late_starts=9, late_kept=2)
    assert late.startswith("12 of 240 samples began late on at least one rank")
    [apart] = sentences(clock_error=0.05 * typical)
    assert "hosts' clocks" in apart
    assert "5% of the time" in apart


def test_ranks_with_different_work_are_not_called_slow() -> None:
    bcast = Cell("network.collective", {"op": "bcast", "bytes": 8}, Placement(ppn=2), "fake")
    values = noisy(11, 6, 40, spread=0.0002)
    for cell, caveats in ((BARRIER, 1), (bcast, 0)):
        found = [measured(cell, i, v, rank_medians=[0.5, 1.0]) for i, v in enumerate(values)]
        assert len(only(found, [cell]).caveats) == caveats


def test_coarse_clock() -> None:
    coarse = ClockRecord("coarse", 1e-6, 1e-4)
    values = noisy(11, 6, 40, spread=0.0002)
    found = [measured(BARRIER, i, v, clock=coarse) for i, v in enumerate(values)]
    [known, coarse_clock] = only(found, [BARRIER]).caveats
    assert "the clock's step permits no better" in known
    assert "clock is too coarse" in coarse_clock
    # The same time per operation, but a hundred operations between two clock readings.
    assert only(changed(found, batch=100), [BARRIER]).caveats == []
    # A rate's costs are per flop, far below a tick; the sample's own length counts.
    fine = [measured(DGEMM, i, v) for i, v in enumerate(values)]
    assert only(fine, [DGEMM]).caveats == []


def test_equal_times_are_known_to_the_step_of_the_clock() -> None:
    coarse = ClockRecord("coarse", 1e-7, 1e-6)
    equal = [measured(BARRIER, i, [5e-4] * 30, clock=coarse) for i in range(8)]
    found = only(equal, [BARRIER]).metrics["time"]
    assert (found.median, found.ci95) == (5e-4, pytest.approx((4.99e-4, 5.01e-4)))
    assert found.stop == "precision"  # 0.2%
    # A hundred operations between two readings.
    batched = only(changed(equal, batch=100), [BARRIER]).metrics["time"]
    assert batched.ci95 == pytest.approx((5e-4 - 1e-8, 5e-4 + 1e-8))
    # Of a rate the ends are those of the time, inverted; the coarsest launch counts.
    rates = [measured(DGEMM, i, [5e-4] * 30, clock=coarse if i else CLOCK) for i in range(8)]
    rate = only(rates, [DGEMM]).metrics["rate"]
    assert rate.ci95 == pytest.approx((2e6 / 5.01e-4 * 2, 2e6 / 4.99e-4 * 2))


def test_a_clock_coarser_than_the_precision_leaves_it_unreached() -> None:
    coarse = ClockRecord("coarse", 1e-6, 1e-5)
    equal = [measured(BARRIER, i, [2e-4] * 30, clock=coarse) for i in range(8)]
    cell = only(equal, [BARRIER])
    assert cell.metrics["time"].stop != "precision"
    assert any("±5%" in each and "clock's step" in each for each in cell.caveats)
    # A call shorter than a step, and one of a step: no time below 0, no infinite rate.
    for value in (0.0, 1e-5):
        low, high = (
            only([measured(BARRIER, i, [value] * 30, clock=coarse) for i in range(8)], [BARRIER])
            .metrics["time"]
            .ci95
        )
        assert low == value / 2.0 and high == pytest.approx(value + 1e-5)


@pytest.mark.parametrize("span", [3.25e-5, 7.5e-5, 1.01e-4])
def test_the_interval_holds_the_time_that_a_coarse_clock_rounds(span: float) -> None:
    """Readings are whole steps of 10 µs, at any phase: launches agree on a wrong time."""
    rng, step = np.random.default_rng(8), 1e-5
    begins = rng.uniform(0.0, 1.0, (12, 15))
    times = step * (np.floor((begins + span) / step) - np.floor(begins / step))
    coarse = ClockRecord("coarse", 1e-6, step)
    found = [measured(BARRIER, i, row, clock=coarse) for i, row in enumerate(times)]
    low, high = only(found, [BARRIER]).metrics["time"].ci95
    assert low <= span <= high


def test_imported_values_are_known_to_their_last_digit() -> None:
    printed = SampleSeries("rate", "op/s", None, None, [], [12.3e6], [1], ["12.30"])
    found = [measured(OUTSIDE, i, series=[printed]) for i in range(8)]
    assert only(found, [OUTSIDE]).metrics["rate"].ci95 == pytest.approx((12.29e6, 12.31e6))
    assert resolution_of(found[0], printed) == pytest.approx(1e4)
    for text in ("", "NaN", "0.00", "fast"):
        unknown = msgspec.structs.replace(printed, printed=[text])
        assert resolution_of(found[0], unknown) is None


def test_equal_values_of_unknown_resolution_are_no_statement_of_precision() -> None:
    values = SampleSeries("rate", "op/s", None, None, [], [12.3e6])
    cell = only([measured(OUTSIDE, i, series=[values]) for i in range(8)], [OUTSIDE])
    assert cell.metrics["rate"].ci95 == (12.3e6, 12.3e6)
    assert any("values of its 8 launches are equal" in each for each in cell.caveats)
    varied = [msgspec.structs.replace(values, values=[12.3e6 + 1e3 * i]) for i in range(8)]
    cell = only([measured(OUTSIDE, i, series=[each]) for i, each in enumerate(varied)], [OUTSIDE])
    assert not any("are equal" in each for each in cell.caveats)


def test_dependent_samples() -> None:
    rng = np.random.default_rng(5)
    found = []
    for i in range(6):
        walk = np.empty(400)
        walk[0] = rng.standard_normal()
        for k in range(1, 400):
            walk[k] = 0.9 * walk[k - 1] + 0.44 * rng.standard_normal()
        found.append(measured(BARRIER, i, 1.0 + 1e-4 * walk))
    sentences = only(found, [BARRIER]).caveats
    assert any("depend on their predecessors: the 400 samples" in c for c in sentences)


def test_warmup_still_to_be_seen() -> None:
    rng = np.random.default_rng(6)
    slower = np.where(np.arange(80) < 20, 1.05, 1.0)
    found = [measured(BARRIER, i, slower + 1e-3 * rng.standard_normal(80)) for i in range(6)]
    sentences = only(found, [BARRIER]).caveats
    assert any("Not steady after warm-up in 6 of 6 launches" in c and "+5%" in c for c in sentences)
    assert not any("Not steady" in c for c in only(changed(found, warmup=20), [BARRIER]).caveats)


def test_short_launches_do_not_outvote_what_long_ones_show() -> None:
    rng = np.random.default_rng(6)
    slower = np.where(np.arange(80) < 20, 1.05, 1.0)
    found = [measured(BARRIER, i, slower + 1e-3 * rng.standard_normal(80)) for i in range(3)]
    found += [measured(BARRIER, i, 1.0 + 1e-3 * rng.standard_normal(10)) for i in range(3, 12)]
    sentences = only(found, [BARRIER]).caveats
    assert any("in 3 of 3 launches with enough samples to test" in c for c in sentences)


def test_drifting_launches() -> None:
    found = [measured(BARRIER, i, [1.0 + 1e-4 * i]) for i in range(20)]
    assert any("machine drifts" in c for c in only(found, [BARRIER]).caveats)


def test_drift_is_the_first_quarter_against_the_second_half() -> None:
    rng = np.random.default_rng(7)
    values = 2.0 + 1e-3 * rng.standard_normal(80)
    values[:20] *= 1.1
    values[20:40] = 50.0  # the second quarter doesn't count
    expected = np.median(values[:20]) / np.median(values[40:]) - 1.0
    assert drift(values) == pytest.approx(expected)
    assert drift(values[:19]) is None
    assert drift(np.full(80, 3.0)) is None


def test_drift_is_the_rank_sum_test() -> None:
    from scipy.stats import mannwhitneyu

    decided = []
    for seed in range(300):
        rng = np.random.default_rng([8, seed])
        values = np.round(10 + rng.standard_normal(100), 1)  # with ties
        values[:25] += 0.02 * (seed % 60)
        if effective_size(values[50:]) < 50:
            continue
        test = mannwhitneyu(values[:25], values[50:], method="asymptotic", use_continuity=False)
        significant = test.pvalue < 2 * ndtr(-3.3)
        assert (drift(values) is not None) == significant
        decided.append(significant)
    assert 30 < sum(decided) < len(decided) - 30


def test_drift_is_rarely_seen_where_there_is_none() -> None:
    rows = np.random.default_rng(9).lognormal(size=(3000, 60))
    assert np.mean([drift(row) is not None for row in rows]) < 0.003


def test_slow_fluctuation_is_not_treated_as_a_warmup() -> None:
    rng = np.random.default_rng(10)
    rows = rng.standard_normal((500, 400))
    for k in range(1, 400):
        rows[:, k] = 0.9 * rows[:, k - 1] + 0.44 * rows[:, k]
    seen = np.mean([drift(10 + row) is not None for row in rows])
    # If treated as independent, four in ten of them would count.
    assert seen < 0.05


SEARCH = Cell("linpack.search", {"n": 3000, "seconds": 20.0}, Placement(ppn=2), "fake")


def test_a_search_is_measured_once_without_a_caveat() -> None:
    cell = only([measured(SEARCH, 0, [0.18, 0.2, 0.19])], [SEARCH], max_launches=12)
    assert cell.caveats == []
    assert {metric.stop for metric in cell.metrics.values()} == {"launches"}
    assert exit_status([cell], "precision") == 0
    once = only([measured(BARRIER, 0, [0.18, 0.2, 0.19])], [BARRIER])
    assert any("1 launch only" in sentence for sentence in once.caveats)
    assert exit_status([cell, once], "precision") == 1


POWERED = {"sampling_seconds": 2.0, "device_energy": 500.0, "device_energy_error": 25.0}


def test_the_energy_of_devices_is_that_of_one_operation() -> None:
    found = changed(quiet(), covariates=POWERED, facts={"device_energy_source": "counter"})
    energy = only(found, [BARRIER]).device_energy
    assert energy is not None and energy.source == "counter" and energy.launches == 6
    seconds = only(found, [BARRIER]).metrics["time"].median
    assert energy.value == pytest.approx(250.0 * seconds)
    assert energy.error == pytest.approx(12.5 * seconds)
    assert energy.ci95 is not None and energy.ci95[0] <= energy.value <= energy.ci95[1]


def test_integrated_power_is_told_and_unknown_energy_is_none() -> None:
    found = changed(quiet(), covariates=POWERED, facts={"device_energy_source": "power"})
    energy = only(found, [BARRIER]).device_energy
    assert energy is not None and energy.source == "power"
    partly = [*found[:-1], *changed(found[-1:], covariates=POWERED | {"device_energy": None})]
    assert only(partly, [BARRIER]).device_energy is None
    assert only(quiet(), [BARRIER]).device_energy is None
