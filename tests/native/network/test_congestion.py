"""network.congestion: victims and aggressors on nodes that MPICH simulates; checks and formulas."""

from __future__ import annotations

import math
from itertools import product

import pytest

from assay.kernels import find_kernel
from assay.kernels.congestion import AGGRESSORS, LEVELS, VICTIMS, active_nodes, message_bytes
from assay.model.placement import Placement
from assay.records.schema import MeasurementRecord
from kernel_runs import is_good, measure, measure_faults, plain, sanitized

KERNEL = find_kernel("network.congestion")
FEW = {"operations": 3, "load_bytes": 3000}


def defaults(**given):
    return {p.name: p.default for p in KERNEL.parameters} | given


def order(**given):
    return KERNEL.name, FEW | given


@pytest.fixture
def nodes(monkeypatch):
    """Makes MPICH treat one host as several nodes; ranks are distributed cyclically."""

    def several(count: int) -> None:
        monkeypatch.setenv("MPIR_CVAR_NUM_CLIQUES", str(count))

    return several


def values(record: MeasurementRecord, metric: str) -> list[float]:
    (found,) = [series for series in record.series if series.metric == metric]
    assert (found.rank, found.peer) == (None, None)
    return found.values


def listed(record: MeasurementRecord, fact: str) -> list[int]:
    return [int(node) for node in record.facts[fact].split()]


@pytest.mark.parametrize(
    ("placement", "parameters", "words"),
    [
        (Placement(nodes=1, ppn=8), {}, "1 of at least 4 nodes"),
        (Placement(nodes=3), {}, "3 of at least 4 nodes"),
        (Placement(nodes=4), {"share": 0.5}, "share = 0.5 of 2 nodes is 1"),
        (Placement(nodes=7), {"share": 0.1}, "share = 0.1 of 4 nodes is 0"),
        (Placement(nodes=4), {"bytes": 12}, "multiple of 8"),
        (Placement(nodes=4), {}, None),
        (Placement(nodes=5, ppn=2), {"share": 0.5}, None),
        (Placement(nodes=4), {"share": 0.0, "victim": "halo", "bytes": 1}, None),
    ],
)
def test_what_cannot_be_measured_is_refused_before_a_launch(placement, parameters, words) -> None:
    complaint = KERNEL.check(defaults(**parameters), placement)
    assert (complaint is None) == (words is None)
    assert words is None or words in complaint


def test_active_nodes_are_rounded() -> None:
    # Of 2, 3 and 5 nodes.
    counts = [
        [active_nodes({"share": share}, nodes) for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
        for nodes in (4, 5, 10)
    ]
    assert counts == [[0, 1, 1, 2, 2], [0, 1, 2, 2, 3], [0, 1, 3, 4, 5]]


def test_work_is_what_a_rank_sends() -> None:
    for victim, size in product(VICTIMS, (-1, 800)):
        messages = ["left", "right"] if victim == "halo" else ["out"]
        parameters = defaults(victim=victim, bytes=size)
        sent = sum(message_bytes(parameters) for _ in messages)
        assert KERNEL.work(parameters, 8, 1) == {"bytes": sent}


@pytest.mark.slow
def test_every_victim_beside_every_aggressor(nodes) -> None:
    nodes(5)
    cases = list(product(VICTIMS, AGGRESSORS))
    orders = [order(victim=victim, aggressor=aggressor) for victim, aggressor in cases]
    places = set()
    for (victim, aggressor), record in zip(cases, measure(plain(), *orders, ranks=5), strict=True):
        assert is_good(record), record
        sizes = {"bytes": message_bytes(defaults(victim=victim))}
        assert record.parameters == defaults(victim=victim, aggressor=aggressor, **FEW, **sizes)
        victims, aggressors = listed(record, "victims"), listed(record, "aggressors")
        assert len(victims) == 2 and sorted(victims + aggressors) == [0, 1, 2, 3, 4]
        places.add((*victims, *aggressors))
        samples = len(record.series[0].values)
        for phase in ("quiet", "loaded"):
            # Pairs or the slowest rank: one value for each operation.
            assert record.facts[f"operations_{phase}"] == 3 * samples
            assert len(values(record, phase)) == samples and min(values(record, phase)) > 0
            assert 1 <= len(values(record, f"{phase}_quantiles")) <= 3  # of 6 to 12 operations
        for ratio, quiet, loaded in zip(
            *(values(record, name) for name in ("impact", "quiet", "loaded")), strict=True
        ):
            assert ratio == pytest.approx(loaded / quiet)
        assert not [series for series in record.series if "p99" in series.metric]
        assert record.facts["rounds"] > 0 and record.facts["load"] > 0
        assert record.facts["sending"] == 1.0
    assert len(places) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "counts", [(1, 999, 1000), pytest.param((10_000,), marks=pytest.mark.long)]
)
def test_tails_need_enough_operations(nodes, counts: tuple[int, ...]) -> None:
    nodes(4)
    orders = [order(victim="pingpong", operations=count, load_bytes=1) for count in counts]
    for (_, given), record in zip(
        orders, measure(plain(), *orders, ranks=4, samples=(1, 1)), strict=True
    ):
        assert is_good(record), record
        done = given["operations"]
        assert record.facts["operations_quiet"] == record.facts["operations_loaded"] == done
        for phase in ("quiet", "loaded"):
            tail = values(record, f"{phase}_quantiles")
            assert len(tail) == len([p for p in LEVELS if done * (1 - p) >= 1 - 1e-9])
            assert sorted(tail) == tail
            if tail:  # the median of type 8 is the usual one, also of an even number
                assert tail[0] == pytest.approx(values(record, phase)[0], rel=1e-12)
            if done == 1:
                assert values(record, f"{phase}_mean") == values(record, phase)
        for name, needed in (("mean", 1), ("p99", 1000), ("p999", 10_000)):
            kept = {series.metric for series in record.series if series.metric.endswith(f"_{name}")}
            named = {f"{what}_{name}" for what in ("quiet", "loaded", "impact")}
            assert kept == (named if done >= needed else set())
            if done >= needed:
                quiet, loaded, impact = (
                    values(record, f"{what}_{name}")[0] for what in ("quiet", "loaded", "impact")
                )
                assert impact == pytest.approx(loaded / quiet)


@pytest.mark.slow
def test_nodes_are_drawn_by_seed_and_share(nodes) -> None:
    nodes(8)
    cases = [(draw, share) for draw in (1, 2, 1) for share in (1.0, 0.5, 0.0)]
    orders = [
        order(victim="allreduce", aggressor="permutation", draw=draw, share=share)
        for draw, share in cases
    ]
    drawn = []
    for (_, share), record in zip(cases, measure(plain(), *orders, ranks=8), strict=True):
        assert is_good(record), record
        victims, aggressors = listed(record, "victims"), listed(record, "aggressors")
        assert len(set(victims)) == 4 and len(set(aggressors)) == math.floor(4 * share)
        assert not {*victims} & {*aggressors} and {*victims, *aggressors} <= set(range(8))
        assert (record.facts["rounds"] > 0) == (share > 0) == (record.facts["load"] > 0)
        drawn.append((victims, aggressors))
    assert drawn[:3] == drawn[6:] != drawn[3:6]
    whole, half, none = drawn[:3]
    # A larger share has the aggressors of a smaller one, and the same victims.
    assert whole[0] == half[0] == none[0] and whole[1][:2] == half[1] and none[1] == []


@pytest.mark.slow
def test_several_ranks_of_each_node_take_part(nodes) -> None:
    nodes(4)
    cases = list(zip(VICTIMS, AGGRESSORS, strict=True))
    orders = [order(victim=victim, aggressor=aggressor) for victim, aggressor in cases]
    for (victim, _), record in zip(
        cases, measure(plain(), *orders, ranks=8, samples=(2, 2)), strict=True
    ):
        assert is_good(record), record
        # Each of the two slices has one pair.
        pairs = 2 if victim == "pingpong" else 1
        samples = len(record.series[0].values)
        assert record.facts["operations_loaded"] == 3 * samples * pairs


@pytest.mark.slow
@pytest.mark.sanitizable
def test_damage_and_missing_traffic_are_found(nodes) -> None:
    """A wrong byte at a victim or an aggressor, one after a message; traffic that never begins, and
    traffic that ends before the victims do.
    """
    nodes(4)
    orders = [
        order(victim=victim, aggressor=aggressor, fault=fault)
        for victim, aggressor in zip(VICTIMS, AGGRESSORS, strict=True)
        for fault in ("none", "byte", "guard", "load", "idle", "early")
    ]
    measure_faults(*orders, ranks=4, samples=(2, 2))


@pytest.mark.slow
def test_blocks_have_as_many_operations_as_fit(nodes) -> None:
    nodes(4)
    orders = [(KERNEL.name, {"load_bytes": 1000, "victim": "pingpong"})]
    (record,) = measure(plain(), *orders, ranks=4, samples=(1, 1))
    assert is_good(record), record
    assert 10 <= record.parameters["operations"] <= 1000
    assert record.facts["operations_quiet"] <= record.parameters["operations"]


@pytest.mark.slow
def test_wrong_parameters_are_reported(nodes) -> None:
    wrong = {
        "'share' must be between 0 and 1, not 1.5": {"share": 1.5},
        "fewer than two nodes with aggressors": {"share": 0.5},
        "'duty' must be between": {"duty": 0.0},
        "multiple of 8, not 12": {"bytes": 12},
        "'load_bytes' must be between 1": {"load_bytes": 0},
        "'operations' must be between 0": {"operations": -1},
    }
    nodes(4)
    orders = [(KERNEL.name, each) for each in wrong.values()]
    for words, record in zip(wrong, measure(plain(), *orders, ranks=4), strict=True):
        assert record.status == "failed" and words in record.error
    nodes(3)
    (record,) = measure(plain(), (KERNEL.name, {}), ranks=3)
    assert record.status == "failed" and "at least 4 nodes" in record.error
    nodes(4)
    (record,) = measure(plain(), (KERNEL.name, {}), ranks=5)
    assert record.status == "failed" and "same number of ranks on each node" in record.error


@pytest.mark.long
def test_patterns_among_more_nodes_than_partners_of_a_round(nodes) -> None:
    """Eighteen aggressors: a rank has sixteen partners in a round, so patterns take two rounds."""
    nodes(36)
    orders = [
        order(victim="pingpong", aggressor=aggressor, load_bytes=8, operations=1)
        for aggressor in AGGRESSORS
    ]
    for record in measure(plain(), *orders, ranks=36, samples=(1, 1)):
        assert is_good(record), record
        assert len(listed(record, "aggressors")) == 18


@pytest.mark.sanitized
@pytest.mark.slow
@pytest.mark.sanitizable
def test_runs_clean_under_the_sanitizers(nodes) -> None:
    nodes(4)
    orders = [
        order(victim=victim, aggressor=aggressor, duty=0.5)
        for victim, aggressor in zip(VICTIMS, AGGRESSORS, strict=True)
    ]
    for record in measure(sanitized(), *orders, ranks=8, samples=(2, 2)):
        assert is_good(record), record
