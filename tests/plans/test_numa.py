"""NUMA nodes in plans: bindings and memory that name one."""

from __future__ import annotations

import msgspec
import pytest

from assay.errors import AssayError
from assay.model.placement import Placement
from assay.model.plan import PlanContext
from assay.plans.suites import find_suite, load_plan
from assay.plans.words import plan_from_words
from assay.system.model import Cache, Limits, Memory, NumaNode, Processor, System

TWO_NODES = PlanContext(cores=8, numa={0: 4, 1: 4})


def cells(tmp_path, lines, context=TWO_NODES, head=""):
    path = tmp_path / "plan.toml"
    path.write_text(f'schema = 1\n{head}[[measure]]\nkernel = "memory.stream"\n{lines}\n')
    return load_plan(path, context).cells


def test_every_pair_of_cores_and_memory(tmp_path):
    lines = 'ppn = "cores // numa_nodes"\nbinding = "numa:all"\nmemory_node = "all"'
    found = cells(tmp_path, lines)
    assert [(c.placement.ppn, c.placement.binding, c.parameters["memory_node"]) for c in found] == [
        (4, "numa:0", 0), (4, "numa:0", 1), (4, "numa:1", 0), (4, "numa:1", 1),
    ]  # fmt: skip
    assert [c.placement.numa_node for c in found] == [0, 0, 1, 1]
    # A node with memory and no cores provides memory only.
    memory_only = PlanContext(cores=4, numa={0: 4, 2: 0})
    found = cells(tmp_path, 'binding = "numa:all"\nmemory_node = "all"', memory_only)
    assert [(c.placement.binding, c.parameters["memory_node"]) for c in found] == [
        ("numa:0", 0), ("numa:0", 2),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ('binding = "numa:2"', "There is no NUMA node 2."),
        ("memory_node = 7", "There is no NUMA node 7."),
        (
            'binding = "numa:1"\nppn = 5',
            "binding = numa:1 with 5 ranks of 1 thread needs 5 cores, but NUMA node 1 has 4.",
        ),
        ('binding = "numa:x"', "'binding' can't be 'numa:x'."),
        ('binding = "numa"', "'binding' can't be 'numa'."),
        ("memory_node = -2", "'memory_node' must be at least -1."),
    ],
)
def test_missing_nodes_are_refused_before_a_launch(tmp_path, lines, complaint):
    with pytest.raises(AssayError) as caught:
        cells(tmp_path, lines)
    assert caught.value.what == f"memory.stream: {complaint}"
    assert "plan.toml:" in caught.value.where
    if "There is no" in complaint:
        assert caught.value.fix == "NUMA nodes here: 0, 1."


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["mode=update", "elements=1000"], "a power of two, not 1000"),
        (["mode=read", "elements=1"], "needs more than one element"),
        (["mode=read", "elements=1000"], ""),
        (["mode=update", "elements=0,1024"], ""),
        (["mode=read", "elements=2147483648"], "needs 18.3 GB per node, but 16.0 GB are available"),
    ],
)
def test_impossible_tables_are_refused(words, complaint):
    context = PlanContext(cores=2, memory=16e9)
    if not complaint:
        assert plan_from_words("memory.random", words, context=context).cells
        return
    with pytest.raises(AssayError, match=complaint):
        plan_from_words("memory.random", words, context=context)


def test_a_portable_plan_leaves_out_missing_nodes(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text(
        'schema = 1\nportable = true\n[[measure]]\nkernel = "memory.stream"\n'
        'binding = ["numa:1", "numa:2"]\n'
    )
    plan = load_plan(path, TWO_NODES)
    assert [c.placement.binding for c in plan.cells] == ["numa:1"]
    assert plan.notes == ("Left out memory.stream: There is no NUMA node 2.",)


def test_binding_words_on_the_command_line_and_in_files():
    plan = plan_from_words("memory.stream", context=TWO_NODES, placement={"binding": "numa:01"})
    assert plan.cells[0].placement.binding == "numa:1"
    assert msgspec.convert({"binding": "numa:3"}, Placement).numa_node == 3
    assert Placement().numa_node is None
    for wrong in ("numa:", "numa:-1", "tight", "numa:1 "):
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert({"binding": wrong}, Placement)


def test_usable_cores_of_each_node_and_the_caches_of_a_machine():
    system = System(
        processor=Processor(
            siblings=[[0, 4], [1, 5], [2, 6], [3, 7]],
            caches=[
                Cache(level=3, kind="unified", size=32 << 20, count=2),
                Cache(level=1, kind="instruction", size=1 << 30, count=4),
                Cache(level=2, kind="unified", size=1 << 20, count=4),
            ],
        ),
        memory=Memory(
            nodes=[
                NumaNode(id=0, cpus=[0, 1, 4, 5]),
                NumaNode(id=1, cpus=[2, 3, 6, 7]),
                NumaNode(id=4, cpus=[]),
            ]
        ),
        limits=Limits(affinity=[0, 1, 4, 6]),
    )
    assert system.usable_numa == {0: 2, 1: 1, 4: 0}
    assert system.last_level_caches == 64 << 20
    assert System().usable_numa == {}
    assert System().last_level_caches is None


def test_the_memory_suite_fits_machines_from_one_core_to_two_nodes():
    for context, pairs in ((PlanContext(cores=1, numa={0: 1}), 0), (TWO_NODES, 4)):
        plan = load_plan(find_suite("memory"), context)
        numa = [c for c in plan.cells if c.placement.numa_node is not None]
        assert {c.kernel for c in numa} == ({"memory.stream", "memory.latency"} if pairs else set())
        assert len(numa) == 2 * pairs
    sizes = [
        c.parameters["bytes"]
        for c in load_plan(find_suite("memory"), PlanContext(cores=2, caches=3 << 20)).cells
        if c.kernel == "memory.latency" and c.parameters["pages"] == "huge"
    ]
    assert max(sizes) == 8 << 20 and min(s for s in sizes if s) == 4096
