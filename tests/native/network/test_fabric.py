"""network.pairs, network.ring, network.bisection: formulas, checks, and real messages."""

from __future__ import annotations

import itertools

import pytest

from assay.kernels import find_kernel
from assay.model.placement import Placement
from assay.records.schema import MeasurementRecord
from kernel_runs import is_good, measure, measure_faults, plain, sanitized

PAIRS, RING, BISECTION = (
    find_kernel(name) for name in ("network.pairs", "network.ring", "network.bisection")
)
ALL = (PAIRS, RING, BISECTION)


def defaults(kernel, **given):
    return {p.name: p.default for p in kernel.parameters} | given


def named(record: MeasurementRecord, metric: str):
    return [series for series in record.series if series.metric == metric]


def test_work_is_what_messages_carry() -> None:
    assert PAIRS.work(defaults(PAIRS, bytes=100), 6, 1) == {"bytes": 100.0}
    for ranks in (2, 5):  # one message for each rank of the ring
        sent = [100 for _ in range(ranks)]
        assert RING.work(defaults(RING, bytes=100), ranks, 1) == {"bytes": sum(sent)}
    for ranks, pairs in ((2, 0), (6, 0), (6, 1), (6, 3)):
        active = range(pairs or ranks // 2)
        sent = [100 for _ in active for _ in ("there", "back")]
        work = BISECTION.work(defaults(BISECTION, bytes=100, pairs=pairs), ranks, 1)
        assert work == {"bytes": sum(sent), "pair_bytes": 200.0}
    for kernel in ALL:
        assert kernel.memory(defaults(kernel, bytes=1000), 4, 1) == 2000


@pytest.mark.parametrize(
    ("kernel", "ranks", "parameters", "words"),
    [
        (PAIRS, 2, {"between": "nodes"}, "at least 2 nodes"),
        (RING, 3, {"route": "given"}, "'sequence'"),
        (RING, 3, {"sequence": "0-1-2"}, "'sequence'"),
        (RING, 3, {"route": "given", "sequence": "0-1"}, "names 2 of 3"),
        (RING, 3, {"route": "given", "sequence": "0-1-1"}, "twice"),
        (RING, 3, {"route": "given", "sequence": "0-1-3"}, "names rank 3"),
        (RING, 3, {"route": "given", "sequence": "a-b"}, "not a list of ranks"),
        (BISECTION, 3, {}, "even number of ranks, not 3"),
        (BISECTION, 4, {"pairs": 3}, "half of 4 ranks are 2"),
        (BISECTION, 4, {"cut": "given"}, "'half'"),
        (BISECTION, 4, {"cut": "given", "half": "1"}, "must name 2"),
    ],
)
def test_impossible_parameters_are_refused_before_a_launch(
    kernel, ranks, parameters, words
) -> None:
    complaint = kernel.check(defaults(kernel, **parameters), Placement(ppn=ranks))
    assert complaint is not None and words in complaint


@pytest.mark.parametrize(
    ("kernel", "placement", "parameters"),
    [
        (PAIRS, Placement(nodes=2), {"between": "nodes"}),
        (PAIRS, Placement(ppn=3), {}),
        (RING, Placement(ppn=3), {"route": "given", "sequence": "2-0-1"}),
        (BISECTION, Placement(ppn=4), {"cut": "given", "half": "3-0", "pairs": 2}),
    ],
)
def test_possible_parameters_pass(kernel, placement, parameters) -> None:
    assert kernel.check(defaults(kernel, **parameters), placement) is None


@pytest.mark.slow
def test_every_pair_is_reported_once() -> None:
    orders = [{}, {"concurrent": "yes", "bytes": 0}, {"bytes": 70_001, "trips": 2}, {"most": 4}]
    for ranks in (2, 5):
        records = measure(plain(), *((PAIRS.name, each) for each in orders), ranks=ranks)
        for order, record in zip(orders, records, strict=True):
            assert is_good(record), record
            assert record.parameters == defaults(PAIRS, between="ranks", **order)
            pairs = [(s.rank, s.peer) for s in named(record, "pair")]
            every = list(itertools.combinations(range(ranks), 2))
            assert record.facts["pairs_in_all"] == len(every)
            assert record.facts["members"] == ranks
            if "most" in order and ranks == 5:  # two whole rounds of two pairs
                assert len(pairs) == len(set(pairs)) == 4 == record.facts["pairs"]
                assert (record.facts["rounds"], record.facts["rounds_in_all"]) == (2, 5)
                assert set(pairs) < set(every)
            else:
                assert sorted(pairs) == every and record.facts["pairs"] == len(every)
            (passes,), (typical,), (slowest,) = (
                named(record, name) for name in ("time", "median_pair", "slowest_pair")
            )
            assert len(passes.values) == len(typical.values) == len(slowest.values) >= 1
            for s in named(record, "pair"):
                assert s.unit == "s" and len(s.values) == 1 and s.values[0] > 0
            for whole, middle, most in zip(
                passes.values, typical.values, slowest.values, strict=True
            ):
                assert 0 < middle <= most < whole


@pytest.mark.slow
def test_nodes_are_distinguished_from_ranks(monkeypatch) -> None:
    """MPICH can be made to treat one host as two nodes, every other rank on the second."""
    monkeypatch.setenv("MPIR_CVAR_NUM_CLIQUES", "2")
    orders = [
        (PAIRS.name, {}),
        (PAIRS.name, {"between": "ranks"}),
        (BISECTION.name, {}),
        (BISECTION.name, {"cut": "best"}),
    ]
    nodes, ranks, worst, best = measure(plain(), *orders, ranks=4, order="cyclic")
    assert nodes.parameters["between"] == "nodes" and nodes.facts["members"] == 2
    assert [(s.rank, s.peer) for s in named(nodes, "pair")] == [(0, 1)]
    assert ranks.parameters["between"] == "ranks" and len(named(ranks, "pair")) == 6
    # Nodes {0, 2} and {1, 3}: across for the worst cut, within for the best.
    assert {(s.rank, s.peer) for s in named(worst, "exchange")} == {(0, 1), (2, 3)}
    assert {(s.rank, s.peer) for s in named(best, "exchange")} == {(0, 2), (1, 3)}


@pytest.mark.slow
def test_a_ring_reports_each_hop() -> None:
    orders = [
        {"bytes": 8},
        {"mode": "together"},
        {"route": "given", "sequence": "2-0-3-1", "bytes": 0},
        {"mode": "together", "route": "random", "draw": 7},
        {"route": "random", "draw": 7},
        {"route": "random", "draw": 8, "bytes": 70_001},
    ]
    records = measure(plain(), *((RING.name, each) for each in orders), ranks=4)
    rings = []
    for order, record in zip(orders, records, strict=True):
        assert is_good(record), record
        assert record.parameters == defaults(RING, **order)
        hops = {s.rank: s.peer for s in named(record, "hop")}
        assert len(named(record, "hop")) == 4
        assert all(s.unit == "s" and s.values[0] > 0 for s in named(record, "hop"))
        ring, here = [0], hops[0]
        while here != 0:
            ring.append(here)
            here = hops[here]
        rings.append(ring)
        timed = [median is not None for median in record.rank_medians]
        assert sum(timed) == (4 if order.get("mode") == "together" else 1)
    assert rings[:3] == [[0, 1, 2, 3], [0, 1, 2, 3], [0, 3, 1, 2]]
    assert rings[3] == rings[4] != rings[5] and sorted(rings[5]) == [0, 1, 2, 3]


@pytest.mark.slow
def test_cuts_pair_the_halves() -> None:
    orders = [
        {"cut": "worst", "bytes": 1000},
        {"cut": "best", "bytes": 70_001},
        {"cut": "given", "half": "3-0", "bytes": 0},
        {"cut": "random", "draw": 2, "bytes": 8},
        {"cut": "worst", "pairs": 1},
    ]
    wanted = [{(0, 2), (1, 3)}, {(0, 1), (2, 3)}, {(3, 1), (0, 2)}, None, {(0, 2)}]
    records = measure(plain(), *((BISECTION.name, each) for each in orders), ranks=4)
    for order, pairs, record in zip(orders, wanted, records, strict=True):
        assert is_good(record), record
        active = order.get("pairs", 2)
        assert record.parameters == defaults(BISECTION, **order) | {"pairs": active}
        found = {(s.rank, s.peer) for s in named(record, "exchange")}
        assert len(found) == active and len({rank for pair in found for rank in pair}) == 2 * active
        assert pairs is None or found == pairs
        (slow,), (fast,) = named(record, "time"), named(record, "fastest")
        assert all(0 < f <= s for f, s in zip(fast.values, slow.values, strict=True))
        assert sum(median is not None for median in record.rank_medians) == 2 * active


@pytest.mark.slow
@pytest.mark.sanitizable
def test_damage_is_found() -> None:
    """A wrong byte in the timed messages; then a message that is one byte short."""
    cases = [
        (kernel.name, {"bytes": size, "fault": fault, **more})
        for kernel, more in ((PAIRS, {}), (RING, {}), (RING, {"mode": "together"}), (BISECTION, {}))
        for size in (1, 1000)
        for fault in ("none", "byte", "short")
    ]
    for (_, order), record in zip(cases, measure_faults(*cases, ranks=2), strict=True):
        if order["fault"] == "byte":
            assert record.verification.value == 1


@pytest.mark.slow
def test_wrong_parameters_are_reported() -> None:
    wrong = {
        "at least 2 nodes": (PAIRS.name, {"between": "nodes"}),
        "'most' must be between 1 and 8192, not 9000": (PAIRS.name, {"most": 9000}),
        "'bytes' must be between 0 and 1073741824, not -1": (RING.name, {"bytes": -1}),
        "names 'x', but ranks go from 0 to 2": (RING.name, {"route": "given", "sequence": "0-x"}),
        "names rank 1 twice": (RING.name, {"route": "given", "sequence": "0-1-1"}),
        "names 2 of 3 ranks": (RING.name, {"route": "given", "sequence": "0-1"}),
        "'sequence' lists": (RING.name, {"sequence": "0-1-2"}),
        "even number of ranks, not 3": (BISECTION.name, {}),
    }
    for words, record in zip(wrong, measure(plain(), *wrong.values(), ranks=3), strict=True):
        assert record.status == "failed" and words in record.error
    halves = {
        "'half' names 1 ranks, but half of them are 2": {"cut": "given", "half": "1"},
        "'half' lists": {"cut": "given"},
        "'pairs' must be between 0 and 2, not 3": {"pairs": 3},
    }
    found = measure(plain(), *((BISECTION.name, each) for each in halves.values()), ranks=4)
    for words, record in zip(halves, found, strict=True):
        assert record.status == "failed" and words in record.error
    for kernel, record in zip(ALL, measure(plain(), *((k.name, {}) for k in ALL)), strict=True):
        assert record.status == "failed", kernel.name


@pytest.mark.sanitized
@pytest.mark.slow
@pytest.mark.sanitizable
def test_runs_clean_under_the_sanitizers() -> None:
    orders = [
        (PAIRS.name, {"bytes": 70_001}),
        (PAIRS.name, {"bytes": 0, "concurrent": "yes", "most": 2}),
        (RING.name, {"route": "random"}),
        (RING.name, {"mode": "together", "bytes": 1}),
        (BISECTION.name, {"cut": "random", "bytes": 70_001}),
    ]
    for record in measure(sanitized(), *orders, ranks=4):
        assert is_good(record), record
