"""network.pingpong: its work formula, and real messages between ranks."""

from __future__ import annotations

import pytest

from assay.kernels import find_kernel
from assay.kernels.network import MODES, PARTITIONED
from assay.model.placement import Placement
from kernel_runs import assert_good, measure, measure_faults, plain, sanitized

PINGPONG = find_kernel("network.pingpong")
NAME = PINGPONG.name
HOST = {"memory": "host"}  # recorded where a plan leaves it out


def test_work_is_one_message() -> None:
    assert PINGPONG.work({"bytes": 4096, "from": 0, "to": 1}, 2, 1) == {"bytes": 4096.0}
    assert find_kernel("network.barrier").work({}, 8, 1) == {}


@pytest.mark.slow
def test_messages_of_all_sizes_arrive() -> None:
    sizes = (0, 1, 7, 4096, 65_537, 1 << 20)
    for size, record in zip(
        sizes, measure(plain(), *((NAME, {"bytes": s}) for s in sizes), ranks=2), strict=True
    ):
        assert_good(record)
        assert record.parameters == {**HOST, "bytes": size, "from": 0, "to": 1, "mode": "blocking"}
        assert record.batch % 2 == 0  # one-way times: two to a round trip
        assert record.rank_medians[0] > 0 and record.rank_medians[1] is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ranks", "sizes"), [(2, (0, 1, 4099, 70_001)), (3, (1, 70_001)), (4, (4099,))]
)
def test_every_mode(ranks: int, sizes: tuple[int, ...]) -> None:
    cases = [(m, b) for m in MODES for b in sizes]
    wanted = [{"mode": m, "bytes": b, "from": ranks - 1, "to": 0} for m, b in cases]
    for parameters, record in zip(
        wanted, measure(plain(), *((NAME, w) for w in wanted), ranks=ranks), strict=True
    ):
        assert_good(record)
        assert record.parameters == {**HOST, **parameters}
        assert [r for r, median in enumerate(record.rank_medians) if median] == [ranks - 1]


@pytest.mark.slow
@pytest.mark.parametrize("size", [3000, 3001, 70_001, 9000])
def test_messages_of_a_type_of_their_own(size: int) -> None:
    """As of more than 2^30 bytes; the builds of tests send blocks of 3,000 bytes so."""
    faults = ["none", "byte"]
    measure_faults(
        *((NAME, {"bytes": size, "mode": m, "fault": f}) for m in MODES for f in faults), ranks=2
    )


def test_messages_may_be_longer_than_an_int() -> None:
    sizes = PINGPONG.parameter("bytes")
    assert sizes is not None and sizes.high == 1 << 33
    assert find_kernel("network.stream").parameter("bytes").high == 1 << 30


@pytest.mark.slow
def test_any_two_of_three_ranks() -> None:
    pairs = [(0, -1), (0, 1), (2, 0), (1, 2)]
    found = measure(
        plain(), *((NAME, {"bytes": 100, "from": f, "to": t}) for f, t in pairs), ranks=3
    )
    for (source, target), record in zip(pairs, found, strict=True):
        assert_good(record)
        assert (record.parameters["from"], record.parameters["to"]) == (source, target % 3)
        timed = [rank for rank, median in enumerate(record.rank_medians) if median is not None]
        assert timed == [source]


@pytest.mark.slow
def test_defaults_are_the_catalogues() -> None:
    (record,) = measure(plain(), (NAME, {}), ranks=2)
    defaults = {p.name: p.default for p in PINGPONG.parameters if not p.omitted}
    assert record.parameters == {**HOST, **defaults, "to": 1}


@pytest.mark.slow
@pytest.mark.sanitizable
def test_damage_of_messages_in_partitions_is_found() -> None:
    """The last byte of each power of two below is missing, in one part or in three; both ways."""
    cases = [(p, f) for p in (1, 3) for f in ("none", "byte", "short")]
    orders = [
        (NAME, {"mode": PARTITIONED, "bytes": 999, "partitions": p, "fault": f}) for p, f in cases
    ]
    for (_, fault), record in zip(cases, measure_faults(*orders, ranks=2), strict=True):
        assert record.verification.value == {"none": 0, "byte": 1, "short": 22}[fault]


@pytest.mark.slow
@pytest.mark.sanitizable
def test_damage_is_found() -> None:
    """A wrong byte in the timed messages; then messages that are one byte short."""
    cases = [(m, b, f) for m in MODES for b in (1, 1000) for f in ("none", "byte", "short")]
    wanted = [{"mode": m, "bytes": b, "fault": f} for m, b, f in cases]
    found = measure_faults(*((NAME, w) for w in wanted), ranks=2)
    for (mode, size, fault), record in zip(cases, found, strict=True):
        # The last byte of messages of 1000 bytes, and of each power of two below; both ways.
        rounds = 1 if size == 1 else 11
        short = rounds if mode in ("put", "get") else 2 * rounds
        assert record.verification.value == {"none": 0, "byte": 1, "short": short}[fault]


@pytest.mark.slow
def test_wrong_parameters_are_reported() -> None:
    high = int(PINGPONG.parameter("bytes").high)
    wrong = {
        f"between 0 and {high}, not {high + 1}": {"bytes": high + 1},
        "not -1": {"bytes": -1},
        "both rank 1": {"from": 1, "to": 1},
        "'to' is rank 2, but the last rank is 1": {"to": 2},
        "'from' is rank -1": {"from": -1},
        "a multiple of 'partitions', 3, not 10": {
            "mode": PARTITIONED,
            "bytes": 10,
            "partitions": 3,
        },
    }
    for words, record in zip(
        wrong, measure(plain(), *((NAME, p) for p in wrong.values()), ranks=2), strict=True
    ):
        assert record.status == "failed" and words in record.error
    (alone,) = measure(plain(), (NAME, {}))
    assert alone.status == "failed" and "at least 2 ranks" in alone.error


@pytest.mark.sanitized
@pytest.mark.slow
@pytest.mark.sanitizable
def test_runs_clean_under_the_sanitizers() -> None:
    orders = [(NAME, {"mode": m, "bytes": b}) for m in MODES for b in (0, 1, 70_001)]
    orders += [(NAME, {"mode": PARTITIONED, "bytes": b}) for b in (0, 4, 70_000)]
    for record in measure(sanitized(), *orders, ranks=2):
        assert_good(record)


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 3])
def test_parameters_that_the_kernel_refuses_are_refused_before_the_launch(ranks: int) -> None:
    wanted = [{"from": f, "to": t} for f in (0, 2, 3) for t in (-1, 0, 1, 2)]
    for parameters, record in zip(
        wanted, measure(plain(), *((NAME, w) for w in wanted), ranks=ranks), strict=True
    ):
        said = PINGPONG.check({"mode": "blocking", **parameters}, Placement(ppn=ranks))
        assert (said is None) == (record.status == "ok"), (parameters, said, record.error)


def test_partitions_are_checked_before_the_launch() -> None:
    pair = {"from": 0, "to": 1}
    assert PINGPONG.needs_mpi_4 is not None and PINGPONG.check is not None
    for parameters, words in {
        (("mode", PARTITIONED), ("bytes", 10), ("partitions", 3)): "not a multiple",
        (("mode", "blocking"), ("bytes", 9), ("partitions", 3)): "belongs to mode = partitioned",
    }.items():
        assert words in str(PINGPONG.check({**pair, **dict(parameters)}, Placement(ppn=2)))
    good = {**pair, "mode": PARTITIONED, "bytes": 12}
    assert PINGPONG.check(good, Placement(ppn=2)) is None
    assert PINGPONG.needs_mpi_4(good) == "mode = partitioned"
    assert PINGPONG.needs_mpi_4({**good, "mode": "persistent"}) is None
