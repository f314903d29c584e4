"""Exchanges between neighbours: planted differences between methods."""

from __future__ import annotations

import pytest

from assay.questions.common.findings import findings_json
from assay.questions.network.neighbours.findings import method
from planted_exchanges import advised, cell_of, planted

KERNEL = "network.neighbour"
METHODS = ("collective", "messages", "persistent", "persistent_collective")


def test_planted_methods_are_found_and_give_advice(tmp_path):
    cells = [cell_of(KERNEL, 16, method=m, bytes=size) for m in METHODS for size in (8, 4096)]
    times = {
        KERNEL: "1e-5 * (1 - 0.3 * (method == 'messages') * (bytes > 8)"
        " + 0.5 * (method == 'persistent_collective') * (bytes == 8))"
    }
    reply, figures = planted(tmp_path, times, cells)
    found = reply.findings.neighbours
    values = {(method(r.above), int(r.above.parameter("bytes"))): r.value for r in found.methods}
    assert values == {
        ("messages", 8): pytest.approx(1, rel=0.02),
        ("messages", 4096): pytest.approx(0.7, rel=0.02),
        ("persistent", 8): pytest.approx(1, rel=0.02),
        ("persistent", 4096): pytest.approx(1, rel=0.02),
        ("persistent_collective", 8): pytest.approx(1.5, rel=0.02),
        ("persistent_collective", 4096): pytest.approx(1, rel=0.02),
    }
    (quick,) = advised(reply, "exchange by messages at this size")
    assert quick.startswith("Neighbour alltoall of 4 KiB by messages on 16 ranks takes ")
    (slow,) = advised(reply, "exchange by the neighbourhood collective at this size")
    assert slow.startswith("Neighbour alltoall of 8 B by the persistent neighbourhood collective")
    assert len(advised(reply, "eighbour")) == 2
    assert len(figures["neighbours-methods"].rows) == 6
    assert reply.answer.verdict.startswith("Neighbour alltoall of 8 B by the neighbourhood")
    assert findings_json(found)


def test_another_grid_or_operation_is_not_compared(tmp_path):
    cells = [
        cell_of(KERNEL, 16),
        cell_of(KERNEL, 16, method="messages", dimensions=3),
        cell_of(KERNEL, 16, method="messages", op="allgather"),
        cell_of(KERNEL, 8, method="messages"),
    ]
    reply, figures = planted(tmp_path, {KERNEL: "1e-5"}, cells, launches=2)
    assert reply.findings.neighbours.methods == ()
    assert "neighbours-methods" not in figures
