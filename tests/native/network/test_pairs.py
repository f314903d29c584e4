"""network.multi_pingpong and network.concurrent: pairs that communicate concurrently."""

from __future__ import annotations

import statistics

import pytest

from assay.kernels import find_kernel
from assay.model.placement import Placement
from assay.records.schema import MeasurementRecord
from kernel_runs import is_good, measure, measure_faults, plain, sanitized

MULTI = find_kernel("network.multi_pingpong")
CONCURRENT = find_kernel("network.concurrent")


def timing_ranks(record: MeasurementRecord) -> list[int]:
    return [rank for rank, median in enumerate(record.rank_medians) if median is not None]


def assert_both_ends(record: MeasurementRecord) -> None:
    """Good, and with slowest and fastest of every sample consistent with the ranks' own series."""
    assert is_good(record), record
    assert [series.metric for series in record.series] == ["time", "fastest"]
    slowest, fastest = (series.values for series in record.series)
    assert len(slowest) == len(fastest)
    assert all(0 < low <= high for low, high in zip(fastest, slowest, strict=True))
    for own in (record.rank_medians[rank] for rank in timing_ranks(record)):
        cut = record.warmup
        assert statistics.median(fastest[cut:]) <= own <= statistics.median(slowest[cut:])


def test_work_of_a_pair_and_of_all() -> None:
    assert MULTI.work({"bytes": 1000}, 16, 1) == {"bytes": 1000.0, "all_bytes": 8000.0}
    assert CONCURRENT.work({"bytes": 10, "senders": 3}, 16, 1) == {"bytes": 10.0, "all_bytes": 30.0}
    assert CONCURRENT.work({"bytes": 10, "senders": 0}, 6, 1)["all_bytes"] == 30.0


def test_an_odd_number_of_ranks_is_refused_before_the_launch() -> None:
    assert MULTI.check({}, Placement(ppn=4)) is None
    assert MULTI.check({}, Placement(nodes=2, ppn=3)) is None
    assert "3 ranks can't be paired" in (MULTI.check({}, Placement(ppn=3)) or "")


@pytest.mark.parametrize(
    ("nodes", "ppn", "most"), [(1, 2, 1), (1, 5, 2), (2, 1, 1), (2, 4, 4), (3, 2, 2), (4, 8, 8)]
)
def test_the_number_of_senders_is_limited(nodes: int, ppn: int, most: int) -> None:
    placement = Placement(nodes=nodes, ppn=ppn)
    for senders in range(most + 1):
        assert CONCURRENT.check({"senders": senders}, placement) is None
    assert f"has {most} rank" in (CONCURRENT.check({"senders": most + 1}, placement) or "")


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 4])
def test_all_ranks_communicate_in_pairs(ranks: int) -> None:
    cases = [(p, b) for p in ("halves", "neighbours") for b in (0, 8, 4099, 70_001)]
    found = measure(
        plain(), *((MULTI.name, {"bytes": b, "pairing": p}) for p, b in cases), ranks=ranks
    )
    for (pairing, size), record in zip(cases, found, strict=True):
        assert_both_ends(record)
        assert record.parameters == {"bytes": size, "pairing": pairing}
        assert record.facts == {"pairs": ranks // 2}
        first = range(ranks // 2) if pairing == "halves" else range(0, ranks, 2)
        assert timing_ranks(record) == list(first)


@pytest.mark.slow
def test_one_or_several_send_concurrently() -> None:
    two, four = (
        measure(
            plain(), *((CONCURRENT.name, {"bytes": 4099, "senders": k}) for k in range(4)), ranks=n
        )
        for n in (3, 4)
    )
    assert [record.status for record in two] == ["ok", "ok", "failed", "failed"]
    assert "'senders' is 3, but only 2 ranks" in four[3].error
    for record, partners in (
        (two[0], "0>2"),
        (two[1], "0>2"),
        (four[0], "0>2 1>3"),
        (four[1], "0>2"),
        (four[2], "0>2 1>3"),
    ):
        assert_both_ends(record)
        assert record.facts == {"partners": partners}
        senders = partners.count(">")
        assert record.parameters == {"bytes": 4099, "senders": senders}
        assert timing_ranks(record) == list(range(senders))


@pytest.mark.slow
def test_a_rank_of_another_node_is_sent_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """MPICH treats even and odd ranks as nodes: messages bypass shared memory, one-sided too."""
    monkeypatch.setenv("MPIR_CVAR_ODD_EVEN_CLIQUES", "1")
    sent, put, got = measure(
        plain(),
        (CONCURRENT.name, {"bytes": 1 << 17}),
        ("network.pingpong", {"mode": "put", "bytes": 9, "to": 1}),
        ("network.stream", {"mode": "get", "bytes": 8, "buffers": "each", "window": 3, "to": 1}),
        ranks=3,
        order="cyclic",
    )
    assert_both_ends(sent)
    assert sent.facts == {"partners": "0>1"}  # on a single node it would be 0>2
    assert is_good(put) and is_good(got)


@pytest.mark.slow
@pytest.mark.sanitizable
def test_damage_is_found() -> None:
    orders = [
        (kernel.name, {"bytes": b, "fault": f})
        for kernel in (MULTI, CONCURRENT)
        for b in (1, 1000)
        for f in ("none", "byte", "short")
    ]
    for (_, parameters), record in zip(orders, measure_faults(*orders, ranks=4), strict=True):
        if parameters["fault"] == "byte":
            assert record.verification.value == 2  # one in each pair


@pytest.mark.slow
def test_wrong_parameters_are_reported() -> None:
    odd, negative, word = measure(
        plain(),
        (MULTI.name, {}),
        (CONCURRENT.name, {"senders": -1}),
        (MULTI.name, {"pairing": "random"}),
        ranks=3,
    )
    assert odd.error == "pairs need an even number of ranks, not 3"
    assert "'senders' must be at least 0, not -1" in negative.error
    assert "halves, neighbours" in word.error
    (alone,) = measure(plain(), (CONCURRENT.name, {}))
    assert alone.status == "failed" and "at least 2 ranks" in alone.error


@pytest.mark.sanitized
@pytest.mark.slow
@pytest.mark.sanitizable
def test_runs_clean_under_the_sanitizers() -> None:
    orders = [(k.name, {"bytes": b}) for k in (MULTI, CONCURRENT) for b in (0, 70_001)]
    for record in measure(sanitized(), *orders, ranks=4):
        assert is_good(record), record
