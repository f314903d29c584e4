"""Sizes and cells of a plan follow the time that messages need on the machine's links."""

from __future__ import annotations

import dataclasses
import re

import pytest

from assay.errors import AssayError
from assay.kernels import find_kernel
from assay.kernels.collective import COLLECTIVES
from assay.model.plan import PlanContext
from assay.model.replication import Replication
from assay.plans.feasibility import link_speed, network_seconds
from assay.plans.suites import find_suite, load_plan
from plan_files import levels, load, measure

FAST = 12.5e6
SIXTEEN = PlanContext(cores=1, nodes=16, adapter_speed=FAST)
TRUNKS = dataclasses.replace(SIXTEEN, slowest_link=1.25e6)
UNKNOWN = dataclasses.replace(SIXTEEN, adapter_speed=None)


def defaults(name, **given):
    return {p.name: p.default for p in find_kernel(name).parameters} | given


def seconds(name, nodes, ppn=1, context=TRUNKS, **given):
    kernel = find_kernel(name)
    return network_seconds(kernel, defaults(name, **given), nodes, ppn, context)


def test_two_nodes_are_limited_by_adapters_and_more_by_the_slowest_link():
    assert link_speed(2, TRUNKS) == FAST
    assert link_speed(3, TRUNKS) == 1.25e6
    assert link_speed(3, SIXTEEN) == FAST
    assert link_speed(2, UNKNOWN) is None
    assert link_speed(3, dataclasses.replace(UNKNOWN, slowest_link=5.0)) == 5.0


def test_expected_seconds_are_those_of_the_messages_one_after_the_other():
    """The cases are counted by hand from the kernels' sources."""
    size = 1 << 20
    # A round trip timed, and round trips of 1, 2, 4 … 2^20 B in the check: 3 in all, both ways.
    assert seconds("network.pingpong", 2, bytes=size) == 6 * size / FAST
    assert seconds("network.stream", 2, bytes=size, window=64) == 3 * 64 * size / FAST
    # 120 pairs: 2 round trips each before and in the pass; 15 rounds with one in the check.
    pairs = (120 * (4 + 4) + 15 * 2) * 8192 / 1.25e6
    assert seconds("network.pairs", 16, bytes=8192) == pairs
    # Of five nodes there are 10 pairs in 5 rounds, each without one node.
    few = (10 * 8 + 5 * 2) * 8192 / 1.25e6
    assert seconds("network.pairs", 5, bytes=8192) == few
    assert seconds("network.pairs", 5, bytes=8192, concurrent="yes") == 5 * 10 * 8192 / 1.25e6
    assert seconds("network.pairs", 16, bytes=8192, most=12) < seconds(
        "network.pairs", 16, bytes=8192
    )
    assert seconds("network.ring", 16, bytes=1000) == 16 * 10 * 1000 / 1.25e6
    assert seconds("network.ring", 16, bytes=1000, mode="together") == 4 * 1000 / 1.25e6
    assert seconds("network.bisection", 16, 4, bytes=1000) == 3 * 4 * 1000 / 1.25e6
    assert seconds("network.bisection", 16, 4, bytes=1000, cut="best") == 0.0
    assert seconds("network.collective", 16, op="alltoall", bytes=size) == 15 * size / 1.25e6
    assert seconds("network.collective", 8, 2, op="alltoall", bytes=10) == 2 * 14 * 10 / 1.25e6
    assert seconds("network.collective", 16, op="barrier") == 0.0
    for op in COLLECTIVES[1:]:  # never more than all that must be moved
        parameters = defaults("network.collective", op=op, bytes=8)
        work = find_kernel("network.collective").work(parameters, 16, 1)["bytes"]
        assert 0 < seconds("network.collective", 16, op=op, bytes=8) * 1.25e6 <= work


def test_nothing_is_expected_within_a_node_or_of_unknown_links():
    for name in ("network.pingpong", "network.pairs", "network.ring", "network.concurrent"):
        assert seconds(name, 1, 4, bytes=1 << 20) == 0.0
        assert seconds(name, 4, bytes=1 << 20, context=UNKNOWN) == 0.0
        assert seconds(name, 4, bytes=1 << 20) > 0.0
    assert network_seconds(find_kernel("npb.lu"), {"class": "A"}, 4, 1, TRUNKS) == 0.0


def test_the_largest_of_listed_sizes_is_taken(tmp_path):
    def chosen(context, limit):
        listed = 'of = ["1 KiB", "8 KiB", "64 KiB"]'
        lines = (
            f'kernel = "network.pairs"\nnodes = "all"\nbytes = {{ largest = "{limit}", {listed} }}'
        )
        return measure(tmp_path, lines, context)

    for limit, size in ((0.9, 1024), (6.4, 1024), (6.5, 8192), (51.0, 8192), (52.0, 65536)):
        plan = chosen(TRUNKS, f"seconds <= {limit}")
        assert levels(plan, "bytes") == [size]
        assert plan.choices == (
            f"network.pairs: bytes={size}, the largest with seconds <= {limit}.",
        )
    assert levels(chosen(SIXTEEN, "seconds <= 6.5"), "bytes") == [65536]  # ten times as fast
    assert levels(chosen(UNKNOWN, "seconds <= 1e-9"), "bytes") == [65536]
    assert levels(chosen(TRUNKS, "bytes < 20000"), "bytes") == [8192]
    with pytest.raises(AssayError, match=r"no bytes has seconds < 0\.1"):
        chosen(TRUNKS, "seconds < 0.1")


@pytest.mark.parametrize(
    ("level", "complaint"),
    [
        ('{ largest = "1", of = [] }', "must list the levels"),
        ('{ largest = "1", of = 8 }', "must list the levels"),
        ('{ largest = "1", of = [{ from = 1, to = 2, step = 1 }] }', "must list the levels"),
        ('{ largest = "1", of = ["1 s"] }', "'bytes'"),
        ('{ largest = "1", of = [8], to = 9 }', "by a single condition"),
        ('{ largest = "1" }', "no choices to take the largest of"),
    ],
)
def test_mistakes_in_listed_levels_are_named(tmp_path, level, complaint):
    with pytest.raises(AssayError, match=re.escape(complaint)):
        measure(tmp_path, f'kernel = "network.pairs"\nnodes = "all"\nbytes = {level}', TRUNKS)


MANY = """
schema = 1
portable = {portable}
[replication]
budget = "{budget} s"
[[measure]]
kernel = "network.collective"
nodes = "all"
op = "alltoall"
bytes = [8, 16, 32, 64, 128, 256, 512, "32 KiB", "1 MiB"]
"""


def test_what_cannot_end_in_time_is_left_out_with_a_note(tmp_path):
    def planned(portable="true", budget=180, context=TRUNKS):
        return load(tmp_path, MANY.format(portable=portable, budget=budget), context)

    # A quarter of 180 s / 6 launches is 7.5 s; 15 blocks of 1 MiB take 12.6 s at 10 Mbit/s.
    plan = planned()
    assert levels(plan, "bytes")[-1] == 32768 and len(plan.cells) == 8
    (note,) = plan.notes
    assert note.startswith("Left out network.collective op=alltoall bytes=1048576")
    assert "over links of 10.0 Mbit/s the shortest measurement takes 12.6 s" in note
    assert "7.50 s" in note and "--budget" in note
    # Times under 10 ms aren't worth a record.
    assert list(plan.expected.values()) == [pytest.approx(15 * 32768 / 1.25e6)]
    for whole in (planned(budget=310), planned(portable="false"), planned(context=SIXTEEN)):
        assert len(whole.cells) == 9 and whole.notes == ()
    assert planned(context=UNKNOWN).expected == {}


def test_a_plan_of_few_cells_has_no_limit():
    rule = Replication(budget=180.0)
    assert rule.longest(7) == float("inf")
    assert rule.longest(8) == 7.5
    assert Replication(budget=180.0, cell_budget=1.0).longest(100) == float("inf")


def test_the_network_suite_suits_slow_trunks_and_keeps_its_sizes_elsewhere():
    def sizes(context, kernel):
        plan = load_plan(find_suite("network"), context, seed=1, changes={"budget": "180 s"})
        return {c.parameters["bytes"] for c in plan.cells if c.kernel == f"network.{kernel}"}

    # 16 hosts with 100 Mbit/s, and trunks of 10 Mbit/s: a 1 MiB matrix would take 14 minutes.
    assert sizes(TRUNKS, "pairs") == {8, 8192}
    assert sizes(TRUNKS, "ring") == {16384}
    assert sizes(TRUNKS, "bisection") == {1 << 18}
    for context in (
        PlanContext(cores=4, nodes=16, adapter_speed=1.25e10),
        PlanContext(cores=4, nodes=16),
    ):
        assert sizes(context, "pairs") == {8, 1 << 20}
        assert sizes(context, "ring") == {127000}
        assert sizes(context, "bisection") == {1 << 20}
    # Hosts with one core have one rank each; of an odd number of hosts one is left out.
    odd = PlanContext(cores=1, nodes=27, adapter_speed=FAST)
    plan = load_plan(find_suite("network"), odd, seed=1)
    ranks = {c.placement.ranks for c in plan.cells if c.kernel == "network.bisection"}
    assert ranks == {26}
