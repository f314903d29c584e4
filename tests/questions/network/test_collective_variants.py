"""Persistent collectives and blocks of different sizes: planted ratios to the usual calls."""

from __future__ import annotations

import pytest

from assay.questions.network.collectives.points import operation
from planted_exchanges import advised, cell_of, planted

KERNEL = "network.collective"


def test_persistent_calls_are_compared_with_blocking_ones(tmp_path):
    cells = [
        cell_of(KERNEL, 16, op=op, bytes=size, **call)
        for op in ("allreduce", "alltoall", "bcast")
        for size in (8, 4096)
        for call in ({}, {"call": "persistent"})
    ]
    times = {
        KERNEL: "1e-5 * (1 - 0.2 * (call == 'persistent') * (op == 'allreduce')"
        " + 0.6 * (call == 'persistent') * (op == 'alltoall') * (bytes == 8))"
    }
    reply, figures = planted(tmp_path, times, cells)
    found = reply.findings.collectives.variants
    assert len(found.persistent) == 6
    values = {
        (operation(r.above), int(r.above.parameter("bytes"))): round(r.value, 1)
        for r in found.persistent
    }
    assert values[("allreduce", 8)] == values[("allreduce", 4096)] == 0.8
    assert (values[("alltoall", 8)], values[("bcast", 8)]) == (1.6, 1.0)
    (quick,) = advised(reply, "make persistent requests")
    assert quick.startswith("Allreduce of ")
    (slow,) = advised(reply, "keep blocking calls")
    assert slow.startswith("Alltoall of 8 B on 16 ranks by a persistent request takes ")
    # The usual curves and the verdict have no persistent calls.
    usual = reply.findings.collectives
    assert all(p.summary.cell.parameters.get("call") is None for p in usual.size_curves)
    assert usual.head.summary.cell.parameters.get("call") is None
    assert len(figures["collectives-persistent"].rows) == 6


def test_unequal_blocks_are_judged_by_what_the_busiest_rank_receives(tmp_path):
    """Both take three times as long. An all-to-all's busiest rank receives three times as much; an
    allgather's receives hardly more than with equal blocks.
    """
    cells = [
        cell_of(KERNEL, 16, op=op, bytes=4096, **skew)
        for op in ("allgatherv", "alltoallv")
        for skew in ({}, {"imbalance": 3.0})
    ]
    reply, figures = planted(tmp_path, {KERNEL: "1e-5 * imbalance"}, cells)
    found = {operation(e.times.above): e for e in reply.findings.collectives.variants.unequal}
    assert found["alltoallv"].received == 3.0
    # Blocks fall by a factor q from 3 means to the last one, which alone need not be received.
    q = next(q / 1e5 for q in range(1, 10**5) if sum((q / 1e5) ** k for k in range(16)) > 16 / 3)
    assert found["allgatherv"].received == pytest.approx((16 - 3 * q**15) / 15, abs=1e-3)
    for each in found.values():
        assert each.imbalance == 3.0
        assert each.times.value == pytest.approx(3, rel=0.02)
    (said,) = advised(reply, "even out the blocks")
    assert said.startswith("Allgatherv of 4 KiB on 16 ranks with blocks up to 3 times the mean")
    assert len(figures["collectives-imbalance"].rows) == 2


def test_variants_alone_are_reported_without_a_ratio(tmp_path):
    cells = [cell_of(KERNEL, 16, op="alltoallv", bytes=4096, imbalance=2.0)]
    reply, _ = planted(tmp_path, {KERNEL: "1e-5"}, cells, launches=2)
    found = reply.findings.collectives
    assert found.variants.unequal == ()
    assert found.head.summary.cell.parameters["imbalance"] == 2.0
