"""The fabric's part and figures, on records with planted switches, slow nodes, hops and cuts."""

from __future__ import annotations

import json
from dataclasses import replace

import msgspec
import numpy as np
import pytest

from asking import reply_to
from assay.charts.drawing import svg
from assay.kernels import find_kernel
from assay.launch.fake.fabric import FabricModel
from assay.model.cell import Cell
from assay.model.placement import Placement
from assay.questions.common.findings import findings_json
from assay.questions.common.question import Measured
from assay.questions.network.fabric import findings as fabric
from assay.questions.network.fabric.matrices import pair_matrices, ring_hops
from assay.questions.network.fabric.topic import TOPIC
from assay.records.model import Measurement, RunData
from assay.records.schema import (
    ClockOffset,
    HostClocks,
    MeasurementRecord,
    RankRecord,
    SampleSeries,
)
from assay.stats.cells.summarise import summarise_cells
from assay.units import format_quantity
from fake_fabrics import measured
from kernel_runs import measure, plain
from records_builder import make_record
from report_builder import make_run

LAUNCHES = 7
LATENCY = 10e-6


def make_cell(kernel: str, nodes: int = 1, ppn: int = 1, **given) -> Cell:
    defaults = {p.name: p.default for p in find_kernel(kernel).parameters}
    return Cell(kernel, defaults | given, Placement(nodes=nodes, ppn=ppn), "fake")


def host_of(rank: int, ppn: int) -> str:
    return f"node{rank // ppn}"


def make_measurement(
    cell: Cell, record: MeasurementRecord, series: list[SampleSeries], replicate: int
) -> Measurement:
    ppn = cell.placement.ppn
    return Measurement(
        cell=cell,
        replicate=replicate,
        launch=f"l{replicate}",
        utc=1e9,
        record=msgspec.structs.replace(record, series=[*record.series, *series]),
        clock=None,
        ranks=tuple(
            RankRecord(r, host_of(r, ppn), 1, r % ppn, [0], None, True, False)
            for r in range(cell.placement.ranks)
        ),
    )


def launches(cell: Cell, values, series_of) -> list[Measurement]:
    """One measurement per launch; ``values`` and ``series_of`` take the launch's random numbers."""
    measurements = []
    for k in range(LAUNCHES):
        rng = np.random.default_rng(100 + k)
        record = make_record(cell, k, values(rng))
        measurements.append(make_measurement(cell, record, series_of(rng), k))
    return measurements


def pairs_run(
    nodes: int, time_of, *, ppn: int = 1, noise: float = 0.01, between: str = "nodes", **given
):
    """``time_of(i, j)``: the seconds planted for each pair of members."""
    cell = make_cell("network.pairs", nodes, ppn, between=between, **given)
    members = range(0, nodes * ppn, ppn) if between == "nodes" else range(nodes * ppn)
    ends = [(a, b) for k, a in enumerate(members) for b in list(members)[k + 1 :]]
    per = ppn if between == "nodes" else 1

    def series_of(rng):
        times = [
            time_of(a // per, b // per) * np.exp(noise * rng.standard_normal()) for a, b in ends
        ]
        pairs = [
            SampleSeries("pair", "s", a, b, [], [t]) for (a, b), t in zip(ends, times, strict=True)
        ]
        middle, most = float(np.median(times)), max(times)
        return [
            SampleSeries("median_pair", "s", None, None, [], [middle] * 3),
            SampleSeries("slowest_pair", "s", None, None, [], [most] * 3),
            *pairs,
        ]

    return launches(cell, lambda rng: [1e-3, 1.01e-3, 0.99e-3], series_of)


def part_of(*measurements: list[Measurement]):
    run: RunData = make_run([], measurements=[m for many in measurements for m in many])
    found = TOPIC.find(Measured(run, summarise_cells(run)))
    figures = [] if found is None else list(TOPIC.figures(found))
    for figure in figures:
        assert figure.rows and {f.name for f in figure.fields} >= set(figure.rows[0])
        assert "<svg" in svg(figure)
    return (None if found is None else TOPIC.part(found)), figures, run


def labelled(part, words: str):
    found = [row for row in part.evidence if words in row.label]
    assert len(found) == 1, [row.label for row in part.evidence]
    return found[0]


def test_switches_are_named_by_host() -> None:
    switch = {node: node % 2 for node in range(12)}  # every other node is at the other switch
    part, (figure,), run = part_of(
        pairs_run(12, lambda i, j: LATENCY if switch[i] == switch[j] else 1.3 * LATENCY, ppn=2)
    )
    row = labelled(part, "Pairs between 2 groups against pairs within, 8 B")
    assert row.value == pytest.approx(1.3, rel=0.01)
    assert row.ci95 is not None and row.ci95[0] < 1.3 < row.ci95[1]
    assert labelled(part, "Median of all pairs, 8 B").unit == "s"
    assert part.remark.startswith("2 groups were found among 12 nodes; messages take 1.30")
    (advice,) = part.advice
    assert "node0, node2, node4, node6, node8, node10; node1, node3" in advice
    assert [point.summary.kernel for point in part.headline] == ["network.pairs"]
    (found,) = pair_matrices(summarise_cells(run), run)
    assert found.names == tuple(f"node{k}" for k in range(12))  # 10 after 9, not after 1
    assert found.times[0, 1] == pytest.approx(1.3 * LATENCY, rel=0.02)
    assert len(figure.rows) == 12 * 11 and "2 groups" in figure.alt
    shown = sorted(found.names, key={r["one"]: r["one_place"] for r in figure.rows}.__getitem__)
    assert {r["other"]: r["other_place"] for r in figure.rows} == {
        name: place for place, name in enumerate(shown)
    }
    assert {int(name[4:]) % 2 for name in shown[:6]} in ({0}, {1})


def test_a_slow_node_and_a_slow_pair_are_named_by_host() -> None:
    def time_of(i, j):
        slow = 1.8 if 5 in (i, j) else 1.5 if (i, j) == (2, 9) else 1.0
        return slow * LATENCY

    part, _, _ = part_of(pairs_run(16, time_of))
    row = labelled(part, "All pairs of node5 against")
    assert row.value == pytest.approx(1.8, rel=0.03) and row.ci95[0] < row.value < row.ci95[1]
    assert labelled(part, "node2 with node9").value == pytest.approx(1.5, rel=0.03)
    assert "node5 is slow in all its pairs" in part.remark
    assert "node2 and node9 are slow with each other" in part.remark
    assert sum("cable" in sentence for sentence in part.advice) == 1


def test_one_launch_shows_a_matrix_and_searches_for_nothing() -> None:
    """Switches, a slow node, a slow hop and a poor bisection, each from a single launch."""

    def time_of(i, j):
        return LATENCY * (1 if i % 2 == j % 2 else 1.3) * (2 if 5 in (i, j) else 1)

    def hop(a, b):
        return 30e-6 if (a, b) == (7, 8) else 20e-6

    many = (pairs_run(12, time_of), ring_run(16, 1, hop), bisection_run(0.02))
    many = (*many, bisection_run(0.008, pairs=1))
    _, _, whole = part_of(*many)
    few = [m for m in whole.measurements if m.replicate == 0]
    part, figures, run = part_of(few)
    assert part.advice == [] and part.remark == ""
    assert all(row.ci95 is None for row in part.evidence)
    reported = " ".join([*part.limits, *part.method, *(figure.alt for figure in figures)])
    for words in ("false alarm", "0 slow", "no groups"):
        assert words not in reported
    assert "adjacent" not in figures[0].caption
    found = TOPIC.find(Measured(run, summarise_cells(run)))
    assert [(lack.method, lack.launches) for lack in found.missing] == [
        ("groups", 1),
        ("slow nodes and slow pairs", 1),
        ("slow hops", 1),
        ("shares of a single pair's bandwidth", 1),
    ]
    assert TOPIC.find(Measured(whole, summarise_cells(whole))).missing == ()
    assert "Place ranks" in " ".join(part_of(*many)[0].advice)


@pytest.mark.parametrize("kept", [2, 5])
def test_few_launches_that_agree_name_groups_and_nothing_else(kept: int) -> None:
    def time_of(i, j):
        return LATENCY * (1 if i % 2 == j % 2 else 1.3) * (2 if (i, j) == (2, 9) else 1)

    _, _, whole = part_of(pairs_run(12, time_of))
    part, figures, run = part_of([m for m in whole.measurements if m.replicate < kept])
    assert part.remark.startswith("2 groups were found among 12 nodes")
    assert "Each launch shows" in part.method[0] and "false alarm" not in part.method[0]
    assert "2 groups were found; too few launches" in figures[0].alt
    (found,) = TOPIC.find(Measured(run, summarise_cells(run))).missing
    assert (found.method, found.launches) == ("slow nodes and slow pairs", kept)


def test_few_launches_with_different_groups_name_none() -> None:
    """Disturbances that last as long as a launch make groups that the next launch doesn't have."""
    first, second = (
        part_of(pairs_run(12, lambda i, j, k=k: LATENCY * (1 if i // k % 2 == j // k % 2 else 1.5)))
        for k in (1, 2)
    )
    both = [m for m in first[2].measurements if m.replicate == 0]
    both += [m for m in second[2].measurements if m.replicate == 1]
    part, _, run = part_of(both)
    assert part.remark == "" and part.advice == []
    found = TOPIC.find(Measured(run, summarise_cells(run)))
    assert [lack.method for lack in found.missing] == ["groups", "slow nodes and slow pairs"]


def sampled_run(tmp_path, fabric: FabricModel, nodes: int, launches: int, most: int, **given):
    found = measured(tmp_path, fabric, nodes, launches, most=most, **given)
    return part_of(found)


def test_groups_of_a_sample_say_how_many_pairs_were_measured(tmp_path) -> None:
    fabric = FabricModel(switch=20, sigma=0.03, slow={"17": 1.5})
    part, (figure,), run = sampled_run(tmp_path, fabric, 140, 6, 600)
    assert part.remark.startswith("7 groups were found among 140 nodes in 3,")
    assert (
        "of 9,730 pairs; messages take 1." in part.remark
        and "fake17 is slow in all its pairs" in part.remark
    )
    row = labelled(part, "Pairs between 7 groups against pairs within, 8 B")
    assert row.value == pytest.approx(1.3, rel=0.03) and row.ci95[0] < 1.3 < row.ci95[1] * 1.01
    slow = labelled(part, "All pairs of fake17")
    assert slow.value == pytest.approx(1.5, rel=0.05)
    assert slow.ci95 is not None and slow.ci95[1] - slow.ci95[0] > 0.001
    (limit,) = part.limits
    assert (
        "pairs were measured, a random sample with the same number of pairs for each node" in limit
    )
    assert "launches that the search did not use" in part.method[0]
    found = TOPIC.find(Measured(run, summarise_cells(run))).pairs[0]
    assert found.sample.groups == "found" and found.pairs == found.sample.pairs < 9730
    # Blocks of members, since there are more than a figure can show; those of a group together.
    assert len(figure.rows) <= 64 * 64 and "7 groups were found" in figure.alt
    assert figure.rows[0]["one"].count(" … ") == 1


def test_large_groups_of_neighbours_are_named_in_brackets(tmp_path) -> None:
    fabric = FabricModel(switch=20, sigma=0.03, scattered=False)
    part, _, _ = sampled_run(tmp_path, fabric, 140, 6, 600)
    assert "(fake[0-19]; fake[20-39]; " in part.advice[0]


def test_too_few_pairs_name_no_groups_and_say_how_many_more_would(tmp_path) -> None:
    fabric = FabricModel(switch=4, sigma=0.02)
    part, _, run = sampled_run(tmp_path, fabric, 200, 2, 1000)
    (found,) = TOPIC.find(Measured(run, summarise_cells(run))).pairs
    assert found.sample.groups == "open" and found.levels == ()
    assert part.remark.startswith("it is undecided whether 200 nodes form groups: ")
    assert f"{found.sample.more:,} more pairs would decide it (" in part.remark
    (limit,) = part.limits
    assert "too few to decide on groups. " in limit and " rounds, or " in limit
    assert not any("Place ranks" in advice for advice in part.advice)


def test_a_sample_of_a_flat_fabric_says_what_it_could_not_find(tmp_path) -> None:
    part, _, _ = sampled_run(tmp_path, FabricModel(), 140, 6, 600)
    assert part.remark.startswith("no groups were found among 140 nodes in 3,")
    (limit,) = part.limits
    assert "groups of fewer than about" in limit and "assigned" not in limit


def test_equal_pairs_have_no_groups() -> None:
    part, _, _ = part_of(pairs_run(12, lambda i, j: LATENCY))
    assert part.remark == "no groups were found among 12 nodes"
    assert part.advice == [] and len(part.evidence) == 2


def test_few_ranks_of_one_node_get_a_matrix_but_no_groups() -> None:
    part, (figure,), _ = part_of(
        pairs_run(1, lambda i, j: LATENCY * (1 + i + j), ppn=4, between="ranks")
    )
    assert any("fewer than 6 ranks" in sentence for sentence in part.limits)
    assert {row["one"] for row in figure.rows} == {f"rank {r}" for r in range(4)}


def test_two_hosts_compare_within_with_between() -> None:
    part, _, _ = part_of(
        pairs_run(2, lambda i, j: LATENCY * (1 if i // 2 == j // 2 else 8), ppn=2, between="ranks")
    )
    row = labelled(part, "Pairs between nodes against pairs within, 8 B")
    assert row.value == pytest.approx(8, rel=0.02) and row.ci95[0] < row.value < row.ci95[1]


def ring_run(nodes: int, ppn: int, time_of, **given):
    cell = make_cell("network.ring", nodes, ppn, **given)
    ranks = nodes * ppn

    def series_of(rng):
        return [
            SampleSeries(
                "hop",
                "s",
                r,
                (r + 1) % ranks,
                [],
                [time_of(r, (r + 1) % ranks) * float(np.exp(0.01 * rng.standard_normal()))],
            )
            for r in range(ranks)
        ]

    return launches(cell, lambda rng: [1e-2 * (1 + 0.001 * k) for k in range(5)], series_of)


def test_a_hop_that_stands_out_is_named_among_its_kind() -> None:
    def time_of(a, b):  # two ranks a node; the way from node 3 to node 4 crosses a slow link
        if a // 2 == b // 2:
            return 1e-6
        return 30e-6 if (a, b) == (7, 8) else 20e-6

    part, (figure, _), run = part_of(ring_run(8, 2, time_of))
    (row,) = [row for row in part.evidence if row.label.startswith("Hop from")]
    assert row.label == "Hop from node3 rank 7 to node4 rank 8 against other hops of its kind"
    assert row.value == pytest.approx(1.5, rel=0.02) and row.ci95 is not None
    assert "1 hop of the ring is an outlier" in part.remark
    ring = labelled(part, "Ring, token, natural order, 127000 B")
    assert "16 hops; median hop 1.0" in ring.note and "between nodes" in ring.note
    (found,) = ring_hops(summarise_cells(run), run)
    assert [hop.crosses for hop in found.hops] == [False, True] * 8
    assert [hop.sender for hop in found.hops][:3] == [
        "node0 rank 0",
        "node0 rank 1",
        "node1 rank 2",
    ]
    assert [row["stands_out"] for row in figure.rows] == [k == 7 for k in range(16)]


def test_a_ring_in_which_nothing_stands_out_has_a_verdict() -> None:
    run = make_run([], measurements=ring_run(4, 1, lambda a, b: 20e-6), launches=[])
    verdict = reply_to("network", summarise_cells(run), run).answer.verdict
    assert verdict.startswith("A message of 127000 B takes ")
    assert " around the ring, 20.0 µs to 20.1 µs per hop; no hop and no group" in verdict, verdict


def test_where_hosts_have_one_rank_each_they_are_its_name() -> None:
    _, _, run = part_of(ring_run(4, 1, lambda a, b: 20e-6))
    (found,) = ring_hops(summarise_cells(run), run)
    assert [hop.sender for hop in found.hops] == ["node0", "node1", "node2", "node3"]


def bisection_run(seconds: float, *, nodes: int = 8, **given):
    cell = make_cell("network.bisection", nodes, bytes=1 << 20, **given)

    def values(rng):
        return (seconds * np.exp(0.01 * rng.standard_normal(5))).tolist()

    def series_of(rng):
        return [SampleSeries("fastest", "s", None, None, [], [seconds * 0.9] * 5)]

    return launches(cell, values, series_of)


def test_a_cut_is_set_against_a_single_pair() -> None:
    size, pairs = 1 << 20, 4
    part, (figure,), _ = part_of(
        bisection_run(0.02),
        bisection_run(0.01, cut="best"),
        bisection_run(0.008, pairs=1),
        bisection_run(0.016, cut="random", draw=3),
    )
    worst = labelled(part, "Bisection, worst cut, 1 MiB")
    assert worst.value == pytest.approx(2 * pairs * size / 0.02, rel=0.02)
    assert worst.limit == pytest.approx(2 * pairs * size / 0.008, rel=0.02)
    assert worst.share == pytest.approx(0.4, rel=0.02)
    assert worst.share_ci95[0] < worst.share < worst.share_ci95[1]
    assert worst.limit_source == "a single pair's exchange, times 4" and len(worst.cells) == 2
    assert labelled(part, "random cut").share is None  # alone, another cut's pair is another pair
    assert part.remark.startswith("across the cut into halves a pair gets 40")
    (advice,) = part.advice
    assert "4 pairs exchange concurrently across the worst cut" in advice
    assert any("Helix" in sentence and "27.5 MB/s" in sentence for sentence in part.published)
    assert [point.parameter("cut") for point in part.headline] == ["worst"]
    bars = {row["cut"]: row["median"] for row in figure.rows}
    assert bars["worst"] == pytest.approx(size / 0.02, rel=0.02)  # one rank, each direction
    assert bars["worst, one pair"] == pytest.approx(size / 0.008, rel=0.02)
    assert set(bars) == {"worst", "best", "random 3", "worst, one pair"}


def test_a_cut_that_is_worse_than_the_worst_is_named() -> None:
    size, pairs = 1 << 20, 4
    part, _, _ = part_of(
        bisection_run(0.02),
        bisection_run(0.025, cut="best"),
        bisection_run(0.03, cut="random", draw=3),
        bisection_run(0.008, pairs=1),
    )
    cut = {row.label: row.value for row in part.evidence}
    assert cut["Bisection, random cut, 1 MiB"] == pytest.approx(2 * pairs * size / 0.03, rel=0.01)
    least, across = (
        format_quantity(cut[f"Bisection, {name} cut, 1 MiB"], "B/s") for name in ("random", "worst")
    )
    assert f"pairs drawn at random exchange {least}" in part.remark
    assert "worst cut" not in part.remark
    (advice,) = [words for words in part.advice if "is not the worst here" in words]
    assert f"pairs drawn at random exchanged {least}" in advice and f"cut {across}" in advice


def test_a_cut_that_differs_by_chance_is_no_worse_than_the_worst() -> None:
    part, _, _ = part_of(
        bisection_run(0.02), bisection_run(0.02002, cut="random", draw=3), bisection_run(0.01)
    )
    assert not any("is not the worst here" in words for words in part.advice)


@pytest.mark.parametrize(
    ("apart", "cpus", "said"), [(0.0, 2, True), (5.0, 2, False), (0.0, 8, False)]
)
def test_hosts_that_share_cpus_are_limited_by_them(apart: float, cpus: int, said: bool) -> None:
    """Eight hosts whose clocks agree are one machine."""
    found = [
        replace(
            m,
            record=msgspec.structs.replace(m.record, covariates={"online_cpus": float(cpus)}),
            ranks=tuple(
                msgspec.structs.replace(
                    rank,
                    clocks=HostClocks(ClockOffset(0.0, 0.0), ClockOffset(apart * rank.rank, 0.0)),
                )
                for rank in m.ranks
            ),
        )
        for m in bisection_run(0.02)
    ]
    part, _, _ = part_of(found)
    sentences = [words for words in part.limits if "not the network, limit rates" in words]
    assert len(sentences) == said
    if said:
        assert "The 8 ranks share 2 CPUs" in sentences[0]


def test_without_an_exchange_alone_the_pairs_bandwidth_is_the_measure() -> None:
    size = 1 << 20
    part, _, _ = part_of(
        bisection_run(0.02), pairs_run(8, lambda i, j: 0.01, bytes=size, noise=0.0001)
    )
    worst = labelled(part, "Bisection, worst cut")
    assert worst.limit == pytest.approx(8 * size / 0.01, rel=0.01)
    assert worst.share == pytest.approx(0.5, rel=0.02)
    assert worst.limit_source == "a single pair's ping-pong bandwidth, times 8"


def test_what_was_refuted_or_not_measured_gives_no_part() -> None:
    assert part_of()[0] is None
    found = pairs_run(8, lambda i, j: LATENCY)
    wrong = [replace(m, record=msgspec.structs.replace(m.record, verified=False)) for m in found]
    part, figures, _ = part_of(wrong)
    assert part is None and figures == []


def test_findings_are_plain_json_with_the_planted_numbers_found_once(monkeypatch) -> None:
    """A matrix is analysed once for the answer, the figure and the JSON together."""
    analysed = []

    def count(cells, run, real=fabric.pair_matrices):
        analysed.append(run)
        return real(cells, run)

    monkeypatch.setattr(fabric, "pair_matrices", count)

    def time_of(i, j):
        return LATENCY * (1 if i % 2 == j % 2 else 1.3)

    pairs, ring, cut = pairs_run(12, time_of), ring_run(4, 2, time_of), bisection_run(0.02)
    run = make_run([], measurements=[*pairs, *ring, *cut, *bisection_run(0.008, pairs=1)])
    reply = reply_to("network", summarise_cells(run), run)
    assert len(reply.figures()) == 4 and len(analysed) == 1
    plain = findings_json(reply.findings)
    assert json.loads(json.dumps(plain)) == plain
    found = plain["fabric"]
    (matrix,) = found["pairs"]
    (level,) = matrix["levels"]
    assert level["times"]["value"] == pytest.approx(1.3, rel=0.02)
    assert level["groups"][0] == [f"node{k}" for k in range(0, 12, 2)]
    assert "matrix" not in matrix and matrix["pairs"] == 66
    assert len(found["rings"][0]["hops"]) == 8 and "times" not in found["rings"][0]["hops"][0]
    assert found["cuts"][0]["share"] == pytest.approx(0.4, rel=0.02)


@pytest.mark.slow
def test_a_real_run_of_four_ranks_has_its_part() -> None:
    cells = [
        make_cell("network.pairs", ppn=4),
        make_cell("network.ring", ppn=4),
        make_cell("network.ring", ppn=4, mode="together"),
        make_cell("network.bisection", ppn=4),
        make_cell("network.bisection", ppn=4, pairs=1),
    ]
    records = measure(plain(), *((cell.kernel, cell.parameters) for cell in cells), ranks=4)
    found = [
        make_measurement(cell, record, [], 0) for cell, record in zip(cells, records, strict=True)
    ]
    part, figures, _ = part_of(found)
    assert [row.label.partition(",")[0] for row in part.evidence] == [
        "Median of all pairs",
        "Slowest pair",
        "Ring",
        "Ring",
        "Bisection",
    ]
    assert all(row.value > 0 for row in part.evidence)
    assert labelled(part, "Bisection").share > 0
    assert [figure.id for figure in figures] == [
        "pairs-1",
        "ring-1",
        "ring-2",
        "ring-way-1",
        "bisection",
    ]
    assert [len(figure.rows) for figure in figures] == [12, 4, 4, 4, 2]


def by_rack(a: int, b: int) -> bool:
    """Twelve nodes in three racks of four."""
    return a // 4 == b // 4


def rack_run(ratio: float, **given):
    """A ring and all pairs; messages between racks take ``ratio`` times as long in the ring."""
    pairs = pairs_run(12, lambda a, b: LATENCY * (1 if by_rack(a, b) else 3))
    ring = ring_run(12, 1, lambda a, b: LATENCY * (1 if by_rack(a, b) else ratio), **given)
    return part_of(pairs, ring)


def test_the_topology_that_pairs_show_is_looked_for_in_the_ring() -> None:
    part, figures, run = rack_run(2.0)
    row = labelled(part, "Hops between groups against hops within, ring token, natural order")
    assert row.value == pytest.approx(2.0, rel=0.03)
    assert row.ci95[0] < 2.0 < row.ci95[1]
    assert "3 groups of pairs with 8 B" in row.note
    assert "the topology shows in the ring: hops between groups take " in part.remark
    found = TOPIC.find(Measured(run, summarise_cells(run)))
    (shown,) = found.ring_groups
    assert (shown.shown, len(shown.groups)) == ("shows", 3)
    assert shown.between == pytest.approx(2 * LATENCY, rel=0.03)
    way = next(figure for figure in figures if figure.id == "ring-way-1")
    kinds = [row["kind"] for row in way.rows]
    assert [k for k, kind in enumerate(kinds) if kind == "between groups"] == [3, 7, 11]
    assert kinds.count("within a group") == 9
    for row, after in zip(way.rows, way.rows[1:], strict=False):
        assert row["end"] == after["begin"]
    assert way.rows[-1]["end"] == pytest.approx(15 * LATENCY, rel=0.02)
    (table,) = TOPIC.tables(found)
    assert [entry[2].text for entry in table.rows] == kinds
    assert table.rows[3][0].text == "node3 → node4"
    assert table.rows[3][3].value == pytest.approx(2 * LATENCY, rel=0.03)


def test_a_topology_that_the_ring_hides_is_said() -> None:
    part, _, run = rack_run(1.0)
    assert "the topology doesn't show in the ring, as on Helix" in part.remark
    (found,) = TOPIC.find(Measured(run, summarise_cells(run))).ring_groups
    assert found.shown == "hidden"


def test_without_groups_of_pairs_nothing_is_said_of_the_topology() -> None:
    part, _, run = part_of(ring_run(6, 1, lambda a, b: LATENCY * (1 if a != 2 else 1.05)))
    assert TOPIC.find(Measured(run, summarise_cells(run))).ring_groups == ()
    assert "topology" not in part.remark
