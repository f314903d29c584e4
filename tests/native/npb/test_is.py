"""npb.is: work and memory, whole runs against the official ranks, and detection of wrong ones."""

from __future__ import annotations

from random import Random

import pytest

from assay.kernels import find_kernel
from assay.kernels.npb.is_ import IS_SIZES
from check_program import CheckProgram
from kernel_runs import (
    any_number_of_ranks,
    assert_phases,
    assert_verified,
    each_code,
    faulty,
    measure_faults,
    measure_twice,
    plain,
    sanitized,
)

IS = find_kernel("npb.is")
CODES = ("tuned", "plain")
COUNTING = CheckProgram("npb_is_check.cpp", (), ("-O3", "-march=native"))


def test_operations_are_the_keys_ranked() -> None:
    work = {name: IS.work({"class": name}, 3, 2)["operations"] for name in IS_SIZES}
    # Ten rankings of 2^16, 2^20, … keys.
    assert work["S"] == 655_360
    assert work["A"] == 83_886_080
    assert work["D"] == 21_474_836_480


def test_memory_falls_with_ranks() -> None:
    assert IS.memory is not None
    one, two, eight = (IS.memory({"class": "C"}, ranks, 1) for ranks in (1, 2, 8))
    # Keys; counts, and the verification's.
    assert one == 4 * 2**27 + 2 * 4 * 2**23
    assert 0.9 * one < two < 1.1 * one  # keys that move need room
    assert eight < 0.5 * one


def test_the_plain_code_keeps_all_keys_three_times() -> None:
    """As generated, by bucket and as received; so that both codes need the same on many ranks."""
    assert IS.memory is not None
    plain_code = {"class": "C", "code": "plain"}
    own, counts = 4.0 * 2**27, 2 * 4.0 * 2**23
    assert IS.memory(plain_code, 1, 1) == pytest.approx(own + 2 * 1.1 * own + counts)
    tuned = IS.memory({"class": "C"}, 1000, 1)
    assert tuned < IS.memory(plain_code, 1000, 1) < 1.01 * tuned


@pytest.mark.slow
@pytest.mark.parametrize("size", ["S", "W", "A", "B", "C"])
def test_official_ranks_are_the_numbers_of_lesser_keys(size: str) -> None:
    """The same holds for class D (5 s) and E (110 s on one core)."""
    (words,) = COUNTING.ask(f"ranks {size}")
    assert len(words) == 2 * 5 * 10
    assert words[::2] == words[1::2]


@pytest.mark.slow
@pytest.mark.parametrize(
    "target", ["-march=native", pytest.param("-march=x86-64", marks=pytest.mark.long)]
)
def test_keys_are_split_by_whether_they_lie_in_a_range(target: str) -> None:
    """Whole vectors of keys and the rest; ranges that are empty, cover everything, or end at a
    limit.
    """
    random = Random(5)
    ranges = [(0, 1 << 31), (0, 0), (700, 300), (0, 500), (1 << 30, 1 << 30), ((1 << 31) - 9, 9)]
    cases = [
        (lowest, values, [draw(random, lowest, values) for _ in range(count)])
        for lowest, values in ranges
        for count in (0, 1, 15, 16, 17, 64, 1000, 1024)
    ]
    questions = [f"split {lowest} {values} {' '.join(map(str, k))}" for lowest, values, k in cases]
    for (lowest, values, keys), words in zip(
        cases, COUNTING.ask(*questions, flags=("-O1", target)), strict=True
    ):
        inside = [str(key) for key in keys if lowest <= key < lowest + values]
        outside = [str(key) for key in keys if not lowest <= key < lowest + values]
        assert words == [*inside, "and", *outside]


def draw(random: Random, lowest: int, values: int) -> int:
    """An arbitrary key, or one near the range's ends."""
    near = [lowest + random.randint(-2, 2), lowest + values + random.randint(-2, 2)]
    key = random.choice([*near, random.randrange(1 << 31)])
    return min(max(key, 0), (1 << 31) - 1)


@pytest.mark.slow
@any_number_of_ranks
def test_class_s_verifies_on_any_number_of_ranks(ranks: int, threads: int) -> None:
    """The plain code exchanges keys on one rank too."""
    tuned, of_plain = measure_twice(
        plain(),
        ("npb.is", {"class": "S"}),
        ("npb.is", {"class": "S", "code": "plain"}),
        ranks=ranks,
        threads=threads,
    )
    exchanged = ["allreduce", "alltoall", "alltoallv"]
    for record, phases in ((tuned, exchanged if ranks > 1 else []), (of_plain, exchanged)):
        assert_verified(record)
        assert_phases(record, "compute", *phases, ranks=ranks)


@pytest.mark.slow
@pytest.mark.long
@each_code
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_class_w_verifies(ranks: int, code: str) -> None:
    (record,) = measure_twice(plain(), ("npb.is", {"class": "W", "code": code}), ranks=ranks)
    assert_verified(record)


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("fault", ["seed", "count"])
@pytest.mark.sanitizable
def test_wrong_rankings_are_detected(fault: str, ranks: int) -> None:
    orders = [("npb.is", {"class": "S", "fault": fault, "code": code}) for code in CODES]
    for record in measure_faults(*orders, ranks=ranks, samples=(2, 2)):
        assert record.verification is not None and (record.verification.value or 0) > 0


@pytest.mark.slow
@pytest.mark.parametrize("most", [1000, pytest.param(7, marks=pytest.mark.long)])
@pytest.mark.sanitizable
def test_more_keys_than_one_call_may_send_are_sent_in_pieces(most: int) -> None:
    orders = [("npb.is", {"class": "S", "most": most, "code": code}) for code in CODES]
    for record in measure_twice(faulty(), *orders, ranks=5, threads=2):
        assert_verified(record)


@pytest.mark.sanitized
@pytest.mark.slow
@pytest.mark.sanitizable
def test_it_passes_the_sanitizers() -> None:
    orders = [("npb.is", {"class": "S", "code": code}) for code in CODES]
    for record in measure_twice(sanitized(), *orders, ranks=3, threads=2):
        assert_verified(record)
