"""The catalogue's memory of Linpack against the allocation of its kernel."""

from __future__ import annotations

import pytest

from assay.kernels import find_kernel
from assay.model.placement import Value
from kernel_runs import assert_verified, measure, plain


@pytest.mark.slow
@pytest.mark.parametrize(
    "ranks", [1, *(pytest.param(each, marks=pytest.mark.long) for each in (2, 4))]
)
def test_memory_slightly_exceeds_the_kernels_allocation(ranks: int) -> None:
    kernel = find_kernel("linpack")
    assert kernel.memory is not None
    orders: list[tuple[str, dict[str, Value]]] = [
        ("linpack", {"n": n, "nb": nb, "p": p})
        for p in (1, 2, 4)
        if ranks % p == 0
        for n, nb in ((1500, 16), (777, 8))
    ]
    orders.append(("linpack", {"n": 1500}))  # the kernel's own block and grid
    for (_, parameters), record in zip(
        orders, measure(plain(), *orders, ranks=ranks, samples=(1, 1)), strict=True
    ):
        assert_verified(record)
        asked = {p.name: p.default for p in kernel.parameters} | parameters
        upper = kernel.memory(asked, ranks, 1)
        allocated = int(record.facts["memory"])
        assert allocated <= upper, parameters
        if "nb" in parameters:  # where panels and rows of U are small compared with the matrix
            assert upper <= 1.15 * allocated, parameters
