"""Concurrent pairs and senders, with planted bandwidths: shares, slowdowns, figures."""

from __future__ import annotations

import json

import pytest

from assay.charts.drawing import svg
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.questions.common.findings import findings_json
from assay.questions.common.question import Measured
from assay.questions.common.ratios import Ratio
from assay.questions.common.selection import Point
from assay.questions.network.concurrency.findings import (
    concurrent_pairs,
    concurrent_senders,
    sharing_from,
)
from assay.questions.network.concurrency.topic import TOPIC
from assay.stats.core.model import CellSummary
from report_builder import make_failure, make_metric, make_run

SIZES = (0, 1024, 1 << 20)
ALONE = {0: 1e-6, 1024: 2e-6, 1 << 20: 1e-4}  # s, half a round trip


def summary(
    kernel: str,
    placement: Placement,
    rates: dict[str, float],
    costs: dict[str, float],
    toolchain: str = "embedded",
    **parameters: int | str,
) -> CellSummary:
    metrics = {name: make_metric(value, "B/s") for name, value in rates.items()}
    metrics |= {name: make_metric(value, "s", better="less") for name, value in costs.items()}
    cell = Cell(kernel, parameters, placement, toolchain)
    return CellSummary(
        kernel, cell.id, cell, "ok", True, dict(parameters), metrics, caveats=[], error=None
    )


def pingpong(size: int, placement: Placement, slower: float = 1, **more) -> CellSummary:
    time = ALONE[size] * slower
    ends = {"from": 0, "to": placement.ranks - 1, "mode": "blocking"} | more
    rates = {"bandwidth": size / time} if size else {}
    return summary("network.pingpong", placement, rates, {"latency": time}, bytes=size, **ends)


def multi(size: int, placement: Placement, pairing: str = "halves", **more) -> CellSummary:
    """The slowest pair takes twice as long as one alone, the fastest 25% longer."""
    slow, fast = 2 * ALONE[size], 1.25 * ALONE[size]
    rates = {"min_bandwidth": size / slow, "max_bandwidth": size / fast} if size else {}
    return summary(
        "network.multi_pingpong",
        placement,
        rates,
        {"time": slow, "fastest": fast},
        bytes=size,
        pairing=pairing,
        **more,
    )


def concurrent(size: int, senders: int, time: float, placement: Placement) -> CellSummary:
    rates = {"bandwidth_each": size / time, "bandwidth": senders * size / time} if size else {}
    return summary(
        "network.concurrent", placement, rates, {"time": time}, bytes=size, senders=senders
    )


def found_in(cells):
    return TOPIC.find(Measured(make_run(cells), cells))


def part_of(cells):
    found = found_in(cells)
    return None if found is None else TOPIC.part(found)


def figures_of(cells):
    found = found_in(cells)
    return [] if found is None else list(TOPIC.figures(found))


ONE_NODE = Placement(ppn=8)
TWO_NODES = Placement(nodes=2, ppn=8)


def test_nothing_measured_is_no_part():
    assert part_of([]) is None
    assert part_of([pingpong(1024, Placement(ppn=2))]) is None
    failed = make_failure(multi(1024, ONE_NODE).cell)
    wrong = make_failure(concurrent(1024, 2, 1e-6, ONE_NODE).cell, wrong=True)
    assert part_of([failed, wrong]) is None
    assert figures_of([failed, wrong]) == []


def test_shares_are_of_a_single_pairs_bandwidth():
    cells = [pingpong(size, Placement(ppn=2)) for size in SIZES]
    part = part_of([*cells, *(multi(size, ONE_NODE) for size in SIZES)])
    slowest, fastest, latency = part.evidence
    assert (slowest.label, fastest.label) == (
        "4 concurrent pairs, 1 MiB, slowest pair",
        "4 concurrent pairs, 1 MiB, fastest pair",
    )
    assert (slowest.share, fastest.share) == (pytest.approx(0.5), pytest.approx(0.8))
    assert slowest.value == pytest.approx((1 << 20) / 2e-4)
    assert slowest.limit == pytest.approx((1 << 20) / 1e-4)
    low, high = slowest.share_ci95
    assert 0.48 < low < 0.5 < high < 0.52
    assert (latency.label, latency.metric) == ("4 concurrent pairs, 0 B, slowest pair", "slowdown")
    assert latency.value == pytest.approx(2.0)
    assert (
        part.remark
        == "with 4 concurrent pairs, each pair gets 50% to 80% of a single pair's bandwidth (1 MiB)"
    )
    assert (
        "the slowest gets 50.0% [" in part.advice[0]
        and "the node's cores, caches or memory" in part.advice[0]
    )
    assert [point.summary.kernel for point in part.headline] == ["network.multi_pingpong"]


@pytest.mark.parametrize(
    ("placement", "pairing", "between"),
    [
        (TWO_NODES, "halves", True),
        (TWO_NODES, "neighbours", False),
        (Placement(nodes=2, ppn=8, order="cyclic"), "neighbours", True),
        (Placement(nodes=2, ppn=8, order="cyclic"), "halves", False),
        (Placement(nodes=2, ppn=8, order="reversed"), "halves", True),
        (Placement(nodes=3, ppn=2, order="cyclic"), "halves", False),
        (ONE_NODE, "halves", False),
        # 0 with 3, 1 with 4, 2 with 5 and nodes 001122: all cross. Neighbours of 3 per node: mixed.
        (Placement(nodes=3, ppn=2), "halves", True),
        (Placement(nodes=2, ppn=3), "neighbours", None),
        # A list of seats: ranks 0 and 1 are on nodes 0 and 1, as are 2 and 3.
        (Placement(nodes=2, ppn=2, order="0,2,1,3"), "neighbours", True),
        (Placement(nodes=2, ppn=2, order="0,2,1,3"), "halves", False),
    ],
)
def test_a_pair_is_compared_with_one_over_the_same_path(placement, pairing, between):
    within = pingpong(1024, Placement(ppn=2))
    across = pingpong(1024, Placement(nodes=2, ppn=1), slower=5)
    (pairs,) = concurrent_pairs([within, across, multi(1024, placement, pairing)])
    wanted = {None: {}, True: {1024: across}, False: {1024: within}}[between]
    assert pairs.alone == wanted


def test_the_single_pair_is_blocking_of_the_same_toolchain_with_the_fewest_ranks():
    crowded = pingpong(1024, ONE_NODE, slower=3)
    alone = pingpong(1024, Placement(ppn=2))
    put = pingpong(1024, Placement(ppn=2), slower=0.1, mode="put")
    other = summary(
        "network.pingpong",
        Placement(ppn=2),
        {},
        {"latency": 9.0},
        "other",
        bytes=1024,
        **{"from": 0},
    )
    wired = pingpong(1024, Placement(ppn=2, adapter="ib0"), slower=7)
    for cells in ([crowded, alone, put, other, wired], [wired, other, put, alone, crowded]):
        (pairs,) = concurrent_pairs([*cells, multi(1024, ONE_NODE)])
        assert pairs.alone == {1024: alone}
    (bare,) = concurrent_pairs([other, wired, put, multi(1024, ONE_NODE)])
    assert bare.alone == {}


def test_a_put_is_no_answered_message():
    """Ping-pong's own part of the answer covers blocking messages alone."""
    from assay.questions.common.question import Measured
    from assay.questions.speed.messages import find, part

    cells = [pingpong(1024, Placement(ppn=2)), pingpong(1024, Placement(ppn=2), 0.1, mode="put")]
    answered = part(find(Measured(make_run(cells), cells)))
    assert [row.cells for row in answered.evidence] == [[cells[0].id]] * 2
    assert find(Measured(make_run(cells), cells[1:])) is None


def test_without_a_single_pair_no_share_is_given():
    part = part_of([multi(1024, ONE_NODE)])
    assert [row.share for row in part.evidence] == [None, None]
    assert [row.limit for row in part.evidence] == [None, None]
    assert (part.remark, part.advice) == ("", [])


def test_senders_share_a_link_from_the_size_on_at_which_it_is_full():
    """Latencies overlap; large messages are sent one after the other."""
    cells = [
        concurrent(size, senders, 1e-6 if size < 4096 else senders * 1e-4, TWO_NODES)
        for size in (0, 1024, 65_536, 1 << 20)
        for senders in (1, 2, 8)
    ]
    (group,) = concurrent_senders(cells)
    assert group.most == 8
    assert {size: round(times.value, 6) for size, times in group.slowdowns[8].items()} == {
        0: 1.0, 1024: 1.0, 65_536: 8.0, 1 << 20: 8.0,
    }  # fmt: skip
    assert sharing_from(group.slowdowns[8]) == group.shared_from == 65_536
    part = part_of(cells)
    each, together, slowdown = part.evidence
    assert each.label == "8 concurrent senders, 1 MiB, slowest sender"
    assert (each.share, together.share) == (pytest.approx(1 / 8), pytest.approx(1 / 8))
    assert together.value == pytest.approx((1 << 20) / 1e-4)
    assert together.limit == pytest.approx(8 * (1 << 20) / 1e-4)
    assert together.share_ci95[0] < 1 / 8 < together.share_ci95[1]
    assert slowdown.value == pytest.approx(8.0)
    assert (
        part.remark
        == "8 senders take 8.00× [7.93, 8.07] as long as one at 1 MiB, and they share bandwidth at "
        "64 KiB and above"
    )
    assert "messages up to 1 KiB hardly do" in part.advice[0]
    assert "Messages of 64 KiB or more" in part.advice[0]
    assert "the node's injection bandwidth" in part.advice[0]


def test_senders_that_do_not_share_are_reported_so():
    cells = [concurrent(size, k, 1e-5, TWO_NODES) for size in (8, 4096) for k in (1, 4)]
    part = part_of(cells)
    assert part.remark.endswith("contention is negligible") and part.advice == []
    assert part_of([concurrent(8, 4, 1e-5, TWO_NODES)]) is None  # nothing to compare with


def test_sharing_needs_a_significant_interval():
    cell = concurrent(1024, 1, 1e-6, TWO_NODES)
    point = Point(cell, cell.metrics["time"])

    def shared_from(slowdowns):
        return sharing_from(
            {size: Ratio(point, point, *found) for size, found in slowdowns.items()}
        )

    assert shared_from({}) is None
    assert shared_from({1: (2.0, None), 2: (1.0, None)}) is None  # not at the largest
    assert shared_from({1: (1.0, None), 2: (1.2, (1.0, 1.4)), 4: (1.4, (1.35, 1.45))}) == 4
    # The 95% interval is above 1.1, but not the range with an error of one in a thousand.
    assert shared_from({4: (1.3, (1.15, 1.45))}) is None
    wide = (1.9, 2.1)
    assert shared_from({1: (3.0, wide), 2: (1.0, (0.9, 1.2)), 4: (2.0, wide), 8: (2.0, wide)}) == 4
    assert shared_from({1: (3.0, None), 2: (3.0, None)}) is None  # too few launches
    assert shared_from({1: (3.0, wide), 2: (3.0, None), 4: (2.0, wide)}) == 4


def test_findings_are_plain_json_with_the_planted_numbers():
    cells = figure_cells()
    found = findings_json(found_in(cells))
    assert json.loads(json.dumps(found)) == found
    (pairs,) = found["pairs"]
    assert (pairs["pairs"], pairs["bytes"]) == (4, 1 << 20)
    assert pairs["slowest"]["share"] == pytest.approx(0.5)
    assert pairs["slowdown"]["value"] == pytest.approx(2.0)
    (senders,) = found["senders"]
    assert senders["slowdowns"]["8"]["0"]["value"] == pytest.approx(8.0)
    assert found["rates"]["windows"] == [1, 4, 64]


# ---- figures ---------------------------------------------------------------------------------


def stream(size: int, window: int, rate: float, **more: str) -> CellSummary:
    one = summary(
        "network.stream",
        Placement(ppn=2),
        {},
        {"time": 1 / rate},
        bytes=size,
        window=window,
        **{"mode": "nonblocking", "direction": "unidirectional", "buffers": "one"} | more,
    )
    one.metrics["rate"] = make_metric(rate, "op/s")
    return one


def figure_cells() -> list[CellSummary]:
    cells = [pingpong(size, Placement(ppn=2)) for size in SIZES]
    cells += [multi(size, ONE_NODE) for size in SIZES]
    cells += [concurrent(s, k, (k + s) * 1e-7, TWO_NODES) for s in SIZES for k in (1, 2, 8)]
    cells += [stream(8, w, 1e6 * w, mode=m) for w in (1, 4, 64) for m in ("put", "nonblocking")]
    return cells + [stream(4096, w, 1e5) for w in (1, 4)] + [stream(0, 1, 1e9)]


def test_figures_hold_what_was_measured():
    pairs, senders, rate = figures_of(figure_cells())
    curves = {row["curve"] for row in pairs.rows}
    assert curves == {"single pair", "4 pairs, fastest", "4 pairs, slowest"}
    shown = {(row["curve"], row["bytes"]): row["median"] for row in pairs.rows}
    assert len(shown) == len(pairs.rows) == 6  # no bandwidth of no bytes
    assert shown["4 pairs, slowest", 1 << 20] == pytest.approx((1 << 20) / 2e-4)
    ratios = {(row["curve"], row["bytes"]): row["median"] for row in senders.rows}
    assert len(ratios) == 6
    assert ratios["8 senders", 0] == pytest.approx(8.0)
    assert ratios["2 senders", 1024] == pytest.approx(1026 / 1025)
    rates = {(row["curve"], row["window"]): row["median"] for row in rate.rows}
    assert len(rates) == 6  # of 8 B alone: the smallest of which there are several windows
    assert rates["put", 64] == pytest.approx(64e6)


def test_figures_say_what_every_field_is_and_can_be_drawn():
    for figure in figures_of(figure_cells()):
        assert {field.name for field in figure.fields} == set(figure.rows[0])
        drawn = svg(figure)
        for name in {str(row["curve"]) for row in figure.rows}:
            assert name in drawn


def test_too_little_for_a_figure_is_none():
    assert figures_of([pingpong(1024, Placement(ppn=2)), multi(1024, ONE_NODE)]) == []
    assert figures_of([multi(s, Placement(ppn=2)) for s in SIZES]) == []  # one pair, not several
    assert figures_of([concurrent(s, 1, 1e-6, TWO_NODES) for s in SIZES]) == []
    assert figures_of([stream(8, 64, 1e6)]) == []
