from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.kernels.naming import placement_text
from assay.model.placement import Placement
from assay.questions.common.findings import findings_json
from assay.questions.common.selection import (
    best,
    best_by,
    best_by_cores,
    chosen_best,
    chosen_worst,
    cores,
    covariate,
    evidence,
    points,
    quantity_text,
    ratio,
)
from report_builder import make_cell, make_failure, make_measurement, make_metric, make_run
from report_builder import make_summary as summary

POSITIVE = st.floats(min_value=1e-9, max_value=1e15)


@pytest.mark.parametrize(
    ("placement", "text", "count"),
    [
        (Placement(), "1 rank", 1),
        (Placement(ppn=2), "2 ranks", 2),
        (Placement(threads=4), "1 rank × 4 threads", 4),
        (Placement(nodes=2, ppn=8, threads=2), "2 nodes 16 ranks × 2 threads", 32),
        (
            Placement(ppn=2, order="cyclic", binding="none", adapter="ib0"),
            "2 ranks cyclic order none binding over ib0",
            2,
        ),
        (Placement(nodes=2, order="1,0", adapter="a,b"), "2 nodes 2 ranks order 1,0 over a,b", 2),
        (
            Placement(ppn=9, order="8,7,6,5,4,3,2,1,0"),
            "9 ranks order 8,7,6,5,…,3,2,1,0",
            9,
        ),
    ],
)
def test_placements_in_words(placement, text, count):
    assert placement_text(placement) == text
    assert cores(placement) == count


def test_only_usable_cells_become_points():
    good = summary(make_cell("compute.dgemm", n=100), 1e9)
    cells = [
        good,
        make_failure(make_cell("compute.dgemm", n=200)),
        make_failure(make_cell("compute.dgemm", n=300), wrong=True),
        summary(make_cell("memory.stream", op="triad"), 1e9, elements=1000),
    ]
    assert [p.summary.id for p in points(cells, "compute.dgemm", "rate")] == [good.id]


def test_a_refuted_cell_is_no_point_even_if_it_brings_metrics():
    import msgspec

    lying = msgspec.structs.replace(
        summary(make_cell("compute.dgemm", n=100), 9e99), verified=False
    )
    assert points([lying], "compute.dgemm", "rate") == []


def test_best_follows_the_metric_s_direction():
    fast, slow = (
        summary(make_cell("network.pingpong", ppn=2, bytes=8), latency) for latency in (1e-6, 2e-6)
    )
    latencies = points([slow, fast], "network.pingpong", "latency")
    bandwidths = points([slow, fast], "network.pingpong", "bandwidth")
    assert best(latencies).metric.median == 1e-6
    assert best(bandwidths).metric.median == 8e6


def test_best_by_is_ascending_and_keeps_the_best():
    cells = [
        summary(make_cell("compute.dgemm", ppn=2, n=100), 3.0),
        summary(make_cell("compute.dgemm", threads=2, n=100), 5.0),
        summary(make_cell("compute.dgemm", n=100), 2.0),
    ]
    found = best_by(points(cells, "compute.dgemm", "rate"), lambda p: p.cores)
    assert {count: p.metric.median for count, p in found.items()} == {1: 2.0, 2: 5.0}
    assert list(found) == [1, 2]


@settings(deadline=None)
@given(POSITIVE, POSITIVE)
def test_a_ratio_lies_within_its_interval(above, below):
    value, interval = ratio(make_metric(above, "B/s"), make_metric(below, "B/s"))
    assert value == pytest.approx(above / below)
    assert interval is not None and interval[0] < value < interval[1]


def test_a_ratio_without_an_interval_below_has_none():
    bare = make_metric(1.0, "B/s", n=5)
    assert ratio(make_metric(2.0, "B/s"), bare) == (2.0, None)
    assert ratio(bare, make_metric(2.0, "B/s")) == (0.5, None)


def test_share_and_its_interval_are_of_the_limit():
    point = points([summary(make_cell("compute.dgemm", n=9), 50.0, spread=0.1)],
                   "compute.dgemm", "rate")[0]  # fmt: skip
    row = evidence("x", point, "rate", limit=100.0, limit_source="planted")
    assert row.share == 0.5
    assert row.share_ci95 == pytest.approx((0.45, 0.55))
    assert evidence("x", point, "rate").share is None


def test_covariate_is_the_median_over_the_cells_named_and_null_where_none_has_it():
    mine, other = make_cell("compute.dgemm", n=1), make_cell("compute.dgemm", n=2)
    run = make_run(
        [],
        measurements=[make_measurement(mine, [1.0]), make_measurement(other, [1.0])],
    )
    assert covariate(run, [mine.id], "clock_rate") == 2.6e9
    assert covariate(run, [mine.id], "steal") is None
    assert covariate(run, ["none"], "clock_rate") is None


@pytest.mark.parametrize(
    ("value", "unit", "interval", "text"),
    [
        (61.0e6, "op/s", None, "61.00 Mop/s"),
        (2196e6, "op/s", None, "2196 Mop/s"),
        (2196e6, "op/s", (2183e6, 2209e6), "2196 Mop/s [2183, 2209]"),
        (9.99e9, "op/s", None, "9990 Mop/s"),
        (49387e6, "op/s", None, "49.4 Gop/s"),
        (49387e6, "op/s", (49.1e9, 49.6e9), "49.4 Gop/s [49.1, 49.6]"),
        (0.0, "op/s", None, "0 op/s"),
        (25.3e3, "op/s", None, "25.3 kop/s"),
        (25.3e3, "op/s", (25.0e3, 25.5e3), "25.3 kop/s [25.0, 25.5]"),
        (1.8, "", (1.78, 1.82), "1.80× [1.78, 1.82]"),
        (2.0, "", None, "2×"),
        (35.1e9, "B/s", None, "35.1 GB/s"),
    ],
)
def test_quantities_in_the_words_of_the_field(value, unit, interval, text):
    assert quantity_text(value, unit, interval) == text


def test_a_chosen_point_says_among_how_many_and_keeps_its_name_in_the_findings():
    cells = [summary(make_cell("compute.dgemm", n=n), 1e9 + n) for n in (1, 2, 3)]
    cells.append(summary(make_cell("compute.dgemm", n=4), 5e8))
    found = points(cells, "compute.dgemm", "rate")
    top = chosen_best(found)
    assert (top.summary.id, top.among) == (cells[2].id, 3)
    assert top.metric.median == 1e9 + 3
    assert top.metric.ci95[0] < cells[2].metrics["rate"].ci95[0]
    assert top.metric.ci95[1] == cells[2].metrics["rate"].ci95[1]
    assert evidence("x", top, "rate").note == "best of 3 comparable cells"
    assert findings_json(top) == {
        "cell": cells[2].id,
        "metric": "rate",
        "among": 3,
        "ci95": list(top.metric.ci95),
    }
    clear = chosen_best([found[0], found[3]])
    assert (clear.among, findings_json(clear)) == (1, {"cell": cells[0].id, "metric": "rate"})


def test_the_worst_is_extended_to_better_values():
    cells = [
        summary(make_cell("network.pingpong", ppn=2, bytes=n), 1e-6 + n * 1e-10) for n in (8, 9)
    ]
    worst = chosen_worst(points(cells, "network.pingpong", "latency"))
    planted = cells[1].metrics["latency"]
    assert worst.metric.median == planted.median
    assert worst.metric.ci95[0] < planted.ci95[0] and worst.metric.ci95[1] == planted.ci95[1]


def test_the_best_on_the_most_cores_was_chosen_among_all_toolchains():
    cells = [
        summary(make_cell("compute.dgemm", n=1, ppn=ppn, toolchain=name), 1e9 + shift)
        for ppn in (1, 2)
        for name, shift in (("a", 0.0), ("b", 1.0))
    ]
    found = best_by_cores(points(cells, "compute.dgemm", "rate"))
    assert {count: point.among for count, point in found.items()} == {1: 1, 2: 2}
    assert {point.summary.cell.toolchain for point in found.values()} == {"b"}
