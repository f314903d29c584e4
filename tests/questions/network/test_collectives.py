"""The part about collectives and its figures: planted growth, orders and timings."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.charts.drawing import csv_text, svg
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.questions.common.findings import findings_json
from assay.questions.common.question import Measured
from assay.questions.network.collectives.points import growth_law
from assay.questions.network.collectives.topic import TOPIC
from report_builder import make_failure, make_measurement, make_run, make_summary


def cell(op, size=8, ranks=4, timing="appointed", nodes=1, order="block", toolchain="embedded"):
    parameters = {"op": op, "bytes": size, "root": 0, "timing": timing}
    placement = Placement(nodes=nodes, ppn=ranks // nodes, order=order)
    return Cell("network.collective", parameters, placement, toolchain)


def summary(op, seconds, *args, spread=0.006, n=8, caveats=(), **kwargs):
    one = make_summary(cell(op, *args, **kwargs), seconds, spread=spread, n=n, caveats=caveats)
    if op == "barrier":  # it carries nothing, so the statistics yield no bandwidth
        return msgspec.structs.replace(one, metrics={"time": one.metrics["time"]})
    return one


def of_no_time(one):
    time = msgspec.structs.replace(one.metrics["time"], median=0.0, ci95=(0.0, 0.0))
    return msgspec.structs.replace(one, metrics={"time": time})


def part(cells, **facts):
    """The part, with these facts in a measurement of each cell."""
    found = TOPIC.find(Measured(run(cells, **facts), cells))
    return None if found is None else TOPIC.part(found)


def figures_of(cells):
    found = TOPIC.find(Measured(run(cells), cells))
    return [] if found is None else list(TOPIC.figures(found))


def run(cells, **facts):
    measurements = []
    for each in cells:
        measurement = make_measurement(each.cell, [])
        record = msgspec.structs.replace(measurement.record, facts=facts)
        measurements.append(replace(measurement, record=record))
    return make_run(cells, measurements=measurements)


def rows(found):
    return {row.label: row for row in found.evidence}


def test_nothing_measured_is_no_part():
    assert part([]) is None
    assert part([make_failure(cell("bcast"))]) is None
    assert part([make_failure(cell("bcast"), wrong=True)]) is None
    assert figures_of([]) == []


def test_the_shortest_and_the_longest_of_each_operation_are_evidence():
    cells = [
        summary("bcast", 2e-6, 8),
        summary("bcast", 9e-6, 4096),
        summary("bcast", 8e-4, 1 << 20),
        summary("allreduce", 3e-6, 8),
        summary("allreduce", 1e-9, 0),
        summary("barrier", 2.5e-6, 0),
        summary("bcast", 1e-6, 8, 2),
    ]
    found = part(cells)
    assert [label for label in rows(found) if "→" not in label] == [
        "allreduce of 8 B on 4 ranks",
        "bcast of 8 B on 4 ranks",
        "bcast of 1 MiB on 4 ranks",
        "barrier on 4 ranks",
    ]
    assert rows(found)["bcast of 1 MiB on 4 ranks"].value == 8e-4
    assert found.remark == "allreduce of 8 B on 4 ranks takes 3.00 µs"
    assert [point.metric.median for point in found.headline] == [3e-6]


def test_growth_is_the_ratio_of_the_ends_and_names_the_law():
    counts = (2, 4, 8, 16, 32, 64)
    cells = [summary("barrier", 1e-6 + 2e-6 * math.log2(p), 0, p, nodes=p) for p in counts]
    cells += [summary("alltoall", 1e-6 + 3e-7 * p, 8, p, nodes=p) for p in counts]
    cells += [summary("bcast", 4e-6, 8, p, nodes=p) for p in counts]
    # More ranks within a node are another series, and a shorter one.
    cells += [summary("barrier", 1e-7, 0, p) for p in (3, 4)]
    found = rows(part(cells))
    barrier = found["barrier, 2 → 64 ranks"]
    assert barrier.value == pytest.approx(13 / 3)
    assert barrier.ci95[0] < 13 / 3 < barrier.ci95[1]
    assert barrier.note == "grows with the logarithm of ranks"
    assert found["alltoall of 8 B, 2 → 64 ranks"].note == "grows with the number of ranks"
    assert found["bcast of 8 B, 2 → 64 ranks"].note == ""


@given(
    st.floats(1e-7, 1e-4),
    st.floats(0.2, 50.0),
    st.lists(st.integers(2, 4096), min_size=6, max_size=10, unique=True),
    st.integers(0, 1000),
)
def test_the_law_is_found_under_noise(base, slope, counts, seed):
    counts = sorted(counts)
    if counts[-1] < 16 * counts[0]:  # over a narrow range the two are similar
        counts = [2, 4, 8, 16, 32, 64]
    noise = random.Random(seed)
    for law, grown in (("logarithm", math.log2), ("number", float)):
        times = [base * (1 + slope * grown(p)) * noise.gauss(1, 0.002) for p in counts]
        if max(times) < 1.5 * min(times):
            continue
        assert growth_law(counts, times) == law


def test_too_few_values_name_no_law():
    assert growth_law([2, 4, 8], [1.0, 2.0, 3.0]) is None
    assert growth_law([2, 4, 8, 16], [1.0, 1.01, 1.02, 1.03]) is None
    # Halfway between both, with scatter that hides which.
    assert growth_law([4, 5, 6, 7], [1.0, 1.4, 1.1, 1.5]) is None


def test_only_rank_orders_that_matter_are_reported():
    """As Barczak et al. (2003) found: one order takes allreduce twice as long."""
    cells = [
        summary("allreduce", 100e-6, 1024, 128, nodes=64, order="block"),
        summary("allreduce", 210e-6, 1024, 128, nodes=64, order="cyclic"),
        summary("allreduce", 50e-6, 8, 128, nodes=64, order="block"),
        summary("allreduce", 60e-6, 8, 128, nodes=64, order="cyclic"),
        summary("bcast", 40e-6, 8, 128, nodes=64, order="block"),
        summary("bcast", 40.1e-6, 8, 128, nodes=64, order="cyclic"),
    ]
    found = part(cells)
    row = rows(found)["allreduce of 1 KiB on 128 ranks, cyclic against block order"]
    assert row.value == pytest.approx(2.1)
    (advice,) = found.advice
    assert advice.startswith("Allreduce of 1 KiB on 128 ranks takes 2.1")
    assert "as long in cyclic as in block order" in advice
    assert not any("bcast" in label and "order" in label for label in rows(found))
    same = part([c for c in cells if c.cell.parameters["op"] == "bcast"])
    assert same.advice == []
    assert "The times of the rank orders are not distinguishable." in same.limits
    alone = part(cells[:1])
    assert not any("order" in sentence for sentence in (*alone.limits, *alone.method))


def test_different_sizes_or_nodes_are_no_comparison_of_orders():
    cells = [
        summary("allreduce", 1e-4, 8, 8, nodes=2, order="block"),
        summary("allreduce", 9e-4, 16, 8, nodes=2, order="cyclic"),
        summary("allreduce", 9e-4, 8, 8, nodes=4, order="cyclic"),
    ]
    assert part(cells).advice == []


def test_a_call_of_no_time_has_no_ratio():
    """The median of a call that is shorter than the clock's step can be 0 s."""
    cells = [
        *(of_no_time(summary("bcast", 1e-6, 8, ranks)) for ranks in (2, 4)),
        *(summary("bcast", 2e-6, 8, ranks, timing="barrier") for ranks in (2, 4)),
        summary("bcast", 3e-6, 8, 4, order="cyclic", nodes=2),
        of_no_time(summary("bcast", 1e-6, 8, 4, order="reversed", nodes=2)),
    ]
    found = TOPIC.find(Measured(run(cells), cells))
    assert found is not None
    assert (found.timings_compared, found.timings, found.growth, found.orders) == (0, (), (), ())
    assert TOPIC.part(found) is not None


def test_timing_after_a_barrier_is_reported_where_intervals_are_disjoint():
    cells = [
        summary("bcast", 2.0e-6, 8),
        summary("bcast", 1.0e-6, 8, timing="barrier"),
        summary("bcast", 9.0e-6, 64),
        summary("bcast", 8.0e-6, 64, timing="barrier"),
        summary("allreduce", 3.00e-6, 8),
        summary("allreduce", 3.03e-6, 8, timing="barrier"),  # intervals touch
    ]
    found = part(cells, barrier_skew=0.4e-6, clock_domains=1, clock_error=0.0)
    (sentence,) = found.caveats
    assert sentence.startswith("Timed after a barrier, bcast of 8 B on 4 ranks appears to take 0.5")
    assert "releases its ranks 400 ns apart" in sentence
    assert any("common start within the intervals in 1 of 3 cases" in text for text in found.method)
    few = [summary("bcast", 2e-6, 8, n=3), summary("bcast", 1e-6, 8, timing="barrier", n=3)]
    assert part(few).caveats == []  # without intervals nothing is claimed


def test_the_error_of_the_clocks_is_reported():
    cells = [summary("bcast", 2e-6, 8, 4, nodes=2)]
    (alone,) = part(cells, clock_domains=1, clock_error=0.0).limits
    assert "same clock" in alone
    (hosts,) = part(cells, clock_domains=2, clock_error=3e-7, clock_round_trip=2e-5).limits
    assert "clocks of 2 hosts differed by at most 300 ns" in hosts
    assert "20.0 µs" in hosts
    assert part(cells).limits == []


def test_barrier_timing_alone_is_used_and_named():
    found = part([summary("bcast", 2e-6, 8, timing="barrier")])
    assert "after a barrier" in found.method[0]
    both = part([summary("bcast", 2e-6, 8, timing="barrier"), summary("bcast", 9e-6, 8)])
    assert "common clock" in both.method[0]
    assert both.headline[0].metric.median == 9e-6


def test_the_better_toolchain_leads_and_is_not_mixed_with_the_other():
    cells = [
        summary(op, seconds, size, toolchain=name)
        for name, factor in (("a", 2.0), ("b", 1.0))
        for op, size, seconds in (("allreduce", 8, 3e-6 * factor), ("bcast", 8, 2e-6 / factor))
    ]
    found = part(cells)
    assert rows(found)["allreduce of 8 B on 4 ranks"].value == 3e-6
    assert rows(found)["bcast of 8 B on 4 ranks"].value == 2e-6
    assert {row.note for row in found.evidence} == {"4 ranks · b"}


def sweep():
    sizes = (0, 8, 1024, 1 << 20)
    cells = [
        summary(op, 1e-6 + size / 1e9, size, 8, nodes=4, order=order)
        for op in ("allreduce", "bcast")
        for size in sizes
        for order in ("block", "cyclic")
    ]
    cells += [
        summary(op, 0.8e-6 + size / 1e9, size, 8, nodes=4, timing="barrier")
        for op in ("allreduce", "bcast")
        for size in sizes
    ]
    cells += [summary("barrier", 1e-6 * p, 0, p, nodes=p // 2) for p in (2, 4, 8)]
    return cells


def test_figures_hold_the_planted_rows_and_can_be_drawn():
    cells = sweep()
    figures = {f.id: f for f in figures_of(cells)}
    assert list(figures) == [
        "collectives-size",
        "collectives-ranks",
        "collectives-order",
        "collectives-timing",
    ]
    by_size = figures["collectives-size"].rows
    assert [(row["series"], row["bytes"]) for row in by_size] == [
        (op, size) for op in ("allreduce", "bcast") for size in (0, 8, 1024, 1 << 20)
    ]
    assert [(row["ranks"], row["median"]) for row in figures["collectives-ranks"].rows] == [
        (2, 2e-6),
        (4, 4e-6),
        (8, 8e-6),
    ]
    orders = figures["collectives-order"].rows
    assert {row["series"] for row in orders} == {"block order", "cyclic order"}
    assert len(orders) == 8
    timing = {(row["series"], row["bytes"]): row for row in figures["collectives-timing"].rows}
    shortest = timing["bcast", 0]
    assert shortest["median"] == pytest.approx(0.8)
    assert shortest["low"] < 0.8 < shortest["high"]
    assert (shortest["appointed"], shortest["barrier"]) == (1e-6, 0.8e-6)
    assert timing["allreduce", 1 << 20]["median"] == pytest.approx(1.0, rel=1e-3)
    for figure in figures.values():
        assert figure.alt and figure.caption
        assert {field.name for field in figure.fields} == set(figure.rows[0])
        assert csv_text(figure).count("\n") == len(figure.rows) + 1
        drawn = svg(figure)
        assert "NaN" not in drawn
        assert drawn.startswith("<svg")


def test_findings_are_plain_json_with_the_planted_numbers():
    cells = sweep()
    found = TOPIC.find(Measured(run(cells, clock_domains=2, clock_error=3e-7), cells))
    plain = findings_json(found)
    assert json.loads(json.dumps(plain)) == plain
    assert not {"points", "size_curves"} & plain.keys()
    (growth,) = plain["growth"]
    assert growth["times"]["value"] == pytest.approx(4)
    assert plain["clocks"] == {"domains": 2.0, "error": 3e-7, "round_trip": None}
    assert (plain["timings_compared"], plain["timings_agreeing"]) == (8, 2)
    assert [entry["times"]["value"] for entry in plain["timings"]] == pytest.approx([0.8, 0.8])


def test_too_few_values_draw_nothing():
    cells = [summary("bcast", 2e-6, 8)]
    assert figures_of(cells) == []


def test_few_launches_draw_no_intervals():
    cells = [
        summary("bcast", 1e-6 * k, size, timing=timing, n=2)
        for k, size in ((1, 8), (2, 64))
        for timing in ("appointed", "barrier")
    ]
    figures = figures_of(cells)
    assert [f.id for f in figures] == ["collectives-size", "collectives-timing"]
    for figure in figures:
        assert all(row["low"] is None for row in figure.rows)
        assert "NaN" not in svg(figure)
