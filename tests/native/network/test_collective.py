"""network.collective: its formulas against brute force, real operations, and planted damage."""

from __future__ import annotations

from itertools import product

import pytest

from assay.errors import AssayError
from assay.kernels import find_kernel
from assay.kernels.collective import (
    COLLECTIVES,
    REDUCTIONS,
    ROOTED,
    TIMINGS,
    VARYING,
    block_shares,
)
from assay.model.placement import Placement
from assay.model.plan import PlanContext
from assay.plans.expand import Measure, expand
from assay.plans.levels import FactorLevel
from assay.plans.plan_target import Fitting
from kernel_runs import assert_good, measure, measure_faults, plain, sanitized

KERNEL = find_kernel("network.collective")
NAME = KERNEL.name
DEFAULTS = {p.name: p.default for p in KERNEL.parameters}


def used(op: str) -> dict[str, object]:
    """The defaults that the kernel reads for an operation."""
    unread = {"backend", "device"} | (set() if op in VARYING else {"imbalance"})
    return {k: v for k, v in DEFAULTS.items() if k not in unread}


def blocks_after(op: str, ranks: int) -> list[list[set[tuple[int, int]]]]:
    """The expected content of each rank afterwards, by block: the (rank, block) of its origin.

    The vector of a broadcast or a reduction is cut into as many blocks as there are ranks, so that
    algorithms that pass on parts are not at a disadvantage.
    """
    everybody, blocks = range(ranks), range(ranks)
    sums = [{(r, b) for r in everybody} for b in blocks]
    nothing: list[set[tuple[int, int]]] = []
    return {
        "barrier": [nothing for _ in everybody],
        "bcast": [[{(0, b)} for b in blocks] for _ in everybody],
        "reduce": [sums if r == 0 else nothing for r in everybody],
        "allreduce": [sums for _ in everybody],
        "reduce_scatter": [[sums[r]] for r in everybody],
        "allgather": [[{(r, 0)} for r in everybody] for _ in everybody],
        "allgatherv": [[{(r, 0)} for r in everybody] for _ in everybody],
        "gather": [[{(r, 0)} for r in everybody] if q == 0 else nothing for q in everybody],
        "scatter": [[{(0, q)}] for q in everybody],
        "alltoall": [[{(r, q)} for r in everybody] for q in everybody],
        "alltoallv": [[{(r, q)} for r in everybody] for q in everybody],
    }[op]


def least_messages(op: str, ranks: int) -> int:
    """Blocks that must be sent between ranks, counted one by one.

    A block of one rank is sent once to every other rank that needs it. A sum over all ranks takes
    ranks - 1 messages to be combined on some rank (at best one that needs it), and one more for
    each further rank that needs it.
    """
    crossings = 0
    needed: dict[frozenset[tuple[int, int]], set[int]] = {}
    for rank, blocks in enumerate(blocks_after(op, ranks)):
        for block in blocks:
            needed.setdefault(frozenset(block), set()).add(rank)
    for parts, ends in needed.items():
        sources = {rank for rank, _ in parts}
        if len(sources) > 1 or len(parts) > 1:
            crossings += len(sources) - 1 + len(ends) - 1
        else:
            crossings += len(ends - sources)
    return crossings


@pytest.mark.parametrize("ranks", [2, 3, 7, 16])
@pytest.mark.parametrize("op", COLLECTIVES)
def test_work_is_what_must_be_sent_between_ranks(op: str, ranks: int) -> None:
    split = op in ("bcast", *REDUCTIONS)  # the counting cuts the vector of these into blocks
    size = 8 * ranks * 11
    block = size // ranks if split else size
    asked = 0 if op == "barrier" else size
    work = KERNEL.work({**DEFAULTS, "op": op, "bytes": asked}, ranks, 1)
    assert work == {"bytes": float(least_messages(op, ranks) * (block if asked else 0))}


def test_default_bytes_are_eight_and_none_for_a_barrier() -> None:
    assert KERNEL.work({**DEFAULTS, "op": "bcast"}, 3, 1) == {"bytes": 16.0}
    assert KERNEL.work({**DEFAULTS, "op": "barrier"}, 3, 1) == {"bytes": 0.0}
    assert KERNEL.memory({**DEFAULTS, "op": "barrier"}, 3, 1) == 0.0


@pytest.mark.parametrize("op", COLLECTIVES)
def test_memory_holds_both_buffers(op: str) -> None:
    ranks, size = 6, 48
    out = size * (ranks if op in ("alltoall", "alltoallv", "scatter") else 1)
    many = ("alltoall", "alltoallv", "allgather", "allgatherv", "gather")
    into = size * (ranks if op in many else 1)
    expected = {"barrier": 0, "bcast": size, "reduce_scatter": size + size // ranks}
    asked = 0 if op == "barrier" else size
    found = KERNEL.memory({**DEFAULTS, "op": op, "bytes": asked}, ranks, 1)
    assert found == pytest.approx(expected.get(op, out + into))


REFUSED = {
    "carries no bytes": {"op": "barrier", "bytes": 8},
    "multiple of 8": {"op": "reduce", "bytes": 12},
    "has no root": {"op": "alltoall", "root": 1},
    "the last of 4 ranks is 3": {"op": "bcast", "root": 4},
    "int of MPI": {"op": "alltoallv", "bytes": 1 << 29},
    "and 4 ranks times": {"op": "alltoallv", "bytes": 1 << 28, "imbalance": 3.0},
    "blocks of one size": {"op": "allgather", "imbalance": 2.0},
    "the number of ranks, 4": {"op": "allgatherv", "imbalance": 4.5},
}


@pytest.mark.parametrize("words", REFUSED)
def test_too_large_buffers_are_refused_before_a_launch(words: str) -> None:
    factors = {name: (FactorLevel(value, "plan"),) for name, value in REFUSED[words].items()}
    measure_4 = Measure(NAME, {"ppn": (FactorLevel(4, "plan"),), **factors}, where="plan")
    with pytest.raises(AssayError, match=words):
        expand([measure_4], Fitting(PlanContext(cores=4)))
    said = KERNEL.check({**DEFAULTS, **REFUSED[words]}, Placement(ppn=4))
    assert said is not None
    assert words in said


def test_possible_sizes_are_not_refused() -> None:
    for op, root in product(COLLECTIVES, (0, 3)):
        if root and op not in ROOTED:
            continue
        for size in (0,) if op == "barrier" else (-1, 0, 8, 4096):
            parameters = {**DEFAULTS, "op": op, "bytes": size, "root": root}
            assert KERNEL.check(parameters, Placement(ppn=4)) is None


def test_too_much_memory_is_refused_before_anything_is_launched() -> None:
    factors = {"op": (FactorLevel("alltoall", "p"),), "bytes": (FactorLevel(1 << 20, "p"),)}
    measure_4 = Measure(NAME, {"ppn": (FactorLevel(4, "p"),), **factors}, where="p")
    need = 4 * 2 * 4 * (1 << 20)
    expand([measure_4], Fitting(PlanContext(cores=4, memory=need)))
    with pytest.raises(AssayError, match="available"):
        expand([measure_4], Fitting(PlanContext(cores=4, memory=need - 1)))


@pytest.mark.slow
@pytest.mark.parametrize(("ranks", "sizes"), [(2, (0, 8, 5000)), (3, (5000,))])
def test_every_operation_at_every_kind_of_size(ranks: int, sizes: tuple[int, ...]) -> None:
    """Odd numbers of ranks and elements; every root; every timing; every byte is checked."""
    cases = [
        {"op": op, "bytes": size, "root": root, "timing": timing}
        for op, size, timing in [
            *product(COLLECTIVES[1:], sizes, ("appointed",)),
            *product(COLLECTIVES[1:] if ranks == 2 else (), (40_000,), ("barrier",)),
            *product(COLLECTIVES[1:] if ranks == 2 else (), (8,), ("loop",)),
            *product(("barrier",), (0,), TIMINGS),
        ]
        for root in ([0, ranks - 1] if op in ROOTED else [0])
    ]
    if ranks == 2:
        cases += [{"op": op, "bytes": 1} for op in COLLECTIVES[1:] if op not in REDUCTIONS]
    rows = False
    for case, record in zip(
        cases, measure(plain(), *((NAME, case) for case in cases), ranks=ranks), strict=True
    ):
        assert_good(record)
        assert record.parameters == {**used(str(case["op"])), **case}
        timing = case.get("timing", "appointed")
        # Only in a loop; the number of calls depends on their speed.
        assert record.batch is not None
        assert record.batch == 1 or timing == "loop"
        rows |= record.batch > 1
        assert all(median is not None for median in record.rank_medians)
        assert record.facts.get("clock_domains") == (None if timing == "loop" else 1)
        assert record.facts.get("clock_error") == (None if timing == "loop" else 0.0)
        assert ("late_starts" in record.facts) == (timing == "appointed")
        assert ("barrier_skew" in record.facts) == (timing == "barrier")
    assert rows or ranks > 2


@pytest.mark.slow
def test_defaults_are_the_catalogues() -> None:
    some, none = measure(plain(), (NAME, {}), (NAME, {"op": "barrier"}), ranks=2)
    assert some.parameters == {**used("allreduce"), "bytes": 8}
    assert none.parameters == {**used("barrier"), "op": "barrier", "bytes": 0}


def gets(op: str) -> int:
    """Bytes of each receiving rank, for 240 bytes and two ranks."""
    if op == "reduce_scatter":
        return 120
    many = ("allgather", "allgatherv", "alltoall", "alltoallv", "gather")
    return 480 if op in many else 240


@pytest.mark.slow
@pytest.mark.sanitizable
def test_damage_is_found() -> None:
    """A byte of the result of the timed operations, or after it; then idle operations."""
    cases = [
        {"op": op, "bytes": 0 if op == "barrier" else 240, "fault": fault}
        for op in COLLECTIVES
        for fault in ("none", "byte", "guard", "idle")
        if (op, fault) != ("barrier", "idle")
    ]

    def harmless(case):
        return case["op"] == "barrier" and case["fault"] in ("byte", "guard")

    found = measure_faults(*((NAME, case) for case in cases), ranks=2, harmless=harmless)
    for case, record in zip(cases, found, strict=True):
        wrong = record.verification.value
        # Receiving ranks: all except the root, the root alone, or all.
        getting = {"bcast": 1, "reduce": 1, "gather": 1}.get(case["op"], 2)
        if case["fault"] == "none" or harmless(case):
            continue
        if case["fault"] in ("byte", "guard"):
            assert wrong == getting
        else:
            assert wrong == 2 * getting * gets(case["op"])  # in each of two rounds


@pytest.mark.slow
@pytest.mark.sanitizable
def test_a_barrier_that_does_nothing_is_found() -> None:
    measure_faults(
        (NAME, {"op": "barrier", "bytes": 0, "fault": "idle"}),
        ranks=2,
        samples=(20, 40),
    )


@pytest.mark.slow
def test_wrong_parameters_are_reported() -> None:
    wrong = {
        "carries no bytes": {"op": "barrier", "bytes": 8},
        "a multiple of 8, not 12": {"op": "reduce", "bytes": 12},
        "alltoall has no root": {"op": "alltoall", "root": 1},
        "'root' is rank 2, but the last rank is 1": {"op": "bcast", "root": 2},
        "too many": {"op": "alltoallv", "bytes": 1 << 30},
        "between 1 and the number of ranks, 2": {"op": "alltoallv", "imbalance": 2.5},
        "between 0 and 1073741824, not -2": {"bytes": -2},
        "valid are: barrier, bcast": {"op": "shout"},
    }
    for words, record in zip(
        wrong, measure(plain(), *((NAME, p) for p in wrong.values()), ranks=2), strict=True
    ):
        assert record.status == "failed"
        assert words in record.error
    (alone,) = measure(plain(), (NAME, {}))
    assert alone.status == "failed"
    assert "at least 2 ranks" in alone.error


@pytest.mark.sanitized
@pytest.mark.slow
@pytest.mark.sanitizable
def test_runs_clean_under_the_sanitizers() -> None:
    cases = [
        {"op": op, "bytes": 0 if op == "barrier" else size, "timing": timing}
        for op in COLLECTIVES
        for size, timing in ((0, "appointed"), (1000, "barrier"))
    ]
    for record in measure(sanitized(), *((NAME, case) for case in cases), ranks=2):
        assert_good(record)


def brute_blocks(ranks: int, imbalance: float) -> list[float]:
    """Blocks over their mean: the first of many ratios with which the largest is at most that."""
    for step in range(1, 100_001):
        weights = [(step / 100_000) ** rank for rank in range(ranks)]
        if ranks / sum(weights) <= imbalance:
            return [ranks * weight / sum(weights) for weight in weights]
    raise AssertionError


@pytest.mark.parametrize(("ranks", "imbalance"), [(2, 1.5), (3, 2.0), (8, 4.0), (100, 1.01)])
def test_blocks_fall_geometrically(ranks: int, imbalance: float) -> None:
    shares = block_shares(ranks, imbalance)
    assert sum(shares) == pytest.approx(1.0)
    assert max(shares) * ranks == pytest.approx(imbalance, rel=1e-6)
    assert [ranks * share for share in shares] == pytest.approx(
        brute_blocks(ranks, imbalance), abs=1e-2
    )
    assert block_shares(ranks, 1.0) == pytest.approx([1 / ranks] * ranks)


@pytest.mark.parametrize("op", VARYING)
def test_the_busiest_adapter_of_unequal_blocks(op: str) -> None:
    """Two nodes of two ranks each: what the last receives, or the first, counted block by block."""
    parameters = {**DEFAULTS, "op": op, "bytes": 800, "imbalance": 3.0}
    blocks = [4 * 800 * share for share in block_shares(4, 3.0)]
    expected = blocks[0] + blocks[1] if op == "allgatherv" else 2 * (blocks[0] + blocks[1])
    assert KERNEL.link_bytes is not None
    assert KERNEL.link_bytes(parameters, 2, 2) == pytest.approx(expected)


@pytest.mark.parametrize("op", VARYING)
def test_work_does_not_depend_on_the_imbalance(op: str) -> None:
    """The blocks of rank r go to all others, or from all others to it."""
    blocks = [800 * 4 * share for share in block_shares(4, 2.5)]
    work = KERNEL.work({**DEFAULTS, "op": op, "bytes": 800, "imbalance": 2.5}, 4, 1)
    assert work["bytes"] == pytest.approx(sum(3 * block for block in blocks))


@pytest.mark.slow
@pytest.mark.sanitizable
def test_unequal_blocks_and_persistent_calls() -> None:
    """Every byte is checked; the last ranks may have no byte at all."""
    cases = [
        *({"op": op, "bytes": 240, "call": "persistent"} for op in COLLECTIVES[1:]),
        {"op": "barrier", "bytes": 0, "call": "persistent"},
        *(
            {"op": op, "bytes": size, "call": call, "imbalance": imbalance}
            for op in VARYING
            for call in ("blocking", "persistent")
            for size in (1, 1000)
            for imbalance in (1.5, 3.0)
        ),
    ]
    orders = [(NAME, {**case, "fault": fault}) for case in cases for fault in ("none", "byte")]

    def harmless(case):
        # Bytes that no rank of a barrier has, and ranks whose block is empty.
        return case["op"] == "barrier"

    found = measure_faults(*orders, ranks=3, harmless=harmless)
    for (_, case), record in zip(orders, found, strict=True):
        if case["fault"] == "byte" and case["op"] == "alltoallv" and "imbalance" in case:
            assert 1 <= record.verification.value <= 3
