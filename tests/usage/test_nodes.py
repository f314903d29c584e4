"""Lists of nodes as ranges; use by node, and sharing, against a count second by second."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.hostnames import expand_hosts
from assay.usage import node_use
from assay.usage.node_use import GridUse, NodePairs, pieces, sharing
from assay.usage.nodes import NodeCollector, named_nodes


@pytest.mark.parametrize(
    "text",
    [
        "n1", "n[1-3]", "n[001-003,7-12],login", "n[8-12]", "n[08-120]", "rack[1-2]n[3-4]",
        "n9,n10,n11", "n[1-2]-ib", "n3.cluster.org,n4.cluster.org", "a,b,a",
    ],
)  # fmt: skip
def test_ranges_name_the_same_nodes(text: str) -> None:
    collector = NodeCollector()
    at = collector.add(collector.ranges(text))
    count = len(collector.ranges(text))
    lists = collector.lists()
    job, nodes = lists.expanded(np.array([at]), np.array([count]))
    assert sorted(map(lists.name, nodes.tolist())) == sorted(set(expand_hosts(text)))
    assert lists.counts(np.array([at]), np.array([count])).tolist() == [nodes.size]
    assert set(job.tolist()) == {0}
    assert named_nodes(lists).tolist() == sorted(nodes.tolist())


@pytest.mark.parametrize("text", ["n[3-1]", "n[", "n[1-9999999]", "n[a-b]", ""])
def test_text_that_is_no_list_of_nodes(text: str) -> None:
    assert NodeCollector().ranges(text) == ()


def test_a_thousand_nodes_are_one_range() -> None:
    ((first, last),) = NodeCollector().ranges("cn[1000-1999]")
    assert last - first == 999
    assert NodeCollector().ranges(",".join(f"cn{n}" for n in range(1000, 2000))) == ((first, last),)


# Node, begin and length of jobs' runs on nodes; a job may have several.
RUNS = st.lists(
    st.tuples(st.integers(0, 7), st.integers(0, 4), st.integers(0, 30), st.integers(0, 9)),
    max_size=25,
)


def columns(runs: list[tuple[int, int, int, int]]) -> NodePairs:
    """Each (job, node) once, with the job's first times."""
    times: dict[int, tuple[int, int]] = {}
    seen = {}
    for job, node, begin, length in runs:
        times.setdefault(job, (begin, begin + length))
        seen[job, node] = times[job]
    rows = [(job, node, *when) for (job, node), when in seen.items()]
    table = np.array(rows or np.empty((0, 4)), dtype=np.float64)
    job, node, start, end = table.T
    return NodePairs(job.astype(np.int64), node.astype(np.int64), start, end, 1.0 + job)


@settings(max_examples=60)
@given(RUNS, st.sampled_from([2, 1000]))
def test_sharing_against_every_pair(runs: list[tuple[int, int, int, int]], size: int) -> None:
    pairs = columns(runs)
    each = list(
        zip(*(v.tolist() for v in (pairs.job, pairs.node, pairs.start, pairs.end)), strict=True)
    )
    expected = [False] * 8
    for a, on, begin, end in each:
        for b, other, start, until in each:
            if a != b and on == other and max(begin, start) < min(end, until):
                expected[int(a)] = True
    before = node_use.PAIRS
    node_use.PAIRS = size  # 2: in temporary files
    try:
        found = sharing(lambda: iter([pairs]), 8, 5, pairs.job.size)
    finally:
        node_use.PAIRS = before
    assert found.tolist() == expected


@settings(max_examples=60)
@given(RUNS)
def test_a_map_against_a_count_of_every_second(runs: list[tuple[int, int, int, int]]) -> None:
    pairs = columns(runs)
    edges = np.arange(4.0, 37.0, 8.0)
    grid = GridUse(5, edges)
    grid.add(pairs.node, pairs.start, pairs.end, pairs.processors)
    each = list(
        zip(
            *(v.tolist() for v in (pairs.node, pairs.start, pairs.end, pairs.processors)),
            strict=True,
        )
    )
    for row in range(5):
        for k, (low, high) in enumerate(pairwise(edges.tolist())):
            count = sum(
                amount
                for second in range(int(low), int(high))
                for node, start, end, amount in each
                if node == row and start <= second < end
            )
            assert grid.sums()[row, k] == pytest.approx(count)


def test_pieces_hold_all_jobs_once() -> None:
    counts = np.array([node_use.PAIRS, 5, 3, node_use.PAIRS * 2, 1])
    found = list(pieces(counts))
    assert [index for piece in found for index in range(piece.start, piece.stop)] == list(range(5))
    assert len(found) > 1
    assert list(pieces(np.array([], dtype=np.int64))) == []
