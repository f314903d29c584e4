"""The suites that come with assay."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from assay.errors import AssayError
from assay.kernels import kernels
from assay.model.plan import PlanContext
from assay.plans.suites import find_plan, find_suite, load_plan, suites
from plan_files import TWO


def test_suites_are_found_by_name():
    assert find_plan("quick") == find_suite("quick")
    assert find_plan("./quick") == Path("./quick")
    assert find_plan("mine.toml") == Path("mine.toml")
    with pytest.raises(AssayError, match="Did you mean 'quick'"):
        find_suite("quik")


@pytest.mark.parametrize("name", sorted(suites()))
@pytest.mark.parametrize("context", [PlanContext(1), TWO, PlanContext(128, 16)])
def test_shipped_suites_load_everywhere(name, context):
    two_toolchains = replace(context, toolchains=("embedded", "site"))
    if name == "congestion" and context.nodes < 4:
        with pytest.raises(AssayError, match=f"{context.nodes} of at least 4 nodes"):
            load_plan(find_suite(name), two_toolchains)
        return
    plan = load_plan(find_suite(name), two_toolchains)
    assert plan.name == name
    assert plan.cells
    # Only cells that need more nodes than available, or too many bytes for MPI, may be left out.
    few = (
        ("nodes = 2", ": 1 rank, but it needs at least 2", "1 of at least 4 nodes")
        if context.nodes == 1
        else ("int of MPI",)
    )
    if name == "gpu":  # of unknown devices
        few += ("gpu.peer", "gpu.collective", "gpu.all")
    if context.cores > 1:
        assert [note for note in plan.notes if not any(word in note for word in few)] == []


def test_standard_and_full_hold_everything():
    parts = {"quick", "memory", "network", "storage", "noise"}
    wide = PlanContext(128, 16, toolchains=("embedded", "site"))
    plans = {name: load_plan(find_suite(name), wide).cells for name in suites()}
    cells = {name: {c.id for c in plan} for name, plan in plans.items()}
    assert set().union(*(cells[part] for part in parts)) < cells["standard"] < cells["full"]
    assert cells["npb"] < cells["full"]
    benchmarks = {kernel.name for kernel in kernels() if kernel.name.startswith("npb.")}
    for name in ("standard", "npb"):
        assert benchmarks == {c.kernel for c in plans[name] if c.kernel.startswith("npb.")}
    measured = {c.kernel for c in load_plan(find_suite("full"), wide).cells}
    # Machines without devices are the usual case: their kernels are measured by name.
    assert measured == {each.name for each in kernels() if not each.name.startswith("gpu.")}


def test_quick_measures_what_it_promises():
    plan = load_plan(find_suite("quick"), TWO)
    assert {c.kernel for c in plan.cells} == {
        *("memory.stream", "compute.peak", "compute.dgemm"),
        *("network.pingpong", "network.barrier", "npb.ep", "npb.cg"),
    }
    assert plan.replication.min_launches >= 6
    assert plan.replication.budget <= 100
    stream = {
        (c.parameters["op"], c.placement.ranks) for c in plan.cells if c.kernel == "memory.stream"
    }
    assert len(stream) == 8
    sizes = [c.parameters["bytes"] for c in plan.cells if c.kernel == "network.pingpong"]
    assert sizes == [0, *(1 << k for k in range(23))]


def test_suite_linpack_searches_at_each_placement_that_it_measures():
    for context in (TWO, PlanContext(cores=12, nodes=5), PlanContext(cores=1)):
        cells = load_plan(find_suite("linpack"), context).cells
        searches = [c.placement for c in cells if c.kernel == "linpack.search"]
        assert {c.placement for c in cells if c.kernel == "linpack"} == set(searches)
        assert len(set(searches)) == len(searches)
        whole = [c for c in cells if c.kernel == "linpack" and c.parameters["fraction"] == 1.0]
        assert [c.placement.ranks for c in whole] == [context.cores * context.nodes]
