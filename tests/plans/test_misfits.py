"""Cells that a machine or a kernel can't run are refused or left out before a launch."""

from __future__ import annotations

from dataclasses import replace

import pytest

from assay.errors import AssayError
from assay.model.plan import PlanContext
from assay.plans.words import plan_from_words
from plan_files import TWO, measure


def test_more_than_there_is_only_when_allowed(tmp_path):
    lines = 'kernel = "npb.ep"\nppn = 3'
    with pytest.raises(AssayError, match="ppn = 3 needs 3 cores, but a node has 2"):
        measure(tmp_path, lines)
    plan = measure(tmp_path, lines, head="oversubscribe = true\n")
    assert plan.cells[0].placement.ppn == 3
    words = plan_from_words("npb.ep", context=TWO, placement={"ppn": 3}, oversubscribe=True)
    assert words.cells == plan.cells


def test_threads_for_a_kernel_without():
    with pytest.raises(AssayError, match=r"'network\.barrier' has no threads"):
        plan_from_words("network.barrier", context=PlanContext(4), placement={"threads": 2})


def test_what_does_not_fit_into_memory_is_refused_before_anything_is_launched(tmp_path):
    text = 'kernel = "compute.dgemm"\nn = [100, 20000]\nppn = 2'
    room = PlanContext(2, memory=2 * 3 * 8 * 20000**2)
    assert len(measure(tmp_path, text, room).cells) == 2
    tight = PlanContext(2, memory=2 * 3 * 8 * 20000**2 - 1)
    with pytest.raises(
        AssayError, match=r"compute.dgemm n=20000 needs 19\.2 GB per node, but 19\.2 GB"
    ) as caught:
        measure(tmp_path, text, tight)
    assert "plan.toml:" in caught.value.where
    assert "smaller" in caught.value.fix
    plan = measure(tmp_path, text, tight, head="portable = true\n")
    assert [cell.parameters["n"] for cell in plan.cells] == [100]
    assert "n=20000 needs" in plan.notes[0]


def test_an_order_that_memory_can_t_hold_is_refused(tmp_path):
    context = PlanContext(cores=4, memory=8e9)
    assert measure(tmp_path, 'kernel = "linpack"\nppn = 4\nn = 30000', context).cells
    with pytest.raises(AssayError, match=r"needs .* per node"):
        measure(tmp_path, 'kernel = "linpack"\nppn = 4\nn = 32000', context)
    assert measure(tmp_path, 'kernel = "linpack"\nppn = 4', context).cells  # the kernel checks it


def test_a_grid_that_can_t_hold_the_ranks_is_refused_before_anything_is_launched(tmp_path):
    with pytest.raises(AssayError, match="2 doesn't divide 3"):
        measure(tmp_path, 'kernel = "linpack"\nppn = 3\np = 2', PlanContext(cores=4))


MPI_4 = {
    'kernel = "network.pingpong"\nmode = ["blocking", "partitioned"]': "mode = partitioned",
    'kernel = "network.collective"\ncall = ["blocking", "persistent"]': "call = persistent",
    'kernel = "network.neighbour"\nmethod = ["messages", "persistent_collective"]': (
        "method = persistent_collective"
    ),
}


@pytest.mark.parametrize("lines", MPI_4)
def test_what_an_older_mpi_library_lacks_is_left_out(tmp_path, lines):
    both = replace(TWO, toolchains=("embedded", "site"), older_mpi={"site": "Open MPI 4.1.4"})
    text = f'{lines}\nppn = 2\ntoolchain = ["embedded", "site"]'
    said = f"{MPI_4[lines]} needs MPI 4, and toolchain 'site' has Open MPI 4.1.4."
    with pytest.raises(AssayError) as caught:
        measure(tmp_path, text, both)
    assert caught.value.what.endswith(said) and "Open MPI 5" in caught.value.fix
    plan = measure(tmp_path, text, both, head="portable = true\n")
    assert [cell.toolchain for cell in plan.cells].count("embedded") == 2
    assert [cell.toolchain for cell in plan.cells].count("site") == 1
    assert any(said in note for note in plan.notes)


def test_a_plan_without_cells_says_why(tmp_path):
    text = 'kernel = "network.barrier"\nppn = "all"'
    with pytest.raises(AssayError, match="Nothing of this plan") as caught:
        measure(tmp_path, text, PlanContext(1), head="portable = true\n")
    assert "1 rank, but it needs at least 2" in caught.value.detail
