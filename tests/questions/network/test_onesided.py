"""One-sided communication: planted costs against messages, of synchronisation and in windows."""

from __future__ import annotations

import pytest

from assay.questions.common.findings import findings_json
from assay.questions.network.onesided.findings import operation, synchronisation
from planted_exchanges import advised, cell_of, planted

PING, STREAM, ONE = "network.pingpong", "network.stream", "network.one_sided"
TIMES = {
    PING: "2e-6 + bytes / 1e10",
    STREAM: "bytes / 1e10 + 1e-7",
    ONE: "(2e-6 + bytes / 1e10) * (1 + 2 * (op == 'put') - 0.4 * (op == 'get')"
    " + (op == 'accumulate')) * (1 + 0.5 * (sync == 'lock') + 2 * (sync == 'fence'))"
    " / (1 + 3 * (window > 1))",
}
CELLS = [
    *(cell_of(PING, bytes=size) for size in (8, 4096, 65536)),
    *(cell_of(ONE, op=op, bytes=size) for op in ("put", "get", "accumulate") for size in (8, 4096)),
    cell_of(ONE, op="fetch_and_op"),
    *(cell_of(ONE, op="put", sync=sync) for sync in ("lock", "fence")),
]


def test_planted_costs_are_found_and_give_advice(tmp_path):
    reply, figures = planted(tmp_path, TIMES, CELLS)
    found = reply.findings.onesided
    against = {(operation(r.above), int(r.above.parameter("bytes"))): r for r in found.messages}
    assert {key: round(r.value, 1) for key, r in against.items()} == {
        **{("put", 8): 3.0, ("put", 4096): 3.0, ("get", 8): 0.6, ("get", 4096): 0.6},
        **{("accumulate", 8): 2.0, ("accumulate", 4096): 2.0, ("fetch_and_op", 8): 1.0},
    }
    slower = {synchronisation(r.above): r.value for r in found.synchronisations}
    assert slower == {"lock": pytest.approx(1.5, rel=0.02), "fence": pytest.approx(3, rel=0.02)}
    assert "with flush takes" in reply.answer.verdict and "of a message" in reply.answer.verdict
    # A round trip, 2 times a message, is exceeded by the put alone; the accumulate equals it.
    (slow,) = advised(reply, "more than a round trip")
    assert slow.startswith("A put of ") and "end many operations with one flush" in slow
    (quick,) = advised(reply, "where the target need not take part", "get of ")
    assert quick.startswith("A get of ")
    assert len(advised(reply, "MPI_Win_lock_all and end transfers")) == 1
    assert len(advised(reply, "with MPI_Win_fence takes ")) == 1
    assert any("round trip, 2 times" in limit for limit in reply.answer.limits)
    assert {"onesided-messages", "onesided-synchronisation"} <= figures.keys()
    assert len(figures["onesided-messages"].rows) == 7
    assert findings_json(found)


def test_windows_are_compared_with_as_many_messages(tmp_path):
    cells = [
        cell_of(STREAM, bytes=65536),
        cell_of(STREAM, bytes=65536, window=16),
        *(cell_of(ONE, op=op, bytes=65536, window=64) for op in ("put", "get")),
        cell_of(ONE, op="accumulate", bytes=65536, window=64),
    ]
    times = {
        STREAM: "bytes / 1e10",
        ONE: "bytes / 1e10 * (1 + (op == 'put'))",
    }
    reply, _ = planted(tmp_path, times, cells)
    rates = {operation(r.above): r.value for r in reply.findings.onesided.windows}
    assert rates == {"put": pytest.approx(0.5, rel=0.02), "get": pytest.approx(1, rel=0.02)}
    (said,) = advised(reply, "bulk data by messages")
    assert "64 per flush" in said and "put" in said


def test_equal_costs_state_no_direction(tmp_path):
    times = {PING: "2e-6", ONE: "2e-6"}
    cells = [cell_of(PING), cell_of(ONE), cell_of(ONE, sync="lock"), cell_of(ONE, sync="fence")]
    reply, _ = planted(tmp_path, times, cells)
    assert len(reply.findings.onesided.messages) == 1
    assert not advised(reply, "flush")
    assert "the time of a message" not in reply.answer.verdict


def test_other_ranks_sizes_and_placements_are_not_compared(tmp_path):
    cells = [
        *(cell_of(PING), cell_of(PING, bytes=4096), cell_of(PING, nodes=2, bytes=16)),
        *(cell_of(ONE, bytes=16), cell_of(ONE, ranks=4), cell_of(ONE, **{"from": 1, "to": 0})),
    ]
    reply, _ = planted(tmp_path, TIMES, cells, launches=2)
    assert reply.findings.onesided.messages == ()


def test_too_few_launches_say_what_is_missing(tmp_path):
    reply, _ = planted(tmp_path, TIMES, [cell_of(PING), cell_of(ONE)], launches=2)
    assert [lack.method for lack in reply.findings.onesided.missing] == [
        "one-sided communication against messages"
    ]
    assert advised(reply, "one-sided communication against messages", "6 needed")
