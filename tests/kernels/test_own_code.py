"""What a rate of npb.* is a rate of: the code, and the operations done."""

from __future__ import annotations

import pytest

from assay.kernels import find_kernel, npb
from assay.kernels.npb.own_code import (
    OWN_CODE,
    SCALING_DIFFERENCES,
    done_per_operation,
    scaling_difference,
)

# Floating-point operations done in class A over official ones, by the counts of
# tests/native/npb/test_flops_done.py.
DONE = {
    "npb.ep": 19.5,
    "npb.cg": 1.036,
    "npb.mg": 1.133,
    "npb.ft": 0.682,
    "npb.is": None,
    "npb.lu": 0.370,
    "npb.bt": 0.717,
    "npb.sp": 0.843,
}


@pytest.mark.parametrize("kernel", npb.KERNELS, ids=lambda kernel: kernel.name)
def test_the_operations_done_per_official_one(kernel):
    found = done_per_operation(kernel, {"class": "A"})
    assert found == (
        None if DONE[kernel.name] is None else pytest.approx(DONE[kernel.name], rel=2e-3)
    )


@pytest.mark.parametrize("kernel", npb.KERNELS, ids=lambda kernel: kernel.name)
def test_notes_name_the_code_and_the_operations_done(kernel):
    """As ``assay kernels`` and the page of kernels show them."""
    assert kernel.notes.startswith(f"Rates belong to {OWN_CODE}.")
    done = DONE[kernel.name]
    said = "No floating-point operations are done." if done is None else f"{done:.2f}"
    assert said in kernel.notes.rpartition("Verified")[2]
    assert find_kernel(kernel.name) is kernel


def test_differences_name_each_kernel_but_ep_and_no_other():
    assert set(SCALING_DIFFERENCES) == {kernel.name for kernel in npb.KERNELS} - {"npb.ep"}
    assert scaling_difference("memory.stream") == scaling_difference("npb.ep") == ""


def test_mg_computes_the_edges_of_cache_blocks_twice():
    """More in larger classes, whose blocks have fewer rows."""
    mg = find_kernel("npb.mg")
    shares = [done_per_operation(mg, {"class": size}) or 0.0 for size in "ACD"]
    assert shares == sorted(shares) and shares[-1] > 1.3
